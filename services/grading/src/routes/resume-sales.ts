/** Sales that a process left open when it ended: another one, or the next, finds them on the ledger and completes them (X9). */
import { type Clock, pause } from '@tallystick/service-kit'
import type { PaidJob, PaymentGate, Reservation, Resumed } from '@tallystick/x402'
import { type PreparedSale, readKeptSale, type SaleDeps, saleJob } from './sale-job.ts'

function unasked(): never {
  throw new Error('a payment without a request is not honoured')
}

/** A payment that had expired when it was reserved was only looked up: there is nothing to release. */
const nothingToGive = ({
  fingerprint,
  subject,
}: Reservation): PaidJob<PreparedSale, string, never> => ({
  fingerprint,
  subject,
  prepare: unasked,
  mayHonour: async () => false,
  fulfil: unasked,
})

/**
 * Resumes what a process that ended left open (X9): looks each sale up on the ledger, and completes it if its payment
 * landed. Resolves when each has an outcome or is pending in the background. Throws what the store's `open` throws.
 */
export async function resumeSales(
  deps: SaleDeps & { readonly gate: Pick<PaymentGate, 'resumeOpen'> },
  hear: (resumed: Resumed) => void,
): Promise<void> {
  await deps.gate.resumeOpen(async (reservation) => {
    if (reservation.request === undefined) return nothingToGive(reservation)
    const sale = await readKeptSale(deps.longWork, reservation.request)
    // Perhaps paid, but unreadable to this version: left open for a version that can read it.
    if (sale === undefined) return undefined
    // As reserved: a newer version may write the same request in another order.
    const { fingerprint, subject } = reservation
    return { ...saleJob(deps, sale), fingerprint, subject }
  }, hear)
}

/** The rounds in which sales are resumed: one at the start and, where other processes may end, more. */
export function createResumeRounds(options: {
  readonly clock: Pick<Clock, 'after'>
  /** Undefined for one round. */
  readonly everyMs: number | undefined
  readonly resume: () => Promise<void>
  /** Called for the first of several failures in a row. */
  readonly onFailed: (error: unknown) => void
}) {
  const { clock, everyMs, onFailed, resume } = options
  const closing = new AbortController()
  let isFailing = false
  const tryToResume = async (): Promise<void> => {
    try {
      await resume()
      isFailing = false
    } catch (error) {
      if (!isFailing) onFailed(error)
      isFailing = true
    }
  }
  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      // It may take as long as the slowest payment; those of a process that ends meanwhile must not wait for that.
      void tryToResume()
      if (everyMs === undefined) return
      await pause(clock, everyMs, closing.signal)
    }
  }
  return { start: (): void => void run(), close: (): void => closing.abort() }
}

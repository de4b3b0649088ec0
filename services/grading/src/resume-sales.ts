/** What an earlier process left open, taken up at the start (X9): looked up on the ledger, and completed where it landed. */
import type { PaymentOutcome, Reservation, ResumingPaymentGate } from '@tallystick/x402'
import type { PaidRequest, PaidRequestLog } from './domain/paid-request-log.ts'
import { readSale } from './routes/read-sale.ts'
import { type SaleDeps, type SaleJob, saleJob } from './sale-job.ts'

export type ResumeDeps = SaleDeps & {
  readonly gate: Pick<ResumingPaymentGate, 'resume'>
  readonly reservations: { open(): Promise<readonly Reservation[]> }
  readonly requests: PaidRequestLog
  /** Hears how each one ended. */
  readonly onResumed: (
    reservation: Reservation,
    outcome: PaymentOutcome<unknown, unknown>['kind'],
  ) => void
}

/** Looked up side by side: each is a few questions to the network of payments. */
const RESUMED_AT_ONCE = 16

function unasked(): never {
  throw new Error('a payment without a request is not honoured')
}

/** A payment that was reserved and never settled by us: its request was not kept yet, so there is nothing to give. */
function nothingToGive({ fingerprint, subject }: Reservation): SaleJob {
  return {
    fingerprint,
    subject,
    prepare: unasked,
    mayHonour: async () => false,
    fulfil: unasked,
  }
}

function jobOf(deps: ResumeDeps, reservation: Reservation, kept: PaidRequest | undefined): SaleJob {
  if (kept === undefined) return nothingToGive(reservation)
  const read = readSale(kept.kind, JSON.parse(kept.text))
  if (read.kind !== 'asked') return nothingToGive(reservation)
  const { receivedAtSeconds } = kept
  return saleJob(deps, { request: read.request, text: read.text, receivedAtSeconds })
}

/** Completes what is open; resolves when every one has an outcome, or is pending in the background. Throws GradingStoreUnavailable. */
export async function resumeSales(deps: ResumeDeps): Promise<void> {
  const open = await deps.reservations.open()
  await deps.requests.forgetAllBut(open.map(({ paymentId }) => paymentId))
  const waiting = open.values()
  const work = async (): Promise<void> => {
    for (const reservation of waiting) {
      const kept = await deps.requests.find(reservation.paymentId)
      const outcome = await deps.gate.resume(reservation, jobOf(deps, reservation, kept))
      deps.onResumed(reservation, outcome.kind)
    }
  }
  await Promise.all(Array.from({ length: RESUMED_AT_ONCE }, work))
}

/** What an earlier process left open, taken up at the start (X9): looked up on the ledger, and completed where it landed. */
import type { PaidJob, Reservation, Resumed, ResumingPaymentGate } from '@tallystick/x402'
import {
  type PreparedSale,
  readKeptSale,
  type SaleAnswer,
  type SaleDeps,
  saleJob,
} from './sale-job.ts'

function unasked(): never {
  throw new Error('a payment without a request is not honoured')
}

/** A payment whose validity had ended when it was reserved: it was only looked for, and there is nothing to give. */
const nothingToGive = ({
  fingerprint,
  subject,
}: Reservation): PaidJob<PreparedSale, SaleAnswer, never> => ({
  fingerprint,
  subject,
  prepare: unasked,
  mayHonour: async () => false,
  fulfil: unasked,
})

/**
 * Completes what is open; resolves when every one has an outcome, or is pending in the background. Throws what the store's
 * `open` throws.
 */
export async function resumeSales(
  deps: SaleDeps & { readonly gate: Pick<ResumingPaymentGate, 'resumeOpen'> },
  hear: (resumed: Resumed) => void,
): Promise<void> {
  await deps.gate.resumeOpen((reservation) => {
    if (reservation.request === undefined) return nothingToGive(reservation)
    const asked = readKeptSale(reservation.request)
    // Paid for, perhaps, and not understood by this version: left open for one that does.
    if (asked === undefined) return undefined
    // As it was reserved: a newer version may write the same request in another order.
    const { fingerprint, subject } = reservation
    return { ...saleJob(deps, asked), fingerprint, subject }
  }, hear)
}

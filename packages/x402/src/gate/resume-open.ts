import type { Reservation, ReservationStore } from '../reservations/reservation-store.ts'
import type { AnyPaidJob, PaymentOutcome } from './payment-gate.ts'

/** How the resuming of one reservation went. */
export type Resumed = {
  readonly reservation: Reservation
  /**
   * The outcome's kind, where `pending` goes on in the background; `left_open`: there was no job for it, and it keeps
   * its payer waiting; `failed`: the store, or making or preparing its job, threw; it may be open still.
   */
  readonly end: PaymentOutcome<unknown, unknown>['kind'] | 'left_open' | 'failed'
  /** What was thrown, where it failed. */
  readonly cause?: unknown
}

/** Looked up side by side: each is a few questions to the ledger. */
const RESUMED_AT_ONCE = 16

/**
 * Resumes everything that is open in a store (X9). Resolves when each has an outcome or is pending in the background;
 * throws only what `open` throws.
 */
export async function resumeOpen<Prepared, Answer, Declined>(
  deps: {
    readonly reservations: Pick<ReservationStore, 'open'>
    readonly resume: (
      reservation: Reservation,
      job: AnyPaidJob<Prepared, Answer, Declined>,
    ) => Promise<PaymentOutcome<Answer, Declined>>
  },
  jobOf: (reservation: Reservation) => AnyPaidJob<Prepared, Answer, Declined> | undefined,
  hear: (resumed: Resumed) => void,
): Promise<void> {
  const left = (await deps.reservations.open()).values()
  const work = async (): Promise<void> => {
    for (const reservation of left) hear(await resumeOne(reservation))
  }
  const resumeOne = async (reservation: Reservation): Promise<Resumed> => {
    try {
      const job = jobOf(reservation)
      if (job === undefined) return { reservation, end: 'left_open' }
      const { kind: end } = await deps.resume(reservation, job)
      return { reservation, end }
    } catch (cause) {
      return { reservation, end: 'failed', cause }
    }
  }
  await Promise.all(Array.from({ length: RESUMED_AT_ONCE }, work))
}

/**
 * The gate's dealings with its reservation store: what it reserves, what an outcome of the store means for a payment,
 * and what becomes of a write that fails after settlement, where nothing may block.
 */
import type { Settlement } from '../facilitators/facilitator.ts'
import type { GateHappening } from '../gate/gate-event.ts'
import {
  ANSWER_KEPT_SECONDS,
  KEPT_REQUEST_BYTES_MAX,
  PAYER_ANSWER_KEPT_SECONDS,
} from '../gate/gate-limits.ts'
import type { AnyPaidJob, PaymentOutcome } from '../gate/payment-gate.ts'
import type { PaymentScheme, VerifiedPayment } from '../schemes/payment-scheme.ts'
import type { GuessLimit } from './guess-limit.ts'
import { createLateWrites, type LateWrites } from './late-writes.ts'
import { refuseAtFirstSight } from './refuse-at-first-sight.ts'
import type { Reservation, ReservationStore, ReserveOutcome } from './reservation-store.ts'
import { isSamePayment } from './same-payment.ts'

/** A payment at the desk. */
type Claim<Prepared, Answer, Declined> = {
  readonly payment: VerifiedPayment
  readonly scheme: PaymentScheme
  readonly job: AnyPaidJob<Prepared, Answer, Declined>
  /** Whether it can still be settled: one that cannot is only looked up, and gets nobody else's answer. */
  readonly canSettle: boolean
}

/** What the desk says to a claim. */
type Claimed<Answer, Declined> =
  /** Never seen before. Where its payer cannot pay, nothing may be done for it but to release it. */
  | { readonly kind: 'fresh'; readonly reservation: Reservation; readonly canPay: boolean }
  /** Reserved before, by this process or an earlier one, and without an answer yet. */
  | { readonly kind: 'resumed'; readonly reservation: Reservation }
  | { readonly kind: 'ended'; readonly outcome: PaymentOutcome<Answer, Declined> }

const ended = <Answer, Declined>(
  outcome: PaymentOutcome<Answer, Declined>,
): Claimed<Answer, Declined> => ({ kind: 'ended', outcome })

const ALREADY_USED = ended<never, never>({ kind: 'challenged', error: 'payment_already_used' })

/** An answer with the settlement it was paid by: what a store keeps as text. */
type PaidAnswer<Answer> = { readonly answer: Answer; readonly settlement: Settlement }

export type ReservationDesk = {
  /** Reserves a payment before any work. Throws what the store throws. */
  claim<Prepared, Answer, Declined>(
    claim: Claim<Prepared, Answer, Declined>,
  ): Promise<Claimed<Answer, Declined>>
  /** What the store says of a payment that was resumed, asked again. Throws what the store throws. */
  recall<Prepared, Answer, Declined>(
    claim: Claim<Prepared, Answer, Declined>,
  ): Promise<Claimed<Answer, Declined>>
  /** The rest never throws: a store that fails is reported, and asked again when the payment is. */
  settled(payment: VerifiedPayment): Promise<void>
  answered(reservation: Reservation, paid: PaidAnswer<unknown>): Promise<void>
  released(payment: VerifiedPayment): Promise<void>
  delivered(payment: VerifiedPayment): Promise<void>
}

export type ReservationDeskOptions = {
  readonly reservations: ReservationStore
  readonly unixMs: () => number
  readonly observe: (event: GateHappening) => void
  readonly guesses: GuessLimit
  /** What a payment gets whose sibling is unresolved. */
  readonly retryAfterSeconds: number
}

/** A desk over one store. */
export function createReservationDesk(options: ReservationDeskOptions): ReservationDesk {
  const { guesses, observe, reservations, retryAfterSeconds, unixMs } = options
  const lateWrites = createLateWrites()

  async function write(payment: VerifiedPayment, run: () => Promise<void>): Promise<boolean> {
    try {
      await run()
      return true
    } catch (cause) {
      observe({ kind: 'store_failed', payment, cause })
      return false
    }
  }

  async function end(payment: VerifiedPayment, run: () => Promise<void>): Promise<void> {
    if (await write(payment, run)) lateWrites.forget(payment.id)
    else lateWrites.owe(payment.id, run)
  }

  return {
    async claim(claim) {
      const sight = await refuseAtFirstSight({ reservations }, claim)
      if (sight.kind === 'refused') return ended(sight.outcome)
      const reservation = reservationFor(claim)
      const reserved = await reserve(reservation, { reservations, lateWrites })
      switch (reserved.kind) {
        case 'reserved':
          return { kind: 'fresh', reservation, canPay: sight.canPay }
        case 'held':
          return claimHeld(reserved.reservation, claim, guesses)
        case 'full':
          return ended({ kind: 'unavailable', dependency: 'facilitator' })
        case 'unresolved':
          return ended({ kind: 'pending', retryAfterSeconds })
        case 'key_conflict':
          return ended(reserved)
        case 'kept':
          return ended(paidWith(reserved.answer))
        default:
          return reserved satisfies never
      }
    },
    async recall(claim) {
      const held = await reservations.get(claim.payment.id)
      return held === undefined ? ALREADY_USED : claimHeld(held, claim, guesses)
    },
    async settled(payment) {
      await write(payment, () => reservations.markSettled(payment.id))
    },
    async answered(reservation, paid) {
      const { payment, paymentId } = reservation
      const expiresAtSeconds = answerExpiry(reservation, unixMs() / 1_000)
      await end(payment, () =>
        reservations.keepAnswer(paymentId, { answer: JSON.stringify(paid), expiresAtSeconds }),
      )
    },
    async released(payment) {
      await end(payment, () => reservations.release(payment.id))
    },
    async delivered(payment) {
      await write(payment, () => reservations.markDelivered(payment.id))
    },
  }
}

/** Reserves, after the write that the store owes to the payment in the way. */
async function reserve(
  reservation: Reservation,
  { lateWrites, reservations }: { lateWrites: LateWrites; reservations: ReservationStore },
): Promise<ReserveOutcome> {
  const once = async (): Promise<ReserveOutcome> => {
    const reserved = await reservations.reserve(reservation)
    // What was reserved before is over: a write of its end that the store has done, and could not say so, is owed no more.
    if (reserved.kind === 'reserved') lateWrites.forget(reservation.paymentId)
    return reserved
  }
  const reserved = await once()
  const blocking = blockingPaymentOf(reserved)
  return blocking !== undefined && (await lateWrites.pay(blocking)) ? await once() : reserved
}

/** When an answer of now may be forgotten, Unix seconds. */
function answerExpiry({ keepsAnswer, payment }: Reservation, nowSeconds: number): number {
  const untilSeconds = payment.validUntilSeconds + ANSWER_KEPT_SECONDS
  return keepsAnswer ? Math.max(untilSeconds, nowSeconds + PAYER_ANSWER_KEPT_SECONDS) : untilSeconds
}

/** What a store is asked to hold. Throws RangeError for a request that no route may let through. */
function reservationFor<Prepared, Answer, Declined>(
  claim: Claim<Prepared, Answer, Declined>,
): Reservation {
  const { canSettle, job, payment } = claim
  const reservation: Reservation = {
    paymentId: payment.id,
    payment,
    fingerprint: job.fingerprint,
    subject: job.subject,
    state: 'reserved',
    expiresAtSeconds: payment.validUntilSeconds + ANSWER_KEPT_SECONDS,
  }
  // A payment that may be on the ledger already, where everybody can copy it, proves nothing about who sends it now.
  if (job.keepsAnswer === undefined || !canSettle) return reservation
  const { idempotencyKey, request } = job
  if (request !== undefined && Buffer.byteLength(request) > KEPT_REQUEST_BYTES_MAX)
    throw new RangeError(`a request over ${KEPT_REQUEST_BYTES_MAX} bytes cannot be kept`)
  return {
    ...reservation,
    keepsAnswer: true,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(request === undefined ? {} : { request }),
  }
}

function claimHeld<Prepared, Answer, Declined>(
  held: Reservation,
  { job, payment }: Claim<Prepared, Answer, Declined>,
  guesses: GuessLimit,
): Claimed<Answer, Declined> {
  if (held.fingerprint !== job.fingerprint || !isSamePayment(held.payment, payment)) {
    guesses.note(payment.id)
    return ALREADY_USED
  }
  if (held.keepsAnswer !== undefined && guesses.isSpent(payment.id)) return ALREADY_USED
  if (held.state !== 'answered' || held.answer === undefined)
    return { kind: 'resumed', reservation: held }
  return { kind: 'ended', outcome: paidWith(held.answer) }
}

function paidWith<Answer>(text: string): PaymentOutcome<Answer, never> {
  return { kind: 'paid', ...(JSON.parse(text) as PaidAnswer<Answer>) }
}

/** The payment without an answer that stands in a new one's way, if any. */
function blockingPaymentOf(reserved: ReserveOutcome): string | undefined {
  if (reserved.kind === 'unresolved') return reserved.paymentId
  if (reserved.kind !== 'held' || reserved.reservation.state === 'answered') return undefined
  return reserved.reservation.paymentId
}

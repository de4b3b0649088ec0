/**
 * The gate's reservations: what is reserved before any work, what the store's answer means for a payment, and what
 * happens to a write that fails after settlement, when nothing may block.
 */
import type { Clock } from '../clock.ts'
import type { Settlement, VerifiedPayment } from '../payment.ts'
import type {
  Reservation,
  ReservationStore,
  ReserveLimits,
  ReserveOutcome,
} from '../reservations/reservation-store.ts'
import { clientNetwork, hasGuessed, isSamePurchase } from '../reservations/same-purchase.ts'
import { LedgerUnavailable } from '../schemes/payment-scheme.ts'
import type { GateEvent } from './gate-event.ts'
import type { GateLimits } from './gate-limits.ts'
import type { AnyOutcome, PaymentForJob } from './paid-job.ts'
import type { PlaceInLine } from './payer-lines.ts'

/** How long an answer is kept after its payment expires, for requests already on their way. */
const ANSWER_KEPT_SECONDS = 60

/**
 * How long an answer kept for its payer, and its key, are available: a day, as is customary for idempotency keys, plus an
 * hour, since only payments that expire earlier get the answer.
 */
const PAYER_ANSWER_KEPT_SECONDS = 25 * 3_600

/**
 * Largest `request` of a job in bytes: twice the largest body that our paid routes take, 1 MiB, since the canonical text
 * of a number can be longer than the original.
 */
export const KEPT_REQUEST_BYTES_MAX = 2_097_152

type Ended = { readonly kind: 'ended'; readonly outcome: AnyOutcome }

/** Another process, which lives, has the payment: its answer is everybody's. */
type Elsewhere = { readonly kind: 'elsewhere' }
export const ELSEWHERE: Elsewhere = { kind: 'elsewhere' }

/** `reserved` for the first time, or `resumed`: already reserved by this process or an earlier one, without an answer yet. */
type Claim =
  | { readonly kind: 'resumed'; readonly reservation: Reservation }
  /** If its payer cannot pay, it may only be released. */
  | { readonly kind: 'reserved'; readonly reservation: Reservation; readonly canPay: boolean }
  | Elsewhere
  | Ended

export type Reservations = ReturnType<typeof createReservations>

const ended = (outcome: AnyOutcome): Ended => ({ kind: 'ended', outcome })
const challenged = (error: string): Ended => ended({ kind: 'challenged', error })

export function createReservations(options: {
  readonly store: ReservationStore
  readonly clock: Clock
  readonly observe: (event: GateEvent) => void
  /** When to retry a payment whose sibling is unresolved. */
  readonly limits: Pick<GateLimits, 'retryAfterSeconds' | 'payerPreparingMax'>
}) {
  const { clock, observe, store } = options
  const { payerPreparingMax, retryAfterSeconds } = options.limits
  const lateWrites = createLateWrites()

  const { end, write } = createWrites(observe, lateWrites)

  return {
    /** Reserves a payment before any work, once its place in line comes. Throws what the store throws. */
    async reserve(paid: PaymentForJob, place?: PlaceInLine): Promise<Claim> {
      const sight = await lookAtUnseen(store, paid, place)
      if (sight.kind !== 'passed') return sight
      const reservation = reservationFor(paid)
      const reserved = await reserveInLine(
        { lateWrites, payerPreparingMax, store },
        { paid, place, reservation },
      )
      switch (reserved.kind) {
        case 'reserved':
          return { kind: 'reserved', reservation, canPay: reserved.canPay ?? sight.canPay }
        case 'held':
          return await judgeHeld(store, reserved.reservation, paid)
        case 'full':
        case 'crowded':
          return ended({ kind: 'unavailable', dependency: 'facilitator' })
        case 'unresolved':
          return ended({ kind: 'pending', retryAfterSeconds })
        case 'key_conflict':
          return ended(reserved)
        case 'kept':
          return paidWith(reserved.answer)
        default:
          return reserved satisfies never
      }
    },
    /** Counts a request for something else under a payment that is held. Throws what the store throws. */
    noteGuess: ({ job, payment }: PaymentForJob): Promise<void> =>
      store.noteGuess(payment.id, clientNetwork(job.sender ?? '')),
    /** Whether its sender has tried a payment too often. Throws what the store throws. */
    hasGuessed: async ({ job, payment }: PaymentForJob): Promise<boolean> =>
      hasGuessed((await store.get(payment.id)) ?? {}, job.sender),
    /** Asks the store again about a resumed payment. Throws what the store throws. */
    async recall(paid: PaymentForJob): Promise<Claim> {
      const stored = await store.get(paid.payment.id)
      return stored === undefined
        ? challenged('payment_already_used')
        : await judgeHeld(store, stored, paid)
    },
    // From here on nothing throws: a failed write is reported, and repeated when the payment arrives again.
    /** Whether its work is this process's: false if another one took it over, because this one seemed dead. */
    async settled(payment: VerifiedPayment): Promise<boolean> {
      const written = await write(payment, () => store.markSettled(payment.id))
      return written?.answer !== false
    },
    /**
     * Whether this is the answer that holds: false if another process took the payment over. Throws what a shared store throws:
     * the answer is not given before it is kept.
     */
    async answered(reservation: Reservation, paid: PaidAnswer): Promise<boolean> {
      const { payment, paymentId } = reservation
      const expiresAtSeconds = answerExpiry(reservation, clock.unixMs() / 1_000)
      const keep = () =>
        store.keepAnswer(paymentId, { answer: JSON.stringify(paid), expiresAtSeconds })
      if (store.isShared) return await keep()
      const written = await end(payment, keep)
      return written?.answer !== false
    },
    async released(payment: VerifiedPayment): Promise<void> {
      await end(payment, () => store.release(payment.id))
    },
    async delivered(payment: VerifiedPayment): Promise<void> {
      await write(payment, () => store.markDelivered(payment.id))
    },
    /** Resolves once the process that has the payment has answered or released it, or has ended. */
    ownerEnded: ({ id }: VerifiedPayment): Promise<void> => store.ownerEnded(id),
  }
}

/** Writes after settlement: a failure is reported, and what ended a payment is owed. */
function createWrites(
  observe: (event: GateEvent) => void,
  lateWrites: ReturnType<typeof createLateWrites>,
) {
  /** Returns what the store answered; undefined if it failed. */
  async function write<Answer>(
    payment: VerifiedPayment,
    run: () => Promise<Answer>,
  ): Promise<{ readonly answer: Answer } | undefined> {
    try {
      return { answer: await run() }
    } catch (cause) {
      observe({ kind: 'store_failed', payment, cause })
      return undefined
    }
  }

  async function end<Answer>(
    payment: VerifiedPayment,
    run: () => Promise<Answer>,
  ): Promise<{ readonly answer: Answer } | undefined> {
    const written = await write(payment, run)
    if (written !== undefined) lateWrites.forget(payment.id)
    else lateWrites.owe(payment.id, run)
    return written
  }

  return { write, end }
}

/**
 * Refuses a payment that this store does not hold if the ledger has already used its nonce (X10) or it has expired: it
 * was settled for somebody else, or before this store existed, or never. The ledger is read before the reservation is
 * written, so that a reservation proves, to later processes too, that the nonce was unused. Another process may have
 * reserved the payment between the two looks, and used the nonce by it: the store is asked again before a refusal. A payer
 * who cannot pay is refused only once the payment is reserved: the answer to an earlier payment may still be owed.
 */
async function lookAtUnseen(
  store: ReservationStore,
  paid: PaymentForJob,
  place: PlaceInLine | undefined,
): Promise<Sight | Elsewhere> {
  if (place !== undefined && !(await place.ready())) return NOBODY_ASKED
  const { payment, scheme } = paid
  if (scheme.isUsed === undefined && scheme.canPay === undefined) return PASSED
  const isHeld = async (): Promise<boolean> => (await store.get(payment.id)) !== undefined
  if (await isHeld()) return PASSED
  for (;;) {
    const aheadAmount = place?.aheadAmount() ?? 0n
    const sight = await lookOnce(paid, aheadAmount)
    if (sight.kind === 'ended') return (await isHeld()) ? ELSEWHERE : sight
    if (sight.canPay || aheadAmount === 0n) return sight
    // The balance may suffice once earlier payments are through; then the nonce is read again, too.
    if (place === undefined || !(await place.moved())) return NOBODY_ASKED
  }
}

type Sight = Ended | { readonly kind: 'passed'; readonly canPay: boolean }
const PASSED: Sight = { kind: 'passed', canPay: true }
const NOBODY_ASKED: Sight = ended({ kind: 'unavailable', dependency: 'facilitator' })

async function lookOnce(
  { order, payment, scheme }: PaymentForJob,
  aheadAmount: bigint,
): Promise<Sight> {
  // The nonce decides whether a payment is honoured, so nothing is sold while it is unreadable. The balance check only
  // saves work: if the balance is unreadable, the facilitator checks it before sending.
  const canPay =
    order === undefined ? undefined : scheme.canPay?.(payment, aheadAmount).catch(unknownIsEnough)
  try {
    const [isUsed, hasEnough] = await Promise.all([scheme.isUsed?.(payment), canPay])
    if (isUsed === true) return challenged('payment_already_used')
    // This process has not sent it and never will: waiting for it would let anyone fill the gate with old signatures.
    if (isUsed === false && order === undefined) return challenged('transaction_expired')
    return { kind: 'passed', canPay: hasEnough ?? true }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return ended({ kind: 'unavailable', dependency: 'ledger' })
  }
}

function unknownIsEnough(error: unknown): true {
  if (error instanceof LedgerUnavailable) return true
  throw error
}

/** With `canPay: false` if the payer turned out not to have the money once it was its turn. */
type ReservedInLine = ReserveOutcome & { readonly canPay?: false }

type Reserving = {
  readonly lateWrites: ReturnType<typeof createLateWrites>
  readonly store: ReservationStore
  readonly payerPreparingMax: number
}

/**
 * Reserves, behind what other processes prepare for the payer: as many payments at once as here alone, and no more than its
 * balance covers. `crowded` if that takes too long.
 */
async function reserveInLine(
  { payerPreparingMax, ...parts }: Reserving,
  {
    paid,
    place,
    reservation,
  }: {
    readonly paid: PaymentForJob
    readonly place: PlaceInLine | undefined
    readonly reservation: Reservation
  },
): Promise<ReservedInLine> {
  if (place === undefined) return await reserveAfterLateWrite(parts, reservation)
  for (let hasWaited = false; ; hasWaited = true) {
    const elsewhereMax = payerPreparingMax - place.preparing()
    const reserved = await reserveAfterLateWrite(parts, reservation, { elsewhereMax })
    if (reserved.kind !== 'crowded') {
      const { aheadElsewhere = 0n } = { aheadElsewhere: undefined, ...reserved }
      // The balance was read before: those ahead have taken theirs from it since.
      if (reserved.kind !== 'reserved' || (aheadElsewhere === 0n && !hasWaited)) return reserved
      const aheadAmount = place.aheadAmount() + aheadElsewhere
      const hasEnough = await paid.scheme.canPay?.(paid.payment, aheadAmount).catch(unknownIsEnough)
      if (hasEnough !== false) return reserved
      if (aheadAmount === 0n) return { ...reserved, canPay: false }
      await parts.store.release(reservation.paymentId)
    }
    if (!(await place.pause())) return { kind: 'crowded' }
  }
}

/** Reserves; if a late write would end the blocking payment, writes that first. */
async function reserveAfterLateWrite(
  { lateWrites, store }: Pick<Reserving, 'lateWrites' | 'store'>,
  reservation: Reservation,
  limits?: ReserveLimits,
): Promise<ReserveOutcome> {
  const once = async (): Promise<ReserveOutcome> => {
    const reserved = await store.reserve(reservation, limits)
    // The earlier reservation is over: the store wrote its end but reported a failure.
    if (reserved.kind === 'reserved') lateWrites.forget(reservation.paymentId)
    return reserved
  }
  const reserved = await once()
  const blocking = findBlockingPayment(reserved)
  return blocking !== undefined && (await lateWrites.write(blocking)) ? await once() : reserved
}

/** The unanswered payment that blocks a new one, if any. */
function findBlockingPayment(reserved: ReserveOutcome): string | undefined {
  if (reserved.kind === 'unresolved') return reserved.paymentId
  if (reserved.kind !== 'held' || reserved.reservation.state === 'answered') return undefined
  return reserved.reservation.paymentId
}

/** When an answer given now may be forgotten, Unix seconds. */
function answerExpiry({ keepsAnswer, payment }: Reservation, nowSeconds: number): number {
  const untilSeconds = payment.validUntilSeconds + ANSWER_KEPT_SECONDS
  return keepsAnswer ? Math.max(untilSeconds, nowSeconds + PAYER_ANSWER_KEPT_SECONDS) : untilSeconds
}

/** Describes what the store is to hold. Throws RangeError for a request that no route may let through. */
function reservationFor({ identifierKey, job, order, payment }: PaymentForJob): Reservation {
  const reservation: Reservation = {
    paymentId: payment.id,
    payment,
    fingerprint: job.fingerprint,
    subject: job.subject,
    state: 'reserved',
    expiresAtSeconds: payment.validUntilSeconds + ANSWER_KEPT_SECONDS,
  }
  // Anyone can copy a payment that may already be on the ledger: it proves nothing about who sends it now.
  if (job.keepsAnswer === undefined || order === undefined) return reservation
  const { idempotencyKey = identifierKey, request } = job
  if (request !== undefined && Buffer.byteLength(request) > KEPT_REQUEST_BYTES_MAX)
    throw new RangeError(`a request over ${KEPT_REQUEST_BYTES_MAX} bytes cannot be kept`)
  return { ...reservation, keepsAnswer: true, idempotencyKey, request }
}

async function judgeHeld(
  store: ReservationStore,
  stored: Reservation,
  paid: PaymentForJob,
): Promise<Claim> {
  const { sender } = paid.job
  if (!isSamePurchase(stored, paid)) {
    await store.noteGuess(stored.paymentId, clientNetwork(sender ?? ''))
    return challenged('payment_already_used')
  }
  if (stored.keepsAnswer !== undefined && hasGuessed(stored, sender))
    return challenged('payment_already_used')
  if (stored.isElsewhere === true) return ELSEWHERE
  if (stored.state !== 'answered' || stored.answer === undefined)
    return { kind: 'resumed', reservation: stored }
  return paidWith(stored.answer)
}

/** An answer is kept as JSON, with the settlement that paid for it. */
type PaidAnswer = { readonly answer: unknown; readonly settlement: Settlement }

function paidWith(answer: string): Ended {
  return ended({ kind: 'paid', ...(JSON.parse(answer) as PaidAnswer) })
}

/** Failed writes that are kept; beyond this, the next start finds the payment on the ledger. */
const LATE_WRITES_MAX = 1_000

/**
 * Writes after settlement that a store failed to make. They are repeated when their payment arrives again; otherwise its
 * payer would have to wait for the next start. Each is written once for everyone who asks, since a second write could end a
 * later reservation.
 */
export function createLateWrites() {
  const owed = new Map<string, () => Promise<unknown>>()
  const running = new Map<string, Promise<void>>()

  async function run(paymentId: string, write: () => Promise<unknown>): Promise<void> {
    await write()
    // Another write may have become owed by now.
    if (owed.get(paymentId) === write) owed.delete(paymentId)
  }

  return {
    /** Remembers a payment's write; beyond the limit it is left to the next start. */
    owe(paymentId: string, write: () => Promise<unknown>): void {
      if (owed.size < LATE_WRITES_MAX) owed.set(paymentId, write)
    },
    /** The payment is no longer owed anything. */
    forget: (paymentId: string): void => void owed.delete(paymentId),
    /** Writes what a payment is owed; false if nothing. Throws what the store throws, in which case the write stays owed. */
    async write(paymentId: string): Promise<boolean> {
      const write = owed.get(paymentId)
      if (write === undefined) return false
      let writing = running.get(paymentId)
      if (writing === undefined) {
        writing = run(paymentId, write).finally(() => running.delete(paymentId))
        running.set(paymentId, writing)
      }
      await writing
      return true
    },
  }
}

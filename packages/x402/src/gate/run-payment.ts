/**
 * One payment in flight, from reservation to answer, however many requests carry it. Everything that decides between
 * charging, honouring, refusing and "not known yet" is here (X6 to X10); payments-in-flight.ts says which payments are in
 * flight and who may join one.
 */
import type { Clock } from '../clock.ts'
import type { Settlement, VerifiedPayment } from '../payment.ts'
import type { Reservation } from '../reservations/reservation-store.ts'
import { type LedgerFinding, NEVER_AFTER_SECONDS } from '../schemes/payment-scheme.ts'
import type { GateLimits } from './gate-limits.ts'
import { GateClosed, type LookUpEnd } from './ledger-poller.ts'
import type { AnyOutcome, PaymentForJob, Preparation, SettledPayment } from './paid-job.ts'
import type { PlaceInLine } from './payer-lines.ts'
import { ELSEWHERE } from './reservations.ts'
import {
  createResubmission,
  type GateParts,
  type SettlementOrder,
  submitPayment,
} from './submit-payment.ts'

/** How far our clock may differ from the ledger's when a record is compared with the start of our settlement. */
const CLOCK_SKEW_SECONDS = 10

export type PaymentProgress = ReturnType<typeof createPaymentProgress>

/** How far a payment in flight has got, and how it waits between attempts. */
export function createPaymentProgress(clock: Clock, limits: GateLimits) {
  const reserved = Promise.withResolvers<void>()
  const inDoubt = Promise.withResolvers<void>()
  const givenUp = Promise.withResolvers<void>()
  let possiblySettled = false
  let isClosed = false
  let pause = Promise.withResolvers<void>()
  const refusedOnceGivenUp = async (): Promise<never> => {
    await givenUp.promise
    throw new GateClosed('the gate is closed')
  }
  return {
    /** Resolves once the store has reserved the payment here, or has ended it. */
    reserved: reserved.promise,
    /** Resolves at the first sign that the outcome will take longer; requests then wait less. */
    inDoubt: inDoubt.promise,
    /** Resolves when the gate has closed and no request waits any longer. */
    givenUp: givenUp.promise,
    giveUp: (): void => givenUp.resolve(),
    isPossiblySettled: (): boolean => possiblySettled,
    markReserved: (): void => reserved.resolve(),
    markInDoubt: (): void => inDoubt.resolve(),
    markPossiblySettled(): void {
      possiblySettled = true
    },
    /**
     * Runs `step` with growing pauses until it returns a value; `undefined` means not yet. Throws GateClosed instead of a
     * second run once the gate is closed.
     */
    async persist<Value extends object>(step: () => Promise<Value | undefined>): Promise<Value> {
      let pauseMs = limits.retryFirstMs
      for (;;) {
        const value = await step()
        if (value !== undefined) return value
        inDoubt.resolve()
        if (isClosed) throw new GateClosed('the gate is closed')
        pause = Promise.withResolvers()
        const cancel = clock.after(pauseMs, pause.resolve)
        await pause.promise
        cancel()
        pauseMs = Math.min(pauseMs * 2, limits.retryMaxMs)
      }
    },
    /** Waits for something; throws GateClosed once the gate has closed and no request waits any longer. */
    unlessGivenUp: (awaited: Promise<unknown>): Promise<unknown> =>
      Promise.race([awaited, refusedOnceGivenUp()]),
    /** Ends the current pause at once. */
    wake: (): void => pause.resolve(),
    close(): void {
      isClosed = true
      pause.resolve()
    },
  }
}

type PaymentInFlight = PaymentForJob & {
  readonly progress: PaymentProgress
  /** Its place in its payer's line; absent for a payment that can only be looked up. */
  readonly place?: PlaceInLine | undefined
}

type ReservedPayment = PaymentInFlight & { readonly reservation: Reservation }

/** A payment's end here; `elsewhere` if another process has it. */
type EndHere = AnyOutcome | typeof ELSEWHERE

/**
 * Runs one payment to its end. Throws what `prepare` or, before settlement, the store threw; the payment is released first.
 * Where another process over the same store has it, that one's end is this one's: its answer if it gives one, and otherwise
 * the payment runs here once it was released, or its process has ended.
 */
export async function runPayment(gate: GateParts, paid: PaymentInFlight): Promise<AnyOutcome> {
  for (;;) {
    const outcome = await runHere(gate, paid)
    if (outcome.kind !== 'elsewhere') return outcome
    paid.progress.markReserved()
    await paid.progress.unlessGivenUp(gate.reservations.ownerEnded(paid.payment))
  }
}

async function runHere(gate: GateParts, paid: PaymentInFlight): Promise<EndHere> {
  if (paid.order === undefined) return await runUnsent(gate, paid)
  const place = gate.lines.join(paid.payment)
  if (place === undefined) return { kind: 'unavailable', dependency: 'facilitator' }
  try {
    return await runInLine(gate, { ...paid, place })
  } finally {
    place.leave()
  }
}

/** Runs a payment that this process has not sent: it can only be found, and its payer has a few such at a time. */
async function runUnsent(gate: GateParts, paid: PaymentInFlight): Promise<EndHere> {
  if (paid.isResumed === true) return await runInLine(gate, paid)
  const leave = gate.poller.join(paid.payment)
  // It may be on the ledger, so its payer is told to come back.
  if (leave === undefined)
    return { kind: 'pending', retryAfterSeconds: gate.limits.retryAfterSeconds }
  try {
    return await runInLine(gate, paid)
  } finally {
    leave()
  }
}

async function runInLine(gate: GateParts, paid: PaymentInFlight): Promise<EndHere> {
  const { order, payment, place, progress } = paid
  const claim = await gate.reservations.reserve(paid, place)
  if (claim.kind === 'elsewhere') return claim
  if (claim.kind === 'ended') return claim.outcome
  progress.markReserved()
  const reserved = { ...paid, reservation: claim.reservation }
  if (claim.kind === 'reserved' && order !== undefined) {
    const foreseen = await paid.scheme.foreseeRefusal?.(payment)
    const reason = foreseen ?? (claim.canPay ? undefined : 'insufficient_funds')
    // This process has not sent it, so there is no transaction to name.
    if (reason !== undefined)
      return await refuse(gate, payment, { ...refusedSettlement(payment, reason), transaction: '' })
    if (paid.scheme.hasMargin?.(payment) !== false) return await settle(gate, reserved, order)
    place?.submitted()
  }
  keepPayerWaiting(paid)
  // What was not sent in time never is.
  const unsent = claim.kind === 'reserved' && { order: undefined }
  const finding = await lookUp(gate, { ...paid, ...unsent })
  if (finding.kind === 'landed' && claim.kind === 'resumed') {
    // Meanwhile another process over the same store may have answered or released it, and sold something else for it.
    const now = await retried(gate, paid, () => gate.reservations.recall(paid))
    if (now.kind === 'elsewhere') return now
    if (now.kind === 'ended') return now.outcome
  }
  return await honour(gate, reserved, { finding })
}

/** Prepares and settles a payment that has not been sent to the ledger before. */
async function settle(
  gate: GateParts,
  paid: ReservedPayment,
  order: SettlementOrder,
): Promise<EndHere> {
  const { payment } = paid
  const preparation = await prepare(gate, paid, { isOwed: false })
  if (preparation.kind === 'declined') return preparation
  const { prepared } = preparation
  const startedSeconds = Math.floor(gate.clock.unixMs() / 1_000)
  keepPayerWaiting(paid)
  const submission = await submitPayment(gate, paid, order)
  switch (submission.kind) {
    case 'settled':
      return await complete(gate, paid, { settlement: submission.settlement, prepared })
    case 'refused':
      return await refuse(gate, payment, submission.settlement)
    case 'unsent':
      await gate.reservations.released(payment)
      return { kind: 'unavailable', dependency: 'facilitator' }
    case 'turned_away':
    case 'unclear': {
      const { refusal } = { refusal: undefined, ...submission }
      paid.place?.submitted()
      const awayAtMs = submission.kind === 'turned_away' ? gate.clock.unixMs() : undefined
      const finding = await lookUp(gate, paid, awayAtMs)
      const isOurs =
        refusal === undefined &&
        finding.kind === 'landed' &&
        finding.consensusSeconds >= startedSeconds - CLOCK_SKEW_SECONDS
      return isOurs
        ? await complete(gate, paid, { prepared, ...describeLanding(payment, finding) })
        : await honour(gate, paid, { finding, refusal, preparation })
    }
    default:
      return submission satisfies never
  }
}

/**
 * From when on a payment that was turned away is given up, milliseconds, once the ledger shows no trace of it: a facilitator whose
 * proxy turned the request away on its behalf would still be at work until then.
 */
const GIVEN_UP_AFTER_MS = 9_000

/** Consensus takes so long, seconds: what was submitted before a request was turned away has a trace by then. */
const TRACE_SECONDS = 3

/** Longest pause between two looks for a trace: its buyer is free within 15 s, with a ledger that lags by 9 s. */
const TRACE_PAUSE_MS_MAX = 2_000

/**
 * Asks the ledger until it knows, and meanwhile resubmits the payment where that is harmless. This decides every payment
 * that got no clear answer from the facilitator. One that was turned away at `awayAtMs` is not sent again: no trace of it, some
 * time later, frees its buyer (X23). That is no proof that it can never land: only that facilitator could still submit it, as
 * it could after any refusal, and a buyer is therefore not told that it was refused.
 */
async function lookUp(
  gate: GateParts,
  paid: PaymentInFlight,
  awayAtMs?: number,
): Promise<LookUpEnd> {
  const { isResumed, order, payment, progress, scheme } = paid
  const resubmit = createResubmission(gate, paid)
  const isUnsent = order === undefined && isResumed !== true
  const finding = await gate.poller.resolve({
    payment,
    quietUntilMs: isUnsent ? decidedAtMs(payment) : undefined,
    pauseMsMax: awayAtMs === undefined ? undefined : TRACE_PAUSE_MS_MAX,
    async look() {
      try {
        const found = await scheme.find(payment)
        if (found.kind !== 'unknown') return found
        if (awayAtMs !== undefined && (await isGivenUp(gate, paid, awayAtMs)))
          return { kind: 'untraced' }
      } catch (cause) {
        gate.observe({ kind: 'in_doubt', payment, cause })
      }
      progress.markInDoubt()
      if (awayAtMs === undefined) resubmit()
      return undefined
    },
  })
  if (finding.kind === 'untraced') return finding
  gate.observe({ kind: 'found', payment, finding })
  if (finding.kind === 'landed') progress.markPossiblySettled()
  return finding
}

async function isGivenUp(
  { clock }: GateParts,
  { payment, scheme }: PaymentInFlight,
  awayAtMs: number,
): Promise<boolean> {
  if (clock.unixMs() < awayAtMs + GIVEN_UP_AFTER_MS) return false
  return (await scheme.isUntraced?.(payment, awayAtMs / 1_000 + TRACE_SECONDS)) === true
}

/** How far a ledger's readers usually lag behind it: a look right at the end of a validity would be one too many. */
const LAG_SECONDS = 5

/** When the ledger can say that a payment never arrived, Unix milliseconds. */
const decidedAtMs = ({ validUntilSeconds }: VerifiedPayment): number =>
  (validUntilSeconds + NEVER_AFTER_SECONDS + LAG_SECONDS) * 1_000

/** Honours a payment found on the ledger if the job allows it, refuses one that failed or never arrived, gives up one without a trace (X8, X10). */
async function honour(
  gate: GateParts,
  paid: ReservedPayment,
  found: {
    readonly finding: LookUpEnd
    readonly refusal?: Settlement | undefined
    readonly preparation?: Preparation<unknown, unknown>
  },
): Promise<EndHere> {
  const { job, payment } = paid
  const { finding, refusal } = found
  if (finding.kind === 'untraced') {
    gate.observe({ kind: 'refused', payment, reason: 'facilitator_turned_away' })
    await gate.reservations.released(payment)
    return { kind: 'unavailable', dependency: 'facilitator' }
  }
  if (finding.kind !== 'landed') {
    const errorReason = finding.kind === 'failed' ? 'transaction_failed' : 'transaction_expired'
    return await refuse(gate, payment, refusal ?? refusedSettlement(payment, errorReason))
  }
  const { mayHonour } = await retried(gate, paid, async () => ({
    mayHonour: await job.mayHonour(payment),
  }))
  if (!mayHonour) {
    await gate.reservations.released(payment)
    return { kind: 'challenged', error: 'payment_already_used' }
  }
  const isOwed = paid.reservation.keepsAnswer !== undefined
  const preparation = found.preparation ?? (await prepare(gate, paid, { isOwed }))
  if (preparation.kind === 'declined') return preparation
  const { prepared } = preparation
  return await complete(gate, paid, { prepared, ...describeLanding(payment, finding) })
}

/**
 * Prepares the work. A job that declines or throws releases the payment. Only if the payer has already paid and is owed
 * the answer is a throw retried, and nothing released.
 */
async function prepare(
  gate: GateParts,
  paid: ReservedPayment,
  { isOwed }: { readonly isOwed: boolean },
): Promise<Preparation<unknown, unknown>> {
  const { job, payment, reservation } = paid
  const once = () => job.prepare(payment, reservation.request)
  try {
    const preparation = isOwed ? await retried(gate, paid, once) : await once()
    if (preparation.kind === 'declined') await gate.reservations.released(payment)
    return preparation
  } catch (error) {
    if (!isOwed) await gate.reservations.released(payment)
    throw error
  }
}

/** Does the paid work. From here on nothing may block (X6): failures are retried, never refused. */
async function complete(
  gate: GateParts,
  paid: ReservedPayment,
  { prepared, ...settled }: Omit<SettledPayment, 'payment'> & { readonly prepared: unknown },
): Promise<EndHere> {
  const { job, payment, progress, reservation } = paid
  const { settlement } = settled
  progress.markPossiblySettled()
  paid.place?.leave()
  // Before the work: a process that was stopped, and lost the payment to another meanwhile, must not do it a second time.
  if (!(await gate.reservations.settled(payment))) return ELSEWHERE
  const { answer } = await retried(gate, paid, async () => ({
    answer: await job.fulfil(prepared, { payment, ...settled }),
  }))
  const { isOwn } = await retried(gate, paid, async () => ({
    isOwn: await gate.reservations.answered(reservation, { answer, settlement }),
  }))
  if (!isOwn) return ELSEWHERE
  gate.observe({ kind: 'fulfilled', payment })
  return { kind: 'paid', answer, settlement }
}

async function refuse(
  gate: GateParts,
  payment: VerifiedPayment,
  settlement: Settlement,
): Promise<AnyOutcome> {
  await gate.reservations.released(payment)
  const errorReason = readableReason(settlement.errorReason)
  gate.observe({ kind: 'refused', payment, reason: errorReason })
  return { kind: 'challenged', error: errorReason, settlement: { ...settlement, errorReason } }
}

/** Runs a step until it succeeds, with growing pauses, and reports each failure. */
function retried<Value extends object>(
  gate: GateParts,
  { payment, progress }: PaymentInFlight,
  step: () => Promise<Value>,
): Promise<Value> {
  return progress.persist(async () => {
    try {
      return await step()
    } catch (cause) {
      gate.observe({ kind: 'retrying', payment, cause })
      return undefined
    }
  })
}

/**
 * While the outcome is open, only its own payer's payment keeps a subject waiting (X9): anyone can sign a payment for
 * somebody else and let it expire.
 */
function keepPayerWaiting({ job, payment, progress }: PaymentInFlight): void {
  const isSubjectPayer = job.subject === payment.payer || job.subject === payment.payerEvmAddress
  if (isSubjectPayer) progress.markPossiblySettled()
}

function describeLanding(
  { amount, network, payer }: VerifiedPayment,
  { consensusSeconds, transaction }: Extract<LedgerFinding, { kind: 'landed' }>,
): Omit<SettledPayment, 'payment'> {
  const settlement = { success: true, transaction, network, payer, amount: amount.toString() }
  return { settlement, landedAtSeconds: consensusSeconds }
}

function refusedSettlement(payment: VerifiedPayment, errorReason: string): Settlement {
  const { network, nonce, payer } = payment
  return { success: false, transaction: nonce, network, payer, errorReason }
}

/** A facilitator's reason if it is a code; anything else would put foreign text into our answers. */
function readableReason(reason: string | undefined): string {
  return reason !== undefined && /^[A-Za-z0-9_]{1,96}$/.test(reason) ? reason : 'settlement_refused'
}

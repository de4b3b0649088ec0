/**
 * One payment on its way from reservation to answer, however many requests carry it. Everything that decides between
 * charging, honouring, refusing and "not known yet" (X6 to X10) is here; who may join a flight is the gate's matter.
 */
import type { Facilitator, PaymentPayload, Settlement } from '../facilitators/facilitator.ts'
import { submitPayment } from '../facilitators/submit-payment.ts'
import type { PaymentRequirement } from '../payment.ts'
import type { Reservation } from '../reservations/reservation-store.ts'
import type { ReservationDesk } from '../reservations/reserve-payment.ts'
import type { LedgerFinding, PaymentScheme, VerifiedPayment } from '../schemes/payment-scheme.ts'
import type { FlightControl } from './flight-control.ts'
import type { GateHappening } from './gate-event.ts'
import type { AnyPaidJob, PaymentOutcome, SettledPayment } from './payment-gate.ts'

/** Our clock and the ledger's may differ by this much when a record is compared with the moment we began to settle. */
const CLOCK_SKEW_SECONDS = 10

/** What every flight of a gate uses. */
export type FlightWorld = {
  readonly facilitator: Facilitator
  readonly desk: ReservationDesk
  readonly unixMs: () => number
  readonly observe: (event: GateHappening) => void
}

/** What a facilitator is asked to settle. */
export type SettlementOrder = {
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirement
}

/** What one flight carries. */
export type FlightPlan<Prepared, Answer, Declined> = {
  readonly payment: VerifiedPayment
  readonly scheme: PaymentScheme
  /** What the facilitator gets; absent for a payment that can only be found, e.g. since its validity ended. */
  readonly order: SettlementOrder | undefined
  readonly job: AnyPaidJob<Prepared, Answer, Declined>
  readonly control: FlightControl
}

/** A flight whose payment is reserved. */
type ReservedPlan<Prepared, Answer, Declined> = FlightPlan<Prepared, Answer, Declined> & {
  readonly reservation: Reservation
}

/** Runs one payment to its end. Throws what `prepare` or, before settlement, the store threw, with the payment released. */
export async function flyPayment<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: FlightPlan<Prepared, Answer, Declined>,
): Promise<PaymentOutcome<Answer, Declined>> {
  const { control, order } = plan
  const claimed = await world.desk.claim({ ...plan, canSettle: order !== undefined })
  if (claimed.kind === 'ended') return claimed.outcome
  control.claim()
  const reserved = { ...plan, reservation: claimed.reservation }
  if (claimed.kind === 'fresh' && order !== undefined) {
    if (claimed.canPay) return await settle(world, reserved, order)
    const { payment } = plan
    return await refuse(world, payment, {
      ...refusalOf(payment, 'insufficient_funds'),
      // Nobody here has sent it.
      transaction: '',
    })
  }
  // What nobody here has sent keeps only its own payer waiting: anybody can sign an old payment for somebody else.
  if (claimed.kind === 'resumed' || isFor(plan)) control.markPossiblySettled()
  const finding = await lookUp(world, plan)
  if (finding.kind === 'landed') control.markPossiblySettled()
  if (finding.kind === 'landed' && claimed.kind === 'resumed') {
    const ended = await endedMeanwhile(world, plan)
    if (ended !== undefined) return ended
  }
  return await honourFinding(world, reserved, { finding })
}

/**
 * How a payment that this flight only resumed was ended while the ledger was asked: another process over the same store
 * may have answered it, or have released it and sold something else for it. Undefined where it is still open.
 */
async function endedMeanwhile<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: FlightPlan<Prepared, Answer, Declined>,
): Promise<PaymentOutcome<Answer, Declined> | undefined> {
  const { control, order, payment } = plan
  const recalled = await control.persist(async () => {
    try {
      return await world.desk.recall({ ...plan, canSettle: order !== undefined })
    } catch (cause) {
      world.observe({ kind: 'retrying', payment, cause })
      return undefined
    }
  })
  return recalled.kind === 'ended' ? recalled.outcome : undefined
}

/** Prepares and settles a payment that nobody has sent before. */
async function settle<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: ReservedPlan<Prepared, Answer, Declined>,
  order: SettlementOrder,
): Promise<PaymentOutcome<Answer, Declined>> {
  const { control, payment } = plan
  const preparation = await prepareOrRelease(world, plan)
  if (preparation.kind === 'declined') return preparation
  const settleStartedSeconds = Math.floor(world.unixMs() / 1_000)
  control.markPossiblySettled()
  const submission = await submitPayment(world, plan, order)
  const { prepared } = preparation
  if (submission.kind === 'settled') return await complete(world, plan, { ...submission, prepared })
  if (submission.kind === 'refused') return await refuse(world, payment, submission.settlement)
  if (submission.kind === 'unsent') {
    await world.desk.released(payment)
    return { kind: 'unavailable', dependency: 'facilitator' }
  }
  const finding = await lookUp(world, plan)
  const { refusal } = submission
  const isOurs =
    refusal === undefined &&
    finding.kind === 'landed' &&
    finding.consensusSeconds >= settleStartedSeconds - CLOCK_SKEW_SECONDS
  if (!isOurs)
    return await honourFinding(world, plan, { finding, refusal, prepared: { value: prepared } })
  return await complete(world, plan, { prepared, ...landingOf(payment, finding) })
}

/** Whether the payer of a payment is the one who waits for it. */
function isFor(plan: {
  readonly job: { readonly subject: string }
  readonly payment: VerifiedPayment
}): boolean {
  const { payer, payerEvmAddress } = plan.payment
  return plan.job.subject === payer || plan.job.subject === payerEvmAddress
}

async function prepareOrRelease<Prepared, Answer, Declined>(
  world: FlightWorld,
  { job, payment, reservation }: ReservedPlan<Prepared, Answer, Declined>,
): ReturnType<AnyPaidJob<Prepared, Answer, Declined>['prepare']> {
  try {
    const preparation = await job.prepare(payment, reservation.request)
    if (preparation.kind === 'declined') await world.desk.released(payment)
    return preparation
  } catch (error) {
    await world.desk.released(payment)
    throw error
  }
}

/** Prepares what was paid already. Where the answer is owed to the payer a throw is tried again, and releases nothing. */
async function prepareFound<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: ReservedPlan<Prepared, Answer, Declined>,
): ReturnType<AnyPaidJob<Prepared, Answer, Declined>['prepare']> {
  const { control, job, payment, reservation } = plan
  if (reservation.keepsAnswer === undefined) return await prepareOrRelease(world, plan)
  const preparation = await control.persist(async () => {
    try {
      return await job.prepare(payment, reservation.request)
    } catch (cause) {
      world.observe({ kind: 'retrying', payment, cause })
      return undefined
    }
  })
  if (preparation.kind === 'declined') await world.desk.released(payment)
  return preparation
}

/** Asks the ledger until it knows; the last word on every payment that no facilitator answered for. */
async function lookUp<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: FlightPlan<Prepared, Answer, Declined>,
): Promise<Exclude<LedgerFinding, { kind: 'unknown' }>> {
  const finding = await plan.control.persist(async () => {
    const found = await plan.scheme.find(plan.payment).catch((cause: unknown) => {
      world.observe({ kind: 'in_doubt', payment: plan.payment, cause })
      return { kind: 'unknown' } as const
    })
    return found.kind === 'unknown' ? undefined : found
  })
  world.observe({ kind: 'found', payment: plan.payment, finding })
  return finding
}

/** Honours a payment found on the ledger where the job may, and refuses one that failed or never came (X8, X10). */
async function honourFinding<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: ReservedPlan<Prepared, Answer, Declined>,
  found: {
    readonly finding: Exclude<LedgerFinding, { kind: 'unknown' }>
    readonly refusal?: Settlement | undefined
    readonly prepared?: { readonly value: Prepared }
  },
): Promise<PaymentOutcome<Answer, Declined>> {
  const { control, job, payment } = plan
  const { finding, refusal } = found
  if (finding.kind !== 'landed') {
    const errorReason = finding.kind === 'failed' ? 'transaction_failed' : 'transaction_expired'
    return await refuse(world, payment, refusal ?? refusalOf(payment, errorReason))
  }
  const honour = await control.persist(async () => {
    try {
      return { isAllowed: await job.mayHonour(payment) }
    } catch (cause) {
      world.observe({ kind: 'retrying', payment, cause })
      return undefined
    }
  })
  if (!honour.isAllowed) {
    await world.desk.released(payment)
    return { kind: 'challenged', error: 'payment_already_used' }
  }
  let prepared = found.prepared
  if (prepared === undefined) {
    const preparation = await prepareFound(world, plan)
    if (preparation.kind === 'declined') return preparation
    prepared = { value: preparation.prepared }
  }
  return await complete(world, plan, { prepared: prepared.value, ...landingOf(payment, finding) })
}

/** Does the paid work; from here on nothing may block (X6), so that failures are retried and never refused. */
async function complete<Prepared, Answer, Declined>(
  world: FlightWorld,
  plan: ReservedPlan<Prepared, Answer, Declined>,
  paid: Omit<SettledPayment, 'payment'> & { readonly prepared: Prepared },
): Promise<PaymentOutcome<Answer, Declined>> {
  const { control, job, payment, reservation } = plan
  const { prepared, ...settled } = paid
  const { settlement } = settled
  await world.desk.settled(payment)
  const { answer } = await control.persist(async () => {
    try {
      return { answer: await job.fulfil(prepared, { payment, ...settled }) }
    } catch (cause) {
      world.observe({ kind: 'retrying', payment, cause })
      return undefined
    }
  })
  await world.desk.answered(reservation, { answer, settlement })
  world.observe({ kind: 'fulfilled', payment })
  return { kind: 'paid', answer, settlement }
}

async function refuse(
  world: FlightWorld,
  payment: VerifiedPayment,
  settlement: Settlement,
): Promise<{ kind: 'challenged'; error: string; settlement: Settlement }> {
  await world.desk.released(payment)
  const errorReason = readableReason(settlement.errorReason)
  world.observe({ kind: 'refused', payment, reason: errorReason })
  return { kind: 'challenged', error: errorReason, settlement: { ...settlement, errorReason } }
}

function landingOf(
  { amount, network, payer }: VerifiedPayment,
  { consensusSeconds, transaction }: Extract<LedgerFinding, { kind: 'landed' }>,
): Omit<SettledPayment, 'payment'> {
  const settlement = { success: true, transaction, network, payer, amount: amount.toString() }
  return { settlement, landedAtSeconds: consensusSeconds }
}

function refusalOf(payment: VerifiedPayment, errorReason: string): Settlement {
  const { network, payer, nonce } = payment
  return { success: false, transaction: nonce, network, payer, errorReason }
}

/** A facilitator's reason, where it is a code; anything else would put foreign text into our answers. */
function readableReason(reason: string | undefined): string {
  return reason !== undefined && /^[A-Za-z0-9_]{1,96}$/.test(reason) ? reason : 'settlement_refused'
}

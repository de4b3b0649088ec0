/**
 * Hands a payment to one facilitator after another (X19), judges their answers (X8), and resubmits one whose first
 * submission may have failed (X9). Each facilitator gets the same bytes, so the ledger takes them at most once;
 * run-payment.ts decides what the result means for the payer.
 */
import { type Clock, pause } from '../clock.ts'
import {
  type Facilitator,
  type FacilitatorRoute,
  type FacilitatorRoutes,
  FacilitatorUnavailable,
} from '../facilitators/facilitator.ts'
import { classifyRefusal } from '../facilitators/refusals.ts'
import type { Settlement } from '../payment.ts'
import type { LedgerFinding } from '../schemes/payment-scheme.ts'
import type { GateEvent } from './gate-event.ts'
import type { GateLimits } from './gate-limits.ts'
import type { LedgerPoller } from './ledger-poller.ts'
import type { PaymentForJob } from './paid-job.ts'
import type { PayerLines } from './payer-lines.ts'
import type { Reservations } from './reservations.ts'

/** Shared by all payments of a gate. */
export type GateParts = {
  readonly clock: Clock
  readonly facilitator: Facilitator | FacilitatorRoutes
  readonly limits: GateLimits
  readonly lines: PayerLines
  readonly observe: (event: GateEvent) => void
  readonly poller: LedgerPoller
  readonly reservations: Reservations
}

export type SettlementOrder = NonNullable<PaymentForJob['order']>

/** The result of one facilitator call, or of several; `unclear` is for the ledger to decide. */
type Submission =
  | { readonly kind: 'settled' | 'refused'; readonly settlement: Settlement }
  | { readonly kind: 'unsent' }
  /** Nobody who was asked took it, and at least one turned the request itself away (X23). */
  | { readonly kind: 'turned_away' }
  | { readonly kind: 'unclear'; readonly refusal?: Settlement }

type Sent = Pick<PaymentForJob, 'payment' | 'scheme'>

/**
 * Asks the facilitators that may settle this payment until one has, or the ledger no longer shows it unused. It is refused
 * only if every facilitator asked refused it. Never throws because of a facilitator.
 */
export async function submitPayment(
  gate: GateParts,
  sent: Sent,
  order: SettlementOrder,
): Promise<Submission> {
  const { facilitator } = gate
  const routes =
    'routesFor' in facilitator
      ? facilitator.routesFor(order.requirement)
      : [{ facilitator, isTrusted: true }]
  let result: Submission = { kind: 'unsent' }
  for (const [index, route] of routes.entries()) {
    const isLast = index === routes.length - 1
    const answer = await ask(gate, sent, { order, route, isLast })
    if (answer.kind === 'settled') return answer
    result = together(result, answer)
    // Only a payment that the ledger does not know goes to the next one.
    if (!isLast && answer.kind !== 'unsent' && (await look(sent))?.kind !== 'unknown') {
      return together(result, { kind: 'unclear' })
    }
  }
  return result
}

/** Doubt outweighs a request turned away, that a refusal, and that a facilitator that was not reached. */
function together(first: Submission, second: Submission): Submission {
  if (first.kind === 'unsent') return second
  if (second.kind === 'unsent') return first
  const kinds = [first.kind, second.kind]
  if (kinds.includes('unclear')) return { kind: 'unclear' }
  return kinds.includes('turned_away') ? { kind: 'turned_away' } : second
}

const look = ({ payment, scheme }: Sent): Promise<LedgerFinding | undefined> =>
  scheme.find(payment).catch(() => undefined)

/**
 * Whether the ledger shows the payment as used, where it says so at once (EVM): a facilitator that submits a payment and
 * then denies it would make the buyer pay again.
 */
const isUsed = async ({ payment, scheme }: Sent): Promise<boolean> =>
  (await scheme.isUsed?.(payment).catch(() => false)) ?? false

async function ask(
  gate: GateParts,
  sent: Sent,
  call: {
    readonly order: SettlementOrder
    readonly route: FacilitatorRoute
    readonly isLast: boolean
  },
): Promise<Submission> {
  const { payment, scheme } = sent
  const inDoubt = (cause: unknown): void => gate.observe({ kind: 'in_doubt', payment, cause })
  let settlement: Settlement
  try {
    settlement = await awaitAnswer(gate, call)
  } catch (error) {
    if (error instanceof FacilitatorUnavailable && error.nothingSent) return { kind: 'unsent' }
    inDoubt(error)
    const isTurnedAway = error instanceof FacilitatorUnavailable && error.turnedAway !== undefined
    return { kind: isTurnedAway ? 'turned_away' : 'unclear' }
  }
  if (settlement.success) {
    if (scheme.isOwnTransaction?.(payment, settlement.transaction) === false) {
      inDoubt('a success of another transaction')
      return { kind: 'unclear' }
    }
    if (!call.route.isTrusted && !(await hasLanded(gate, sent))) {
      inDoubt('a success that the ledger does not show')
      return { kind: 'unclear' }
    }
    gate.observe({ kind: 'settled', payment, settlement })
    return { kind: 'settled', settlement }
  }
  const verdict = classifyRefusal(settlement)
  if (verdict === 'definite' && !(await isUsed(sent))) return { kind: 'refused', settlement }
  if (verdict === 'definite_unless_landed') {
    const finding = await look(sent)
    if (finding !== undefined && finding.kind !== 'landed') return { kind: 'refused', settlement }
  }
  inDoubt(settlement.errorReason)
  return { kind: 'unclear', refusal: settlement }
}

/** The facilitator's answer; each but the last one has less time. */
async function awaitAnswer(
  { clock, limits }: GateParts,
  { isLast, order, route }: Parameters<typeof ask>[2],
): Promise<Settlement> {
  const answer = route.facilitator.settle(order.payload, order.requirement)
  if (isLast) return await answer
  const tooSlow = Promise.withResolvers<never>()
  const cancel = clock.after(limits.failoverAfterMs, () =>
    tooSlow.reject(new FacilitatorUnavailable('no answer before the next one was asked')),
  )
  try {
    return await Promise.race([answer, tooSlow.promise])
  } finally {
    cancel()
  }
}

/** Whether the ledger soon shows a payment that a facilitator called settled; its nodes may lag behind the facilitator's. */
async function hasLanded({ clock, limits }: GateParts, sent: Sent): Promise<boolean> {
  const untilMs = clock.unixMs() + limits.confirmMs
  for (let pauseMs = limits.retryFirstMs; ; pauseMs *= 2) {
    const finding = await look(sent)
    if (finding?.kind === 'landed') return true
    const isDecided = finding !== undefined && finding.kind !== 'unknown'
    if (isDecided || clock.unixMs() + pauseMs > untilMs) return false
    await pause(clock, pauseMs)
  }
}

/**
 * Resubmits a payment in doubt under its own id, one submission at a time, where its scheme says that this is harmless and its
 * job that it is still wanted (X9). Only a success counts: after any other answer, an earlier submission may still have landed.
 */
export function createResubmission(gate: GateParts, paid: PaymentForJob) {
  const { job, order, payment, scheme } = paid
  let isUnderWay = false
  let isUnwanted = false

  const mayPay = async (): Promise<boolean> => {
    try {
      // What was unwanted once is never charged later.
      isUnwanted ||= (await job.isStillWanted?.()) === false
      return !isUnwanted
    } catch (cause) {
      gate.observe({ kind: 'retrying', payment, cause })
      return false
    }
  }

  const send = async (again: SettlementOrder): Promise<void> => {
    const submission = (await mayPay()) && (await submitPayment(gate, paid, again))
    isUnderWay = false
    if (!submission || submission.kind !== 'settled') return
    const { transaction } = submission.settlement
    const consensusSeconds = Math.floor(gate.clock.unixMs() / 1_000)
    gate.poller.found(payment.id, { kind: 'landed', transaction, consensusSeconds })
  }

  /** Starts the next submission unless one is under way; a success ends the look-up. */
  return (): void => {
    if (isUnderWay || order === undefined || scheme.mayResubmit?.(payment) !== true) return
    isUnderWay = true
    void send(order)
  }
}

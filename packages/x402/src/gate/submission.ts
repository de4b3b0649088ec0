/**
 * What a facilitator makes of a payment: one submission and its meaning (X8), and the repeated ones of a payment whose
 * first may have failed (X9). payment-in-flight.ts decides what follows.
 */
import type { Clock } from '../clock.ts'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { classifyRefusal } from '../facilitators/refusals.ts'
import type { Settlement } from '../payment.ts'
import type { Reservations } from '../reservations/reservations.ts'
import type { LedgerFinding } from '../schemes/payment-scheme.ts'
import type { GateEvent } from './gate-event.ts'
import type { PaymentForJob } from './paid-job.ts'
import type { PaymentProgress } from './payment-progress.ts'

/** Shared by all payments of a gate. */
export type GateParts = {
  readonly clock: Clock
  readonly facilitator: Facilitator
  readonly observe: (event: GateEvent) => void
  readonly reservations: Reservations
}

export type PaymentInFlight = PaymentForJob & { readonly progress: PaymentProgress }

export type SettlementOrder = NonNullable<PaymentForJob['order']>

/** The result of one facilitator call; `unclear` is for the ledger to decide. */
type Submission =
  | { readonly kind: 'settled' | 'refused'; readonly settlement: Settlement }
  | { readonly kind: 'unsent' }
  | { readonly kind: 'unclear'; readonly refusal?: Settlement }

/** Asks the facilitator to settle, and judges its answer (X8). Never throws on the facilitator's account. */
export async function submit(
  gate: GateParts,
  { payment, scheme }: PaymentInFlight,
  order: SettlementOrder,
): Promise<Submission> {
  const inDoubt = (cause: unknown): void => gate.observe({ kind: 'in_doubt', payment, cause })
  let settlement: Settlement
  try {
    settlement = await gate.facilitator.settle(order.payload, order.requirement)
  } catch (error) {
    if (error instanceof FacilitatorUnavailable && error.nothingSent) return { kind: 'unsent' }
    inDoubt(error)
    return { kind: 'unclear' }
  }
  if (settlement.success) {
    if (scheme.isOwnTransaction?.(payment, settlement.transaction) === false) {
      inDoubt('a success of another transaction')
      return { kind: 'unclear' }
    }
    gate.observe({ kind: 'settled', payment, settlement })
    return { kind: 'settled', settlement }
  }
  const verdict = classifyRefusal(settlement)
  if (verdict === 'definite') return { kind: 'refused', settlement }
  if (verdict === 'definite_unless_landed') {
    const finding = await scheme.find(payment).catch(() => undefined)
    if (finding !== undefined && finding.kind !== 'landed') return { kind: 'refused', settlement }
  }
  inDoubt(settlement.errorReason)
  return { kind: 'unclear', refusal: settlement }
}

type Landed = Extract<LedgerFinding, { kind: 'landed' }>

/**
 * Submits a payment in doubt again under its own id, one submission at a time, where its scheme says that this is harmless
 * (X9). Only a success counts: whatever else this one is told, an earlier one may have landed.
 */
export function createResubmission(gate: GateParts, paid: PaymentInFlight) {
  const { order, payment, progress, scheme } = paid
  let isUnderWay = false
  let landed: Landed | undefined

  const send = async (again: SettlementOrder): Promise<void> => {
    const submission = await submit(gate, paid, again)
    isUnderWay = false
    if (submission.kind !== 'settled') return
    const { transaction } = submission.settlement
    const consensusSeconds = Math.floor(gate.clock.unixMs() / 1_000)
    landed = { kind: 'landed', transaction, consensusSeconds }
    progress.wake()
  }

  return {
    /** That the payment landed, once a submission was told so; until then starts the next one. */
    next(): Landed | undefined {
      if (landed !== undefined || isUnderWay) return landed
      if (order === undefined || scheme.mayResubmit?.(payment) !== true) return undefined
      isUnderWay = true
      void send(order)
      return undefined
    },
  }
}

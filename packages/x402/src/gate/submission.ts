/**
 * The parts of a payment in flight, and the resubmission of one whose first submission may have failed (X9).
 * submit-payment.ts makes and judges one submission; run-payment.ts decides what follows.
 */
import type { Clock } from '../clock.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { Reservations } from '../reservations/reservations.ts'
import type { LedgerFinding } from '../schemes/payment-scheme.ts'
import type { GateEvent } from './gate-event.ts'
import type { GateLimits } from './gate-limits.ts'
import type { PaymentForJob } from './paid-job.ts'
import type { PayerLines, PlaceInLine } from './payer-lines.ts'
import type { PaymentProgress } from './payment-progress.ts'
import { submitPayment } from './submit-payment.ts'

/** Shared by all payments of a gate. */
export type GateParts = {
  readonly clock: Clock
  readonly facilitator: Facilitator
  readonly limits: GateLimits
  readonly lines: PayerLines
  readonly observe: (event: GateEvent) => void
  readonly reservations: Reservations
}

export type PaymentInFlight = PaymentForJob & {
  readonly progress: PaymentProgress
  /** Its place in its payer's line; absent for a payment that can only be looked up. */
  readonly place?: PlaceInLine | undefined
}

export type SettlementOrder = NonNullable<PaymentForJob['order']>

type Landed = Extract<LedgerFinding, { kind: 'landed' }>

/**
 * Resubmits a payment in doubt under its own id, one submission at a time, where its scheme says that this is harmless and its
 * job that it is wanted still (X9). Only a success counts: after any other answer, an earlier submission may still have landed.
 */
export function createResubmission(gate: GateParts, paid: PaymentInFlight) {
  const { job, order, payment, progress, scheme } = paid
  let isUnderWay = false
  let isUnwanted = false
  let landed: Landed | undefined

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
    landed = { kind: 'landed', transaction, consensusSeconds }
    progress.wake()
  }

  return {
    /** The landing, once a submission has reported it; until then, starts the next submission. */
    next(): Landed | undefined {
      if (landed !== undefined || isUnderWay) return landed
      if (order === undefined || scheme.mayResubmit?.(payment) !== true) return undefined
      isUnderWay = true
      void send(order)
      return undefined
    },
  }
}

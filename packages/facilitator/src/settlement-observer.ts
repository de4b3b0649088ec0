import { Counter, type Registry, type ServiceAppOptions } from '@tallystick/service-kit'
import type { VerifiedPayment } from '@tallystick/x402'
import type { SettlementEnd } from './settlement-end.ts'

/** Counts and logs how settlements end. Nothing that it writes is a signature or a payload. */
export type SettlementObserver = {
  readonly onEnd: (payment: VerifiedPayment, end: SettlementEnd) => void
  /** Settlements since the start, by how they ended. */
  count(outcome: SettlementEnd['outcome']): number
}

/** Returns an observer that registers its metric and writes one log line per settlement. */
export function observeSettlements(
  registry: Registry,
  logger: ServiceAppOptions['logger'] | undefined,
): SettlementObserver {
  const settlements = new Counter({
    name: 'facilitator_settlements_total',
    help: 'Settlements of verified payments, by how they ended.',
    labelNames: ['outcome', 'reason'] as const,
    registers: [registry],
  })
  const counts = new Map<SettlementEnd['outcome'], number>()
  return {
    onEnd(payment, { cause, message, outcome, reason, transaction }) {
      settlements.inc({ outcome, reason })
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      const { network, nonce, payer, payTo } = payment
      const fields = {
        outcome,
        reason,
        message,
        network,
        transaction,
        nonce,
        payer,
        payTo,
        ...amountOf(payment),
      }
      if (outcome === 'settled') logger?.info(fields, 'settlement ended')
      else logger?.warn({ ...fields, err: cause }, 'settlement ended')
    },
    count: (outcome) => counts.get(outcome) ?? 0,
  }
}

/** The amount under a name that says its unit. */
function amountOf({ amount, network }: VerifiedPayment): Readonly<Record<string, string>> {
  return network.startsWith('hedera:')
    ? { amountTinybar: amount.toString() }
    : { amountBaseUnits: amount.toString() }
}

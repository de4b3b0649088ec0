import {
  createMetrics,
  type MetricTable,
  type Registry,
  type ServiceAppOptions,
} from '@tallystick/service-kit'
import type { VerifiedPayment } from '@tallystick/x402'
import { HBAR_ASSET } from '@tallystick/x402/hedera'
import type { SettlementEnd, SubmissionDoubt } from './settlement.ts'

export type SettlementObserver = ReturnType<typeof observeSettlements>

const METRICS = {
  facilitator_settlements_total: {
    kind: 'counter',
    help: 'Settlements of verified payments, by outcome.',
    labels: ['outcome', 'reason'],
  },
  facilitator_settlements_in_flight: { kind: 'gauge', help: 'Settlements under way.' },
} as const satisfies MetricTable

/**
 * Returns an observer that counts settlements by outcome and logs each one, as well as each doubt before it. No log line
 * holds a signature or a payload.
 */
export function observeSettlements(
  registry: Registry,
  logger: ServiceAppOptions['logger'] | undefined,
) {
  const metrics = createMetrics(registry, METRICS)
  const counts = new Map<SettlementEnd['outcome'], number>()
  return {
    onEnd: (payment: VerifiedPayment, end: SettlementEnd): void => {
      const { cause, message, outcome, reason, transaction } = end
      metrics.count('facilitator_settlements_total', { outcome, reason })
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      const fields = { outcome, reason, message, transaction, ...logFields(payment) }
      if (outcome === 'settled') logger?.info(fields, 'settlement ended')
      else logger?.warn({ ...fields, err: cause }, 'settlement ended')
    },
    onDoubt: (payment: VerifiedPayment, { cause, transaction }: SubmissionDoubt): void => {
      const fields = { transaction, ...logFields(payment), cause: causeText(cause) }
      logger?.warn(fields, 'submission in doubt')
    },
    /** Settlements under way are read at each scrape. */
    measure: (inFlight: () => number): void =>
      metrics.read('facilitator_settlements_in_flight', (show) => show(inFlight())),
    /** Settlements since start with that outcome. */
    count: (outcome: SettlementEnd['outcome']): number => counts.get(outcome) ?? 0,
  }
}

/** A log line says this about a payment; the amount's name states its unit. */
function logFields(payment: VerifiedPayment): Readonly<Record<string, string>> {
  const { amount, asset, network, nonce, payer, payTo } = payment
  const amounts =
    asset === HBAR_ASSET
      ? { amountTinybar: amount.toString() }
      : { asset, amountBaseUnits: amount.toString() }
  return { network, nonce, payer, payTo, ...amounts }
}

/** Longest text of a cause: a few links of the chain, but not a foreign node's whole answer. */
const TEXT_MAX = 500

/** A run of letters and digits this long is a transaction, a signature or a key; no word or address is. */
const SIGNED_BYTES = /[0-9A-Za-z+/=_-]{64,}/g

/**
 * Says an error and its causes in one line for a log. Client libraries repeat a failed request in their message,
 * including the signed transaction: only their short message is used, and long runs are left out.
 */
function causeText(error: unknown): string {
  const links: string[] = []
  const seen = new Set<unknown>()
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at)
    const text = 'shortMessage' in at ? String(at.shortMessage) : at.message
    links.push(`${at.name}: ${text}`)
  }
  const line = links.length === 0 ? String(error) : links.join(' < ')
  return line.replaceAll(SIGNED_BYTES, '…').slice(0, TEXT_MAX)
}

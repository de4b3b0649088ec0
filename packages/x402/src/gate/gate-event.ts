import type { Settlement, VerifiedPayment } from '../payment.ts'
import type { LedgerFinding, PaymentScheme } from '../schemes/payment-scheme.ts'

/** The gate did this; for logs and metrics. Carries neither header nor answer. */
export type GateEvent = {
  readonly payment: VerifiedPayment
  /**
   * The `requestId` of the job that brought the payment, even in the background. Absent if the job gave none, and for a
   * delivery that could not be stored, because the payment is no longer in flight by then.
   */
  readonly requestId?: string
} & (
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  /** A definite refusal: nothing was paid. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Whether the payment landed is unknown; the ledger is being read. */
  | { readonly kind: 'in_doubt'; readonly cause: unknown }
  | { readonly kind: 'found'; readonly finding: LedgerFinding }
  /** Settled, but the work after it failed and will be retried. */
  | { readonly kind: 'retrying'; readonly cause: unknown }
  | { readonly kind: 'fulfilled' }
  /** The reservation store failed after settlement, when nothing may block. */
  | { readonly kind: 'store_failed'; readonly cause: unknown }
)

/** The part of Fastify's logger that the gate uses. */
type Logger = Readonly<Record<'info' | 'warn', (fields: object, message: string) => void>>

/**
 * Logs one event: `info` for a change of state, `warn` for a refusal or a retry. The request's id uses Fastify's name for
 * it, `reqId`, so that one id finds every line about a payment. `amount` is in base units. Nothing in a line is secret:
 * id, payer and amount are public on the ledger.
 */
export function logGateEvent(event: GateEvent, logger: Logger | undefined): void {
  const { id: paymentId, payer, amount } = event.payment
  const fields = { reqId: event.requestId, paymentId, payer, amount: amount.toString() }
  switch (event.kind) {
    case 'settled':
      return logger?.info({ ...fields, transaction: event.settlement.transaction }, event.kind)
    case 'fulfilled':
      return logger?.info(fields, event.kind)
    case 'found': {
      const { finding } = event
      const transaction = finding.kind === 'landed' ? { transaction: finding.transaction } : {}
      return logger?.info({ ...fields, finding: finding.kind, ...transaction }, event.kind)
    }
    case 'refused':
      return logger?.warn({ ...fields, reason: event.reason }, event.kind)
    case 'in_doubt':
    case 'retrying':
    case 'store_failed':
      return logger?.warn({ ...fields, err: event.cause }, event.kind)
    default:
      return event satisfies never
  }
}

/** The same scheme, reporting the seconds that each verification takes, failures included. */
export function timedScheme(
  scheme: PaymentScheme,
  watch: { readonly nowMs: () => number; readonly hear: (seconds: number) => void },
): PaymentScheme {
  return {
    ...scheme,
    async verify(payload, requirement) {
      const startedMs = watch.nowMs()
      try {
        return await scheme.verify(payload, requirement)
      } finally {
        watch.hear((watch.nowMs() - startedMs) / 1_000)
      }
    },
  }
}

import type { Settlement, VerifiedPayment } from '../payment.ts'
import type { LedgerFinding } from '../schemes/payment-scheme.ts'

/** What the gate did, for logs and metrics. Carries no header and no answer. */
export type GateEvent = {
  readonly payment: VerifiedPayment
  /**
   * The `requestId` of the job that brought the payment in flight, in the background too; absent where it gave none, and
   * for a delivery that could not be noted, since the payment is no longer in flight by then.
   */
  readonly requestId?: string
} & (
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  /** A definite refusal: nothing was paid. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Whether the payment landed is not known; the ledger is being asked. */
  | { readonly kind: 'in_doubt'; readonly cause: unknown }
  | { readonly kind: 'found'; readonly finding: LedgerFinding }
  /** Settled, but the work after it failed and will be tried again. */
  | { readonly kind: 'retrying'; readonly cause: unknown }
  | { readonly kind: 'fulfilled' }
  /** The reservation store failed after settlement, where nothing may block. */
  | { readonly kind: 'store_failed'; readonly cause: unknown }
)

/** As much of Fastify's logger as is written to. */
type Logger = Readonly<Record<'info' | 'warn', (fields: object, message: string) => void>>

/**
 * Writes what the gate did as one line: `info` where a state changed, `warn` where something is refused or tried again.
 * The request's id stands under Fastify's name for it, `reqId`, so that one id finds every line of a payment. `amount`
 * is in base units. Nothing in a line is secret: id, payer and amount are public on the ledger.
 */
export function logGateEvent(event: GateEvent, logger: Logger | undefined): void {
  const { id: paymentId, payer, amount } = event.payment
  const fields = { reqId: event.requestId, paymentId, payer, amount: amount.toString() }
  switch (event.kind) {
    case 'settled':
      logger?.info({ ...fields, transaction: event.settlement.transaction }, event.kind)
      return
    case 'fulfilled':
      logger?.info(fields, event.kind)
      return
    case 'found': {
      const { finding } = event
      const transaction = finding.kind === 'landed' ? { transaction: finding.transaction } : {}
      logger?.info({ ...fields, finding: finding.kind, ...transaction }, event.kind)
      return
    }
    case 'refused':
      logger?.warn({ ...fields, reason: event.reason }, event.kind)
      return
    case 'in_doubt':
    case 'retrying':
    case 'store_failed':
      logger?.warn({ ...fields, err: event.cause }, event.kind)
  }
}

import type { FastifyBaseLogger } from 'fastify'
import type { GateEvent } from '../gate/gate-event.ts'

/**
 * Writes what the gate did as one line: `info` where a state changed, `warn` where something is refused or tried again.
 * The request's id stands under Fastify's name for it, `reqId`, so that one id finds a payment's every line. `amount` is
 * in base units. Nothing in a line is secret: id, payer and amount are public on the ledger.
 */
export function logGateEvent(event: GateEvent, logger: FastifyBaseLogger | undefined): void {
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

import type { LedgerFinding, VerifiedPayment } from '../payment-scheme.ts'
import { type LedgerRecord, netByAccount } from './ledger-record.ts'
import type { MirrorNode } from './mirror-node.ts'

/** How long after its validity a transaction without a record is held to have never come (X8). */
export const NEVER_AFTER_SECONDS = 30

/**
 * Looks a payment up on the ledger (X8). `landed` only where the record's transfers are the payment's own: somebody
 * else's transaction under the same id means that this one can no longer succeed. Throws LedgerUnavailable.
 */
export async function findHederaPayment(
  payment: VerifiedPayment,
  world: {
    readonly mirror: Pick<MirrorNode, 'transaction' | 'latestConsensusSeconds'>
    readonly nowSeconds: number
  },
): Promise<LedgerFinding> {
  const { mirror, nowSeconds } = world
  const neverAtSeconds = payment.validUntilSeconds + NEVER_AFTER_SECONDS
  // The node's progress is read first: a record that it had by then cannot be missing from the second answer.
  const readUpToSeconds = nowSeconds > neverAtSeconds ? await mirror.latestConsensusSeconds() : 0
  const records = (await mirror.transaction(payment.nonce)).filter(
    (record) => record.nonce === 0 && !record.isScheduled,
  )
  const success = records.find((record) => record.result === 'SUCCESS')
  if (success !== undefined) {
    return isRecordOf(success, payment)
      ? {
          kind: 'landed',
          transaction: success.transactionId,
          consensusSeconds: success.consensusSeconds,
        }
      : { kind: 'failed', result: 'OTHER_TRANSACTION' }
  }
  const failure = records.find((record) => record.result !== 'DUPLICATE_TRANSACTION')
  if (failure !== undefined) return { kind: 'failed', result: failure.result }
  const isNever = records.length === 0 && readUpToSeconds > neverAtSeconds
  return isNever ? { kind: 'never' } : { kind: 'unknown' }
}

function isRecordOf(record: LedgerRecord, payment: VerifiedPayment): boolean {
  const net = netByAccount(record)
  return (
    net.get(payment.payTo) === payment.amount &&
    net.get(payment.payer) === -payment.amount &&
    record.memo === payment.memo
  )
}

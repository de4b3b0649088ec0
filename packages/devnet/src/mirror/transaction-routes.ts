import type { FastifyInstance } from 'fastify'
import { completeTransfers } from '../ledger/complete-transfers.ts'
import { entityId, entityNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, formatTransactionId, type TransactionRecord } from '../ledger/records.ts'
import {
  BY_TIME,
  invalidParameter,
  isVisible,
  type MirrorQuery,
  type MirrorRequest,
  notFound,
  pageOf,
  type Range,
  timesIn,
  valueOf,
  wordOf,
} from './mirror-query.ts'

/** `/api/v1/transactions` and `/api/v1/transactions/{id}`. */
export function addTransactionRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<MirrorRequest>('/api/v1/transactions', async (request) => {
    const filter = readFilter(request.query)
    const found = await select(ledger, filter, timesIn(request.query))
    const { page, links } = pageOf(request, found, BY_TIME)
    await completeTransfers(ledger, page)
    return { transactions: page.map(toMirrorTransaction), links }
  })

  app.get<MirrorRequest>('/api/v1/transactions/:id', async ({ params, query }) => {
    const id = readTransactionId(params.id, 'transactionId')
    const nonce = valueOf(query, 'nonce')
    const scheduled = valueOf(query, 'scheduled')
    const asked = ledger.records
      .byTransactionId(id)
      .filter(
        (record) =>
          isVisible(ledger, record.consensusNs) &&
          (nonce === undefined || Number(nonce) === 0) &&
          (scheduled === undefined || String(record.isScheduled) === scheduled),
      )
    if (asked.length === 0) throw notFound()
    await completeTransfers(ledger, asked)
    return { transactions: asked.map(toMirrorTransaction) }
  })
}

type Filter = ReturnType<typeof readFilter>

function readFilter(query: MirrorQuery) {
  const account = valueOf(query, 'account.id')
  const number = account === undefined ? undefined : entityNumber(account.replace(/^eq:/, ''))
  if (account !== undefined && number === undefined) throw invalidParameter('account.id')
  const name = valueOf(query, 'transactiontype')?.toUpperCase()
  if (name !== undefined && !/^[A-Z]+$/.test(name)) throw invalidParameter('transactiontype')
  return {
    account: number === undefined ? undefined : entityId(number),
    direction: wordOf(query, 'type', ['credit', 'debit']),
    result: wordOf(query, 'result', ['success', 'fail']),
    name,
  }
}

/** The visible records of a range that the filter accepts, ascending. */
async function select(ledger: Ledger, filter: Filter, range: Range): Promise<TransactionRecord[]> {
  const { account, direction, name, result } = filter
  const candidates = ledger.records
    .between(range)
    .filter(({ consensusNs }) => isVisible(ledger, consensusNs))
    .filter((record) => name === undefined || record.name === name)
    .filter((one) => result === undefined || (result === 'success') === (one.result === 'SUCCESS'))
  if (account === undefined) return candidates
  // Only a trace shows whom a contract paid, so an account's list may have to read all traces.
  await completeTransfers(ledger, candidates)
  return candidates.filter(({ transfers = [] }) =>
    transfers.some(
      (transfer) =>
        transfer.account === account &&
        (direction === undefined || (direction === 'credit') === transfer.amountTinybar > 0n),
    ),
  )
}

/** A record as shown by `/api/v1/transactions`. */
function toMirrorTransaction(record: TransactionRecord): { [name: string]: unknown } {
  return {
    batch_key: null,
    bytes: null,
    charged_tx_fee: Number(record.chargedFeeTinybar),
    consensus_timestamp: formatTimestamp(record.consensusNs),
    entity_id: record.entityId,
    max_custom_fees: [],
    max_fee: record.maxFeeTinybar.toString(),
    memo_base64: Buffer.from(record.memo).toString('base64'),
    name: record.name,
    nft_transfers: [],
    node: record.node,
    nonce: 0,
    parent_consensus_timestamp: null,
    result: record.result,
    scheduled: record.isScheduled,
    staking_reward_transfers: [],
    token_transfers: [],
    transaction_hash: Buffer.from(record.hash).toString('base64'),
    transaction_id: formatTransactionId(record.id),
    transfers: (record.transfers ?? []).map(({ account, amountTinybar, isApproval }) => ({
      account,
      amount: Number(amountTinybar),
      is_approval: isApproval,
    })),
    valid_duration_seconds:
      record.validDurationSeconds === null ? null : String(record.validDurationSeconds),
    valid_start_timestamp: formatTimestamp(record.id.validStartNs),
  }
}

/**
 * The transaction id in a path, in the form used by records: `0.0.2-1700000000-000000001`. Leading zeros of the
 * nanoseconds may be left out. @throws MirrorRefusal that names `parameter`
 */
export function readTransactionId(text: string, parameter: string): string {
  const match = /^(0\.0\.\d{1,15}-\d{1,19})-(\d{1,9})$/.exec(text)
  if (match?.[2] === undefined) throw invalidParameter(parameter)
  return `${match[1]}-${match[2].padStart(9, '0')}`
}

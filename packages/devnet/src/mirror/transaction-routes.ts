import type { FastifyInstance } from 'fastify'
import { completeTransfers } from '../ledger/complete-transfers.ts'
import { entityId, entityNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, formatTransactionId, type TransactionRecord } from '../ledger/records.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import {
  BY_TIME,
  cutPage,
  EVERYTHING,
  invalidParameter,
  isVisible,
  isWithin,
  type ListRequest,
  notFound,
  type Range,
} from './mirror-query.ts'

const { flag, ids, paging, times, transactionType, whole, word } = PARAMETERS

/** `/api/v1/transactions` and `/api/v1/transactions/{id}`. */
export function addTransactionRoutes(app: FastifyInstance, ledger: Ledger): void {
  const listed = {
    ...paging,
    'account.id': ids,
    result: word('success', 'fail'),
    timestamp: times,
    transactiontype: transactionType,
    type: word('credit', 'debit'),
  }
  addMirrorRoute(app, { path: 'transactions', parameters: listed }, async ({ query, list }) => {
    const { 'account.id': accounts, result, transactiontype: name, type: direction } = query
    const filter = { accounts, direction, name, range: query.timestamp, result }
    return pageOfTransactions(ledger, filter, list)
  })

  const byId = { path: 'transactions/:id', parameters: { nonce: whole, scheduled: flag } }
  addMirrorRoute(app, byId, async ({ params, query: { nonce, scheduled } }) => {
    const id = readTransactionId(params.id, 'transactionId')
    const matching = ledger.records
      .byTransactionId(id)
      .filter(
        (record) =>
          isVisible(ledger, record.consensusNs) &&
          (nonce === undefined || nonce === 0n) &&
          (scheduled === undefined || record.isScheduled === scheduled),
      )
    if (matching.length === 0) throw notFound()
    await completeTransfers(ledger, matching)
    return { transactions: matching.map(toMirrorTransaction) }
  })
}

type TransactionFilter = {
  range: Range
  /** Numbers of accounts that gained or lost something. */
  accounts: Range
  direction?: 'credit' | 'debit' | undefined
  name?: string | undefined
  result?: 'success' | 'fail' | undefined
}

/** A page of the transactions that a filter accepts. */
export async function pageOfTransactions(
  ledger: Ledger,
  filter: TransactionFilter,
  list: ListRequest,
) {
  const { page, links } = cutPage(list, await select(ledger, filter), BY_TIME)
  await completeTransfers(ledger, page)
  return { transactions: page.map(toMirrorTransaction), links }
}

/** The visible records that the filter accepts, ascending. */
async function select(ledger: Ledger, filter: TransactionFilter): Promise<TransactionRecord[]> {
  const { accounts, direction, name, range, result } = filter
  const candidates = ledger.records
    .between(range)
    .filter(({ consensusNs }) => isWithin(range, consensusNs) && isVisible(ledger, consensusNs))
    .filter((record) => name === undefined || record.name === name)
    .filter((row) => result === undefined || (result === 'success') === (row.result === 'SUCCESS'))
  if (accounts === EVERYTHING) return candidates
  // Only a trace shows whom a contract paid, so an account's list may have to read all traces.
  await completeTransfers(ledger, candidates)
  return candidates.filter(({ transfers = [], tokenTransfers = [] }) =>
    [
      ...transfers.map(({ account, amountTinybar: amount }) => ({ account, amount })),
      ...tokenTransfers,
    ].some(
      ({ account, amount }) =>
        isWithin(accounts, BigInt(entityNumber(account) ?? 0)) &&
        (direction === undefined || (direction === 'credit') === amount > 0n),
    ),
  )
}

/** A record as shown by `/api/v1/transactions`. */
function toMirrorTransaction(record: TransactionRecord): { [name: string]: unknown } {
  return {
    assessed_custom_fees: (record.customFees ?? []).map((fee) => ({
      amount: Number(fee.amount),
      collector_account_id: fee.collector.id,
      effective_payer_account_ids: fee.payers.map(({ id }) => id),
      token_id: fee.token === undefined ? null : entityId(fee.token),
    })),
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
    token_transfers: (record.tokenTransfers ?? []).map(
      ({ token, account, amount, isApproval }) => ({
        account,
        amount: Number(amount),
        is_approval: isApproval,
        token_id: token,
      }),
    ),
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

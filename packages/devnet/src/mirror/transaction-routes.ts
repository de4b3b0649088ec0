import type { FastifyInstance } from 'fastify'
import { completeTransfers } from '../ledger/complete-transfers.ts'
import { entityNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, parseTimestamp } from '../ledger/timestamp.ts'
import type { TransactionRecord } from '../ledger/transaction-record.ts'
import {
  invalidParameter,
  type MirrorQuery,
  nextLink,
  notFound,
  readLimit,
  readOrder,
  readRange,
  valueOf,
} from './mirror-query.ts'
import { isVisible, toMirrorTransaction } from './mirror-view.ts'
import { readTransactionId } from './read-transaction-id.ts'

type Filter = {
  account: string | undefined
  direction: 'credit' | 'debit' | undefined
  name: string | undefined
  result: 'success' | 'fail' | undefined
}

/** `/api/v1/transactions` and `/api/v1/transactions/{id}`. */
export function addTransactionRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<{ Querystring: MirrorQuery }>('/api/v1/transactions', async ({ query }) => {
    const limit = readLimit(query)
    const order = readOrder(query, 'desc')
    const filter = readFilter(query)
    const range = readRange({ query, name: 'timestamp', parse: parseTimestamp })
    const found = await select(ledger, { filter, order, limit, range })
    const last = found.length < limit ? undefined : found.at(-1)
    return {
      transactions: found.map(toMirrorTransaction),
      links: {
        next: nextLink({
          path: '/api/v1/transactions',
          query,
          name: 'timestamp',
          order,
          last: last === undefined ? undefined : formatTimestamp(last.consensusNs),
        }),
      },
    }
  })

  app.get<{ Params: { id: string }; Querystring: MirrorQuery }>(
    '/api/v1/transactions/:id',
    async ({ params, query }) => {
      const id = readTransactionId(params.id, 'transactionId')
      const nonce = valueOf(query, 'nonce')
      const scheduled = valueOf(query, 'scheduled')
      const asked = ledger.records
        .byTransactionId(id)
        .filter(
          (record) =>
            isVisible(ledger, record.recordedAtMs) &&
            (nonce === undefined || record.id.nonce === Number(nonce)) &&
            (scheduled === undefined || String(record.id.scheduled) === scheduled),
        )
      if (asked.length === 0) throw notFound()
      await completeTransfers(ledger, asked)
      return { transactions: asked.map(toMirrorTransaction) }
    },
  )
}

function readFilter(query: MirrorQuery): Filter {
  const account = valueOf(query, 'account.id')
  const number = account === undefined ? undefined : entityNumber(account.replace(/^eq:/, ''))
  if (account !== undefined && number === undefined) throw invalidParameter('account.id')
  const direction = valueOf(query, 'type')?.toLowerCase()
  if (direction !== undefined && direction !== 'credit' && direction !== 'debit') {
    throw invalidParameter('type')
  }
  const result = valueOf(query, 'result')?.toLowerCase()
  if (result !== undefined && result !== 'success' && result !== 'fail') {
    throw invalidParameter('result')
  }
  const name = valueOf(query, 'transactiontype')?.toUpperCase()
  if (name !== undefined && !/^[A-Z]+$/.test(name)) throw invalidParameter('transactiontype')
  return { account: number === undefined ? undefined : `0.0.${number}`, direction, name, result }
}

async function select(
  ledger: Ledger,
  options: {
    filter: Filter
    order: 'asc' | 'desc'
    limit: number
    range: { from: bigint; to: bigint }
  },
): Promise<TransactionRecord[]> {
  const { filter, order, limit, range } = options
  const candidates = ledger.records
    .between({ fromNs: range.from, toNs: range.to })
    .filter((record) => isVisible(ledger, record.recordedAtMs) && matchesHead(filter, record))
  if (order === 'desc') candidates.reverse()
  if (filter.account === undefined) {
    const page = candidates.slice(0, limit)
    await completeTransfers(ledger, page)
    return page
  }
  // Whom a contract paid is known only after its trace is read, so an account's list may have to read them all.
  await completeTransfers(ledger, candidates)
  return candidates.filter((record) => matchesAccount(filter, record)).slice(0, limit)
}

function matchesHead({ name, result }: Filter, record: TransactionRecord): boolean {
  const isSuccess = record.result === 'SUCCESS'
  return (
    (name === undefined || record.name === name) &&
    (result === undefined || (result === 'success') === isSuccess)
  )
}

function matchesAccount({ account, direction }: Filter, record: TransactionRecord): boolean {
  return (record.transfers ?? []).some(
    (transfer) =>
      transfer.account === account &&
      (direction === undefined || (direction === 'credit') === transfer.amountTinybar > 0n),
  )
}

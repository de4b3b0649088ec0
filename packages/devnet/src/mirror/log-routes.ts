import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { findEntity } from './account-routes.ts'
import { toMirrorBlockHash } from './block-routes.ts'
import { networkLogs, visibleTransactions } from './contract-routes.ts'
import {
  BY_TIME,
  invalidParameter,
  type ListRequest,
  type MirrorQuery,
  type MirrorRequest,
  pageOf,
  parseWhole,
  readRange,
  timesIn,
  valuesOf,
} from './mirror-query.ts'

const TOPICS = ['topic0', 'topic1', 'topic2', 'topic3'] as const

/** `/api/v1/contracts/{id}/results/logs` and `/api/v1/contracts/results/logs`. */
export function addLogRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<MirrorRequest>('/api/v1/contracts/results/logs', async (request) =>
    logPage(ledger, request, undefined),
  )
  app.get<MirrorRequest>('/api/v1/contracts/:id/results/logs', async (request) => {
    const { address } = await findEntity(ledger, request.params.id)
    return logPage(ledger, request, address)
  })
}

function logPage(
  ledger: Ledger,
  request: ListRequest,
  address: Address | undefined,
): { [name: string]: unknown } {
  const { query } = request
  const range = timesIn(query)
  const indexes = readRange(query, 'index', parseWhole)
  const topics = TOPICS.map((name) => readTopics(query, name))
  const found = visibleTransactions(ledger, range)
    .flatMap((transaction) =>
      networkLogs(transaction).map((log, index) => ({ transaction, log, index })),
    )
    .filter(({ transaction, index }) => {
      // A log's position is its time and its index: bounds on the index apply at the bounds of the time.
      const at = transaction.consensusNs
      const isAfterStart = at > range.from || BigInt(index) >= indexes.from
      return isAfterStart && (at < range.to || BigInt(index) <= indexes.to)
    })
    .filter(({ log }) => address === undefined || log.address.toLowerCase() === address)
    .filter(({ log }) =>
      topics.every((wanted, at) => wanted.length === 0 || wanted.includes(log.topics[at] ?? '')),
    )
  const { page, links } = pageOf(request, found, {
    ...BY_TIME,
    keyOf: ({ transaction }) => BY_TIME.keyOf(transaction),
    indexOf: ({ index }) => index,
  })
  return {
    logs: page.map(({ transaction, log, index }) => ({
      address: log.address,
      block_hash: toMirrorBlockHash(transaction.receipt.blockHash),
      block_number: transaction.blockNumber,
      bloom: '0x',
      contract_id: ledger.accounts.idOf(log.address),
      data: log.data,
      index,
      root_contract_id: ledger.accounts.idOf(transaction.receipt.to ?? log.address),
      timestamp: formatTimestamp(transaction.consensusNs),
      topics: log.topics,
      transaction_hash: transaction.hash,
      transaction_index: Number(transaction.receipt.transactionIndex),
    })),
    links,
  }
}

function readTopics(query: MirrorQuery, name: string): string[] {
  return valuesOf(query, name).map((text) => {
    const digits = /^(?:0x)?([0-9a-fA-F]{1,64})$/.exec(text)?.[1]
    if (digits === undefined) throw invalidParameter(name)
    return `0x${digits.toLowerCase().padStart(64, '0')}`
  })
}

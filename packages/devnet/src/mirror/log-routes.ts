import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { entityNumber, longZeroAddress, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { computeBloom, networkLogs } from '../ledger/network-logs.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { findEntity } from './account-routes.ts'
import { toMirrorBlockHash } from './block-routes.ts'
import { visibleTransactions } from './contract-routes.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import { BY_TIME, cutPage, type ListRequest, type Range } from './mirror-query.ts'

const { fourTopics, hash32, paging, times, wholes } = PARAMETERS

const LOG_LIST = { ...paging, index: wholes, timestamp: times, ...fourTopics }

/** `/api/v1/contracts/{id}/results/logs` and `/api/v1/contracts/results/logs`. */
export function addLogRoutes(app: FastifyInstance, ledger: Ledger): void {
  const parameters = { ...LOG_LIST, 'transaction.hash': hash32 }
  const ofAll = { path: 'contracts/results/logs', parameters }
  addMirrorRoute(app, ofAll, ({ query, list }) => logPage(ledger, query, list))
  const ofContract = { path: 'contracts/:id/results/logs', parameters: LOG_LIST }
  addMirrorRoute(app, ofContract, async ({ params, query, list }) => {
    const token = ledger.tokens.byNumber(entityNumber(params.id) ?? longZeroNumber(params.id) ?? 0)
    const address = token
      ? longZeroAddress(token.number)
      : (await findEntity(ledger, params.id)).address
    return logPage(ledger, { ...query, address }, list)
  })
}

type LogFilter = {
  address?: Address
  index: Range
  timestamp: Range
  'transaction.hash'?: string | undefined
  topic0: readonly string[]
  topic1: readonly string[]
  topic2: readonly string[]
  topic3: readonly string[]
}

function logPage(
  ledger: Ledger,
  filter: LogFilter,
  list: ListRequest,
): { [name: string]: unknown } {
  const { address, index: indexes, timestamp: range, 'transaction.hash': wantedHash } = filter
  const topics = [filter.topic0, filter.topic1, filter.topic2, filter.topic3]
  const found = visibleTransactions(ledger, range)
    .filter(({ hash }) => wantedHash === undefined || hash === wantedHash)
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
  const { page, links } = cutPage(list, found, {
    ...BY_TIME,
    pageKey: ({ transaction }) => BY_TIME.pageKey(transaction),
    indexOf: ({ index }) => index,
  })
  return {
    logs: page.map(({ transaction, log, index }) => ({
      address: log.address,
      block_hash: toMirrorBlockHash(transaction.receipt.blockHash),
      block_number: transaction.blockNumber,
      bloom: computeBloom([log]),
      contract_id: ledger.idAt(log.address),
      data: log.data,
      index,
      root_contract_id: ledger.idAt(transaction.receipt.to ?? log.address),
      timestamp: formatTimestamp(transaction.consensusNs),
      topics: log.topics,
      transaction_hash: transaction.hash,
      transaction_index: Number(transaction.receipt.transactionIndex),
    })),
    links,
  }
}

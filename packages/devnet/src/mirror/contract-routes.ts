import type { FastifyInstance } from 'fastify'
import type { EvmTransaction } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, parseTimestamp } from '../ledger/timestamp.ts'
import { findEntity } from './account-routes.ts'
import { toContractResult, toContractResultDetails } from './contract-result.ts'
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
import { isVisible } from './mirror-view.ts'
import { readTransactionId } from './read-transaction-id.ts'

/** `/api/v1/contracts/{id}`, `…/{id}/results`, `/api/v1/contracts/results` and `…/results/{hash or transaction id}`. */
export function addContractRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<{ Params: { id: string } }>('/api/v1/contracts/:id', async ({ params }) => {
    const entity = await findEntity(ledger, params.id)
    const runtime = await ledger.anvil.call('eth_getCode', [entity.address, 'latest'])
    // What a contract made and somebody paid was taken for an account until its code is seen.
    if (runtime !== '0x') entity.kind = 'contract'
    if (entity.kind !== 'contract') throw notFound()
    const created = ledger.records
      .between({ fromNs: entity.createdNs, toNs: entity.createdNs })
      .map(({ evm }) => (evm === undefined ? undefined : ledger.transactions.byHash(evm.hash)))
      .find((transaction) => transaction?.receipt.contractAddress === entity.address)
    return {
      admin_key: null,
      auto_renew_account: null,
      auto_renew_period: 7_776_000,
      bytecode: created?.envelope.data ?? null,
      contract_id: entity.id,
      created_timestamp: formatTimestamp(entity.createdNs),
      deleted: false,
      evm_address: entity.address,
      expiration_timestamp: null,
      file_id: null,
      max_automatic_token_associations: 0,
      memo: entity.memo,
      nonce: 1,
      obtainer_id: null,
      permanent_removal: null,
      proxy_account_id: null,
      runtime_bytecode: runtime,
      timestamp: { from: formatTimestamp(entity.createdNs), to: null },
    }
  })

  app.get<{ Params: { id: string }; Querystring: MirrorQuery }>(
    '/api/v1/contracts/:id/results',
    async ({ params, query }) => {
      const { address } = await findEntity(ledger, params.id)
      const path = `/api/v1/contracts/${params.id}/results`
      return resultPage(ledger, {
        query,
        path,
        isWanted: ({ receipt }) => (receipt.contractAddress ?? receipt.to) === address,
      })
    },
  )

  app.get<{ Querystring: MirrorQuery }>('/api/v1/contracts/results', async ({ query }) => {
    const from = valueOf(query, 'from')
    const sender = from === undefined ? undefined : await findEntity(ledger, from)
    const block = valueOf(query, 'block.number')
    if (block !== undefined && !/^\d{1,15}$/.test(block)) throw invalidParameter('block.number')
    return resultPage(ledger, {
      query,
      path: '/api/v1/contracts/results',
      isWanted: (transaction) =>
        (sender === undefined || transaction.from === sender.address) &&
        (block === undefined || transaction.blockNumber === Number(block)),
    })
  })

  app.get<{ Params: { id: string } }>('/api/v1/contracts/results/:id', async ({ params }) => {
    const transaction = findResult(ledger, params.id)
    if (transaction === undefined || !isVisible(ledger, transaction.recordedAtMs)) throw notFound()
    return toContractResultDetails(ledger, transaction)
  })
}

function findResult(ledger: Ledger, id: string): EvmTransaction | undefined {
  if (/^(?:0x)?[0-9a-f]{64}$/i.test(id)) {
    return ledger.transactions.byHash(id.startsWith('0x') ? id : `0x${id}`)
  }
  const transactionId = readTransactionId(id, 'transactionIdOrHash')
  const evm = ledger.records.byTransactionId(transactionId)[0]?.evm
  return evm === undefined ? undefined : ledger.transactions.byHash(evm.hash)
}

function resultPage(
  ledger: Ledger,
  options: {
    query: MirrorQuery
    path: string
    isWanted: (transaction: EvmTransaction) => boolean
  },
): { [name: string]: unknown } {
  const { query, path } = options
  const limit = readLimit(query)
  const order = readOrder(query, 'desc')
  const range = readRange({ query, name: 'timestamp', parse: parseTimestamp })
  const found = ledger.records
    .between({ fromNs: range.from, toNs: range.to })
    .flatMap(({ evm }) => (evm === undefined ? [] : [ledger.transactions.byHash(evm.hash)]))
    .filter((transaction) => transaction !== undefined)
    .filter(({ recordedAtMs }) => isVisible(ledger, recordedAtMs))
    .filter(options.isWanted)
  if (order === 'desc') found.reverse()
  const page = found.slice(0, limit)
  const end = page.length < limit ? undefined : page.at(-1)
  const last = end === undefined ? undefined : formatTimestamp(end.consensusNs)
  return {
    results: page.map((transaction) => toContractResult(ledger, transaction)),
    links: { next: nextLink({ path, query, name: 'timestamp', order, last }) },
  }
}

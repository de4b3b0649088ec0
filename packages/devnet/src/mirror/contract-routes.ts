import type { FastifyInstance } from 'fastify'
import { type Address, type Hex, numberToHex, stringToHex } from 'viem'
import type { Entity } from '../ledger/account-registry.ts'
import { WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID } from '../ledger/network.ts'
import { computeBloom, networkLogs } from '../ledger/network-logs.ts'
import { formatTimestamp, parseTimestamp } from '../ledger/records.ts'
import type { EvmTransaction, RefusedTransaction } from '../ledger/transaction-index.ts'
import { findEntity, visibleEntities } from './account-routes.ts'
import { toMirrorBlockHash } from './block-routes.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import {
  BY_TIME,
  cutPage,
  invalidParameter,
  isVisible,
  isWithin,
  type ListRequest,
  notFound,
  type Range,
} from './mirror-query.ts'
import { readTransactionId } from './transaction-routes.ts'

const { anEntity, flag, hash32, ids, paging, times, whole, wholes } = PARAMETERS

/** What a list of results can be asked for. */
const RESULT_LIST = {
  ...paging,
  'block.hash': hash32,
  'block.number': wholes,
  from: anEntity,
  hbar: flag,
  internal: flag,
  timestamp: times,
  'transaction.index': whole,
}

/** `/api/v1/contracts`, `…/{id}`, `…/{id}/results`, `…/{id}/results/{timestamp}`, `…/results` and `…/results/{hash or id}`. */
export function addContractRoutes(app: FastifyInstance, ledger: Ledger): void {
  const listed = { path: 'contracts', parameters: { ...paging, 'contract.id': ids } }
  addMirrorRoute(app, listed, async ({ query, list }) => {
    const rows = visibleEntities(ledger, query['contract.id'])
    const contracts = rows.filter(({ kind }) => kind === 'contract')
    const { page, links } = cutPage(list, contracts, {
      name: 'contract.id',
      order: 'desc',
      pageKey: ({ id }) => id,
    })
    return { contracts: page.map((row) => toMirrorContract(ledger, row)), links }
  })

  const single = { path: 'contracts/:id', parameters: { timestamp: times } }
  addMirrorRoute(app, single, async ({ params, query }) => {
    const contract = await findEntity(ledger, params.id)
    const runtime = await ledger.anvil.call('eth_getCode', [contract.address, 'latest'])
    // An address that was paid before its code was seen is registered as an account.
    if (runtime !== '0x') contract.kind = 'contract'
    if (contract.kind !== 'contract' || contract.createdNs > query.timestamp.to) throw notFound()
    const created = ledger.records
      .between({ from: contract.createdNs, to: contract.createdNs })
      .map(({ evm }) => (evm === undefined ? undefined : ledger.transactions.byHash(evm.hash)))
      .find((transaction) => transaction?.receipt.contractAddress === contract.address)
    return {
      ...toMirrorContract(ledger, contract),
      bytecode: created?.envelope.data ?? null,
      runtime_bytecode: runtime,
    }
  })

  const ofContract = { path: 'contracts/:id/results', parameters: RESULT_LIST }
  addMirrorRoute(app, ofContract, async ({ params, query, list }) => {
    const { address } = await findEntity(ledger, params.id)
    return resultPage(ledger, { ...query, to: address }, list)
  })

  const ofAll = { path: 'contracts/results', parameters: RESULT_LIST }
  addMirrorRoute(app, ofAll, ({ query, list }) => resultPage(ledger, query, list))

  const byId = { path: 'contracts/results/:id', parameters: { hbar: flag, nonce: whole } }
  addMirrorRoute(app, byId, ({ params, query: { hbar, nonce = 0n } }) => {
    const refused = ledger.transactions.refusedByHash(params.id)
    if (refused !== undefined && isVisible(ledger, refused.consensusNs)) {
      return { ...toRefusedResult(ledger, refused, hbar), logs: [], state_changes: [] }
    }
    return details(ledger, nonce === 0n ? findResult(ledger, params.id) : undefined, hbar)
  })

  const byTime = { path: 'contracts/:id/results/:at', parameters: { hbar: flag } }
  addMirrorRoute(app, byTime, async ({ params, query }) => {
    const at = parseTimestamp(params.at)
    if (at === undefined) throw invalidParameter('timestamp')
    const { address } = await findEntity(ledger, params.id)
    const [found] = visibleTransactions(ledger, { from: at, to: at })
    const isInvolved =
      found !== undefined &&
      (findTarget(found) === address ||
        found.receipt.logs.some((log) => log.address.toLowerCase() === address))
    return details(ledger, isInvolved ? found : undefined, query.hbar)
  })
}

/** A contract as shown in lists. */
function toMirrorContract(ledger: Ledger, contract: Entity): { [name: string]: unknown } {
  return {
    admin_key: null,
    auto_renew_account: null,
    auto_renew_period: 7_776_000,
    contract_id: contract.id,
    created_timestamp: formatTimestamp(contract.createdNs),
    deleted: false,
    evm_address: contract.address,
    expiration_timestamp: null,
    file_id: null,
    max_automatic_token_associations: 0,
    memo: contract.memo,
    nonce: 1,
    obtainer_id: null,
    permanent_removal: null,
    proxy_account_id: null,
    timestamp: { from: formatTimestamp(contract.createdNs), to: null },
  }
}

/** A result with its logs. @throws MirrorRefusal if there is none, or it is not visible yet */
function details(
  ledger: Ledger,
  transaction: EvmTransaction | undefined,
  isInTinybar: boolean | undefined,
): { [name: string]: unknown } {
  if (transaction === undefined || transaction.isSynthetic === true) throw notFound()
  if (!isVisible(ledger, transaction.consensusNs)) throw notFound()
  const logs = networkLogs(transaction).map((log, index) => ({
    address: log.address,
    bloom: computeBloom([log]),
    contract_id: ledger.idAt(log.address),
    data: log.data,
    index,
    topics: log.topics,
  }))
  return { ...toContractResult(ledger, transaction, isInTinybar), logs, state_changes: [] }
}

/** The transaction that a path names by hash or by id. @throws MirrorRefusal */
export function findResult(ledger: Ledger, id: string): EvmTransaction | undefined {
  if (/^(?:0x)?[0-9a-f]{64}$/i.test(id)) {
    return ledger.transactions.byHash(id.startsWith('0x') ? id : `0x${id}`)
  }
  const transactionId = readTransactionId(id, 'transactionIdOrHash')
  const evm = ledger.records.byTransactionId(transactionId)[0]?.evm
  return evm === undefined ? undefined : ledger.transactions.byHash(evm.hash)
}

/** The EVM transactions of a range that are visible at the mirror node, ascending. */
export function visibleTransactions(ledger: Ledger, range: Range): EvmTransaction[] {
  return ledger.records
    .between(range)
    .flatMap(({ evm }) => (evm === undefined ? [] : [ledger.transactions.byHash(evm.hash)]))
    .filter((transaction) => transaction !== undefined)
    .filter(({ consensusNs }) => isWithin(range, consensusNs) && isVisible(ledger, consensusNs))
}

type ResultFilter = {
  'block.hash'?: string | undefined
  'block.number': Range
  from?: string | undefined
  hbar?: boolean | undefined
  internal?: boolean | undefined
  timestamp: Range
  to?: Address
  'transaction.index'?: bigint | undefined
}

async function resultPage(
  ledger: Ledger,
  filter: ResultFilter,
  list: ListRequest,
): Promise<{ [name: string]: unknown }> {
  const { from, to, internal = false, 'block.hash': block, 'transaction.index': index } = filter
  const sender = from === undefined ? undefined : await findEntity(ledger, from)
  const found = visibleTransactions(ledger, filter.timestamp).filter(
    (transaction) =>
      transaction.isSynthetic !== true &&
      (sender === undefined || transaction.from === sender.address) &&
      (to === undefined || findTarget(transaction) === to) &&
      // The network lists its own calls only where they are asked for.
      (internal || !transaction.isScheduled) &&
      (block === undefined || transaction.receipt.blockHash === block) &&
      isWithin(filter['block.number'], BigInt(transaction.blockNumber)) &&
      (index === undefined || BigInt(transaction.receipt.transactionIndex) === index),
  )
  const { page, links } = cutPage(list, found, BY_TIME)
  const results = page.map((transaction) => toContractResult(ledger, transaction, filter.hbar))
  return { results, links }
}

/** The contract that a transaction created or, otherwise, its recipient. */
function findTarget({ receipt }: EvmTransaction): Address | null {
  return receipt.contractAddress ?? receipt.to
}

/** An EVM transaction as listed by `/api/v1/contracts/results`: amount and prices all in tinybar, or all in weibar. */
function toContractResult(
  ledger: Ledger,
  transaction: EvmTransaction,
  isInTinybar = true,
): { [name: string]: unknown } {
  const weibarPerUnit = isInTinybar ? WEIBAR_PER_TINYBAR : 1n
  const price = (weibar: bigint | undefined): Hex | null =>
    weibar === undefined ? null : numberToHex(weibar / weibarPerUnit)
  const { receipt, envelope } = transaction
  const isSuccess = BigInt(receipt.status) === 1n
  const { haltReason, revertReason } = transaction
  const revertData = haltReason === undefined ? revertReason : undefined
  // Scheduled calls and what came as a contract transaction have no Ethereum envelope.
  const isEthereum = BigInt(envelope.r) !== 0n
  const target = findTarget(transaction)
  const created = ledger.accounts.findId(receipt.contractAddress ?? null)
  return {
    access_list:
      envelope.type === 0
        ? null
        : envelope.accessList.map(({ address, storageKeys }) => ({
            address,
            storage_keys: storageKeys,
          })),
    address: target,
    amount: toJsonNumber(envelope.valueWeibar / weibarPerUnit),
    block_gas_used: ledger.transactions
      .inBlock(transaction.blockNumber)
      .reduce((sum, row) => sum + Number(row.receipt.gasUsed), 0),
    block_hash: toMirrorBlockHash(receipt.blockHash),
    block_number: transaction.blockNumber,
    bloom: computeBloom(networkLogs(transaction)),
    call_result: transaction.returned ?? (isSuccess ? null : (revertData ?? '0x')),
    chain_id: numberToHex(CHAIN_ID),
    contract_id: ledger.idAt(target),
    created_contract_ids: created === null ? [] : [created],
    error_message: isSuccess ? null : (haltReason ?? revertReason ?? '0x'),
    failed_initcode: !isSuccess && envelope.to === null ? envelope.data : null,
    from: transaction.from,
    function_parameters: envelope.data,
    gas_consumed: Number(receipt.gasUsed),
    gas_limit: Number(envelope.gas),
    gas_price: price(envelope.gasPriceWeibar),
    gas_used: Number(receipt.gasUsed),
    hash: transaction.hash,
    max_fee_per_gas: price(envelope.maxFeePerGasWeibar),
    max_priority_fee_per_gas: price(envelope.maxPriorityFeePerGasWeibar),
    nonce: isEthereum ? envelope.nonce : null,
    r: isEthereum ? envelope.r : null,
    result: transaction.result,
    s: isEthereum ? envelope.s : null,
    status: isSuccess ? '0x1' : '0x0',
    timestamp: formatTimestamp(transaction.consensusNs),
    to: envelope.to,
    transaction_index: Number(receipt.transactionIndex),
    type: isEthereum ? envelope.type : null,
    v: isEthereum ? Number(envelope.v) : null,
  }
}

/** One that consensus refused: it never ran, and belongs to no block. */
function toRefusedResult(
  ledger: Ledger,
  refused: RefusedTransaction,
  isInTinybar: boolean | undefined,
): { [name: string]: unknown } {
  const { envelope, result } = refused
  const nothing = { logs: [], status: '0x0', gasUsed: '0x0', cumulativeGasUsed: '0x0' }
  const receipt = { ...nothing, blockHash: '0x', transactionIndex: '0x0', to: envelope.to }
  const stand = { ...refused, receipt, isScheduled: false, revertReason: stringToHex(result) }
  return {
    ...toContractResult(ledger, stand as unknown as EvmTransaction, isInTinybar),
    block_hash: '0x',
    block_number: null,
    transaction_index: null,
  }
}

/** A number written with all its digits: above 2^53 a JavaScript number would lose the last ones. */
function toJsonNumber(value: bigint): unknown {
  // TypeScript's library has no words for it yet.
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(value.toString())
}

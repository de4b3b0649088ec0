import type { FastifyInstance } from 'fastify'
import { type Address, type Hex, numberToHex } from 'viem'
import type { InnerLog } from '../ledger/evm.ts'
import { type EvmTransaction, WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID } from '../ledger/network.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { isNetworkLog } from '../rpc/outer-view.ts'
import { findEntity } from './account-routes.ts'
import { toMirrorBlockHash } from './block-routes.ts'
import {
  BY_TIME,
  invalidParameter,
  isVisible,
  type ListRequest,
  type MirrorRequest,
  notFound,
  pageOf,
  parseWhole,
  type Range,
  timesIn,
  valueOf,
} from './mirror-query.ts'
import { readTransactionId } from './transaction-routes.ts'

/** `/api/v1/contracts/{id}`, `…/{id}/results`, `/api/v1/contracts/results` and `…/results/{hash or transaction id}`. */
export function addContractRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<MirrorRequest>('/api/v1/contracts/:id', async ({ params }) => {
    const entity = await findEntity(ledger, params.id)
    const runtime = await ledger.anvil.call('eth_getCode', [entity.address, 'latest'])
    // An address that was paid before its code was seen is registered as an account.
    if (runtime !== '0x') entity.kind = 'contract'
    if (entity.kind !== 'contract') throw notFound()
    const created = ledger.records
      .between({ from: entity.createdNs, to: entity.createdNs })
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

  app.get<MirrorRequest>('/api/v1/contracts/:id/results', async (request) => {
    const { address } = await findEntity(ledger, request.params.id)
    return resultPage(ledger, request, (transaction) => targetOf(transaction) === address)
  })

  app.get<MirrorRequest>('/api/v1/contracts/results', async (request) => {
    const from = valueOf(request.query, 'from')
    const sender = from === undefined ? undefined : await findEntity(ledger, from)
    const block = valueOf(request.query, 'block.number')
    if (block !== undefined && parseWhole(block) === undefined) {
      throw invalidParameter('block.number')
    }
    return resultPage(
      ledger,
      request,
      (transaction) =>
        (sender === undefined || transaction.from === sender.address) &&
        (block === undefined || transaction.blockNumber === Number(block)),
    )
  })

  app.get<MirrorRequest>('/api/v1/contracts/results/:id', async ({ params }) => {
    const transaction = findResult(ledger, params.id)
    if (transaction === undefined || !isVisible(ledger, transaction.consensusNs)) throw notFound()
    const logs = networkLogs(transaction).map((log, index) => ({
      address: log.address,
      bloom: '0x',
      contract_id: ledger.accounts.idOf(log.address),
      data: log.data,
      index,
      topics: log.topics,
    }))
    return { ...toContractResult(ledger, transaction), logs, state_changes: [] }
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

/** The EVM transactions of a range that are visible at the mirror node, ascending. */
export function visibleTransactions(ledger: Ledger, range: Range): EvmTransaction[] {
  return ledger.records
    .between(range)
    .flatMap(({ evm }) => (evm === undefined ? [] : [ledger.transactions.byHash(evm.hash)]))
    .filter((transaction) => transaction !== undefined)
    .filter(({ consensusNs }) => isVisible(ledger, consensusNs))
}

function resultPage(
  ledger: Ledger,
  request: ListRequest,
  isWanted: (transaction: EvmTransaction) => boolean,
): { [name: string]: unknown } {
  const found = visibleTransactions(ledger, timesIn(request.query)).filter(isWanted)
  const { page, links } = pageOf(request, found, BY_TIME)
  return { results: page.map((transaction) => toContractResult(ledger, transaction)), links }
}

/** The contract that a transaction created or, otherwise, its recipient. */
function targetOf({ receipt }: EvmTransaction): Address | null {
  return receipt.contractAddress ?? receipt.to
}

/** An EVM transaction as listed by `/api/v1/contracts/results`. Amounts are in tinybar. */
function toContractResult(
  ledger: Ledger,
  transaction: EvmTransaction,
): { [name: string]: unknown } {
  const { receipt, envelope } = transaction
  const isSuccess = BigInt(receipt.status) === 1n
  const target = targetOf(transaction)
  const created = ledger.accounts.idOf(receipt.contractAddress ?? null)
  return {
    access_list: envelope.type === 0 ? null : '0x',
    address: target,
    amount: Number(envelope.valueWeibar / WEIBAR_PER_TINYBAR),
    block_gas_used: Number(receipt.cumulativeGasUsed),
    block_hash: toMirrorBlockHash(receipt.blockHash),
    block_number: transaction.blockNumber,
    bloom: receipt.logsBloom,
    call_result: null,
    chain_id: numberToHex(CHAIN_ID),
    contract_id: ledger.accounts.idOf(target),
    created_contract_ids: created === null ? [] : [created],
    error_message: isSuccess ? null : (transaction.revertReason ?? '0x'),
    failed_initcode: !isSuccess && envelope.to === null ? envelope.data : null,
    from: transaction.from,
    function_parameters: envelope.data,
    gas_consumed: Number(receipt.gasUsed),
    gas_limit: Number(envelope.gas),
    gas_price: toHexOrNull(envelope.gasPriceWeibar),
    gas_used: Number(receipt.gasUsed),
    hash: transaction.hash,
    max_fee_per_gas: toHexOrNull(envelope.maxFeePerGasWeibar),
    max_priority_fee_per_gas: toHexOrNull(envelope.maxPriorityFeePerGasWeibar),
    nonce: transaction.isScheduled ? null : envelope.nonce,
    r: transaction.isScheduled ? null : envelope.r,
    result: transaction.result,
    s: transaction.isScheduled ? null : envelope.s,
    status: isSuccess ? '0x1' : '0x0',
    timestamp: formatTimestamp(transaction.consensusNs),
    to: envelope.to,
    transaction_index: Number(receipt.transactionIndex),
    type: transaction.isScheduled ? null : envelope.type,
    v: transaction.isScheduled ? null : Number(envelope.v),
  }
}

/** The logs of a transaction that exist on the network. */
export function networkLogs(transaction: EvmTransaction): InnerLog[] {
  return transaction.receipt.logs.filter(isNetworkLog)
}

function toHexOrNull(weibar: bigint | undefined): Hex | null {
  return weibar === undefined ? null : numberToHex(weibar)
}

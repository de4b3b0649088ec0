import { type Hex, numberToHex } from 'viem'
import type { InnerLog } from '../ledger/evm.ts'
import { type EvmTransaction, WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID } from '../ledger/network.ts'
import { formatTimestamp } from '../ledger/timestamp.ts'
import { isNetworkLog } from '../rpc/outer-view.ts'
import { toMirrorBlockHash } from './block-routes.ts'

/** An EVM transaction as `/api/v1/contracts/results` lists it. Amounts are tinybar. */
export function toContractResult(
  ledger: Ledger,
  transaction: EvmTransaction,
): { [name: string]: unknown } {
  const { receipt, envelope } = transaction
  const isSuccess = BigInt(receipt.status) === 1n
  const target = receipt.contractAddress ?? receipt.to
  const created = receipt.contractAddress
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
    contract_id: target === null ? null : (ledger.accounts.byAddress(target)?.id ?? null),
    created_contract_ids:
      created === null ? [] : [ledger.accounts.byAddress(created)?.id].filter(Boolean),
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

/** The same with its logs, as `/api/v1/contracts/results/{hash}` shows one. */
export function toContractResultDetails(
  ledger: Ledger,
  transaction: EvmTransaction,
): { [name: string]: unknown } {
  return {
    ...toContractResult(ledger, transaction),
    logs: networkLogs(transaction).map((log, index) => ({
      address: log.address,
      bloom: '0x',
      contract_id: ledger.accounts.byAddress(log.address)?.id ?? null,
      data: log.data,
      index,
      topics: log.topics,
    })),
    state_changes: [],
  }
}

/** The logs of a transaction that exist on the network. */
export function networkLogs(transaction: EvmTransaction): InnerLog[] {
  return transaction.receipt.logs.filter(isNetworkLog)
}

function toHexOrNull(weibar: bigint | undefined): Hex | null {
  return weibar === undefined ? null : numberToHex(weibar)
}

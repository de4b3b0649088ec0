// eth_sendRawTransaction: the relay's prechecks in the relay's order (packages/relay/src/lib/precheck.ts), then what
// consensus says to it. There is no mempool: a nonce ahead of its turn is refused, and never gets a receipt.

import { type Hex, zeroAddress } from 'viem'
import { AnvilRefused, isFundsRefusal } from '../anvil/anvil-client.ts'
import { WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from '../ledger/network.ts'
import { runEvmTransaction } from '../ledger/run-evm-transaction.ts'
import { type ParsedTransaction, parseRawTransaction } from './parse-raw-transaction.ts'
import { refusals } from './rpc-error.ts'

/** Largest raw transaction that the relay takes, bytes (SEND_RAW_TRANSACTION_SIZE_LIMIT). */
const TRANSACTION_BYTES_MAX = 133_120

/** Largest call data that the relay takes, bytes (CALL_DATA_SIZE_LIMIT). */
const CALL_DATA_BYTES_MAX = 131_072

/** Takes a signed transaction to consensus and answers with its hash once its block exists. */
export async function sendRawTransaction(ledger: Ledger, raw: string): Promise<Hex> {
  const transaction = parseRawTransaction(raw)
  checkStateless(transaction)
  return ledger.queue.run(async () => {
    await checkStateful(ledger, transaction)
    if (ledger.faults.transactionsToDrop > 0) {
      ledger.faults.transactionsToDrop -= 1
      return transaction.hash
    }
    try {
      const { hash, from, envelope } = transaction
      await runEvmTransaction(ledger, { hash, from, envelope })
    } catch (cause) {
      if (!(cause instanceof AnvilRefused)) throw cause
      if (isFundsRefusal(cause)) throw refusals.rejected('INSUFFICIENT_PAYER_BALANCE')
      throw refusals.rejected(cause.message)
    }
    return transaction.hash
  })
}

function checkStateless({ envelope, bytes }: ParsedTransaction): void {
  const dataBytes = (envelope.data.length - 2) / 2
  if (dataBytes > CALL_DATA_BYTES_MAX) {
    throw refusals.oversized({ what: 'call data', actual: dataBytes, max: CALL_DATA_BYTES_MAX })
  }
  if (bytes > TRANSACTION_BYTES_MAX) {
    throw refusals.oversized({ what: 'transaction', actual: bytes, max: TRANSACTION_BYTES_MAX })
  }
  if (envelope.gas > BigInt(TRANSACTION_GAS_MAX)) {
    throw refusals.gasLimitTooHigh(envelope.gas, TRANSACTION_GAS_MAX)
  }
  const needed = intrinsicGas(envelope.data, envelope.to === null)
  if (envelope.gas < BigInt(needed)) throw refusals.gasLimitTooLow(envelope.gas, needed)
  // Unprotected legacy transactions carry no chain id and are exempt, as on the relay.
  if (envelope.chainId !== undefined && envelope.chainId !== CHAIN_ID) {
    throw refusals.wrongChain(`0x${envelope.chainId.toString(16)}`, `0x${CHAIN_ID.toString(16)}`)
  }
  if (envelope.valueWeibar > 0n && envelope.valueWeibar < WEIBAR_PER_TINYBAR) {
    throw refusals.valueTooLow()
  }
  if (envelope.hasAccessList) throw refusals.notYetImplemented()
  if (envelope.valueWeibar > 0n && envelope.to === zeroAddress) {
    throw refusals.rejected('INVALID_SOLIDITY_ADDRESS')
  }
}

async function checkStateful(ledger: Ledger, transaction: ParsedTransaction): Promise<void> {
  const { envelope, from } = transaction
  const neededWeibar = ledger.settings.gasPriceTinybar * WEIBAR_PER_TINYBAR
  const offeredWeibar = envelope.gasPriceWeibar ?? envelope.maxFeePerGasWeibar ?? 0n
  if (offeredWeibar < neededWeibar) throw refusals.gasPriceTooLow(offeredWeibar, neededWeibar)
  const [balance, count] = (await ledger.anvil.batch([
    ['eth_getBalance', [from, 'latest']],
    ['eth_getTransactionCount', [from, 'latest']],
  ])) as [Hex, Hex]
  if (ledger.accounts.byAddress(from) === undefined) {
    throw refusals.resourceNotFound(`address '${from}'.`)
  }
  const nonces = { provided: envelope.nonce, current: Number(count) }
  if (nonces.provided < nonces.current) throw refusals.nonceTooLow(nonces)
  // The relay judges by what was offered, although only the network's price is charged.
  const holdWeibar = envelope.valueWeibar + offeredWeibar * envelope.gas
  if (BigInt(balance) * WEIBAR_PER_TINYBAR < holdWeibar) throw refusals.insufficientBalance()
  if (nonces.provided > nonces.current) throw refusals.nonceTooHigh(nonces)
}

/** Gas before the first instruction: 21,000, call data, and creation (EIP-2028, EIP-3860). */
function intrinsicGas(data: Hex, isCreation: boolean): number {
  const bytes = Buffer.from(data.slice(2), 'hex')
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  const base = 21_000 + 4 * zeros + 16 * (bytes.length - zeros)
  return isCreation ? base + 32_000 + 2 * Math.ceil(bytes.length / 32) : base
}

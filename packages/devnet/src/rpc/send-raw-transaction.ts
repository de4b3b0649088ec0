// eth_sendRawTransaction: the relay's prechecks in the relay's order (packages/relay/src/lib/precheck.ts), then the
// verdict of consensus. There is no mempool: a future nonce is refused, and never gets a receipt.

import { pause } from '@tallystick/service-kit'
import type { Hex } from 'viem'
import { takeEthereumTransaction } from '../ledger/ethereum-transaction.ts'
import { WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from '../ledger/network.ts'
import { type ParsedTransaction, parseRawTransaction } from '../ledger/parse-raw-transaction.ts'
import type { Envelope } from '../ledger/transaction-index.ts'
import { refusals } from './rpc-method.ts'

/** Largest raw transaction that the relay accepts, bytes (SEND_RAW_TRANSACTION_SIZE_LIMIT). */
const TRANSACTION_BYTES_MAX = 133_120

/** Largest call data that the relay accepts, bytes (CALL_DATA_SIZE_LIMIT). */
const CALL_DATA_BYTES_MAX = 131_072

/** Largest creation code (EIP-3860), bytes. */
const INITCODE_BYTES_MAX = 49_152

/**
 * The part of the shortest send that passes before consensus; the rest passes before the mirror node shows it. It is the same
 * for all sends, so that they reach consensus in order of arrival: on the public network nonce gaps are very rare
 * (hiero-json-rpc-relay, issue 5610).
 */
const CONSENSUS_SHARE = 0.5

/**
 * Takes a signed transaction to consensus and answers with its hash once its block exists and the current send latency has
 * passed. The relay's own checks refuse at once, consensus later.
 */
export async function sendRawTransaction(ledger: Ledger, raw: string): Promise<Hex> {
  const { clock, faults, queue } = ledger
  const transaction = parse(raw)
  checkStateless(transaction)
  const { min, max } = faults.sendLatencyMs
  if (max === 0) return reachConsensus(ledger, transaction)
  const consensus = pause(clock, min * CONSENSUS_SHARE)
  const answer = pause(clock, min + faults.chance() * (max - min))
  await queue.run(() => checkAtRelay(ledger, transaction))
  await consensus
  try {
    return await reachConsensus(ledger, transaction)
  } finally {
    await answer
  }
}

function reachConsensus(ledger: Ledger, transaction: ParsedTransaction): Promise<Hex> {
  return ledger.windows.run(async () => {
    await checkAtRelay(ledger, transaction)
    if (ledger.faults.transactionsToDrop > 0) {
      ledger.faults.transactionsToDrop -= 1
      return transaction.hash
    }
    const verdict = await takeEthereumTransaction(ledger, transaction)
    if (verdict.kind === 'executed') return transaction.hash
    // There is no mempool: consensus refuses a future nonce for good.
    if (verdict.status === 'WRONG_NONCE') throw refusals.nonceTooHigh(verdict.nonces)
    throw refusals.rejected(verdict.status)
  })
}

function checkStateless({ envelope, bytes }: ParsedTransaction): void {
  const dataBytes = (envelope.data.length - 2) / 2
  if (dataBytes > CALL_DATA_BYTES_MAX) {
    throw refusals.oversized({ what: 'call data', actual: dataBytes, max: CALL_DATA_BYTES_MAX })
  }
  if (envelope.to === null && dataBytes > INITCODE_BYTES_MAX) {
    throw refusals.oversized({ what: 'initcode', actual: dataBytes, max: INITCODE_BYTES_MAX })
  }
  if (bytes > TRANSACTION_BYTES_MAX) {
    throw refusals.oversized({ what: 'transaction', actual: bytes, max: TRANSACTION_BYTES_MAX })
  }
  if (envelope.gas > BigInt(TRANSACTION_GAS_MAX)) {
    throw refusals.gasLimitTooHigh(envelope.gas, TRANSACTION_GAS_MAX)
  }
  const needed = intrinsicGas(envelope)
  if (envelope.gas < BigInt(needed)) throw refusals.gasLimitTooLow(envelope.gas, needed)
  // Unprotected legacy transactions carry no chain id and are exempt, as on the relay.
  if (envelope.chainId !== undefined && envelope.chainId !== CHAIN_ID) {
    throw refusals.wrongChain(`0x${envelope.chainId.toString(16)}`, `0x${CHAIN_ID.toString(16)}`)
  }
  if (envelope.valueWeibar > 0n && envelope.valueWeibar < WEIBAR_PER_TINYBAR) {
    throw refusals.valueTooLow()
  }
}

/** The relay's own checks against the ledger. A future nonce passes. */
async function checkAtRelay(ledger: Ledger, transaction: ParsedTransaction): Promise<void> {
  const { envelope, from } = transaction
  const neededWeibar = ledger.settings.gasPriceTinybar * WEIBAR_PER_TINYBAR
  const offeredWeibar = envelope.gasPriceWeibar ?? envelope.maxFeePerGasWeibar ?? 0n
  if (offeredWeibar < neededWeibar) throw refusals.gasPriceTooLow(offeredWeibar, neededWeibar)
  const receiver = envelope.to === null ? undefined : ledger.accounts.byAddress(envelope.to)
  if (receiver?.isReceiverSigRequired === true) throw refusals.receiverSigns()
  const [balance, count] = (await ledger.anvil.batch([
    ['eth_getBalance', [from, 'latest']],
    ['eth_getTransactionCount', [from, 'latest']],
  ])) as [Hex, Hex]
  if (ledger.accounts.byAddress(from) === undefined) {
    throw refusals.resourceNotFound(`address '${from}'.`)
  }
  const nonces = { provided: envelope.nonce, current: Number(count) }
  if (nonces.provided < nonces.current) throw refusals.nonceTooLow(nonces)
  // The relay judges by the offered price, although only the network's price is charged.
  const holdWeibar = envelope.valueWeibar + offeredWeibar * envelope.gas
  if (BigInt(balance) * WEIBAR_PER_TINYBAR < holdWeibar) throw refusals.insufficientBalance()
}

/**
 * Gas before the first instruction: 21,000, call data, creation and access list (EIP-2028, EIP-3860, EIP-2930), at least the
 * floor of the call data (EIP-7623).
 */
function intrinsicGas({ data, to, accessList }: Envelope): number {
  const bytes = Buffer.from(data.slice(2), 'hex')
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  const tokens = zeros + 4 * (bytes.length - zeros)
  const creation = to === null ? 32_000 + 2 * Math.ceil(bytes.length / 32) : 0
  const keys = accessList.reduce((count, { storageKeys }) => count + storageKeys.length, 0)
  const standard = 4 * tokens + creation + 2_400 * accessList.length + 1_900 * keys
  return 21_000 + Math.max(standard, 10 * tokens)
}

/**
 * Decodes a raw transaction and recovers its signer.
 * @throws RpcError for blob and set-code transactions, and for bytes that are not a signed transaction
 */
function parse(raw: string): ParsedTransaction {
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(raw)) {
    throw refusals.invalidParameter(
      0,
      `Expected 0x prefixed hexadecimal value, value: ${raw.slice(0, 80)}`,
    )
  }
  const hex = raw.toLowerCase() as Hex
  // Blobs are refused by HIP-866; set-code transactions are behind a flag that the public relay has not enabled.
  const type = Number(hex.slice(0, 4))
  if (type === 3 || type === 4) throw refusals.unsupportedTransactionType(type)
  try {
    return parseRawTransaction(hex)
  } catch (cause) {
    throw refusals.invalidArguments(
      cause instanceof Error ? firstLine(cause.message) : 'undecodable',
    )
  }
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? text
}

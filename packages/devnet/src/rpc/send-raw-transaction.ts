// eth_sendRawTransaction: the relay's prechecks in the relay's order (packages/relay/src/lib/precheck.ts), then the
// verdict of consensus. There is no mempool: a future nonce is refused, and never gets a receipt.

import { hash as digestOf } from 'node:crypto'
import { pause } from '@tallystick/service-kit'
import { secp256k1 } from '@tallystick/x402/secp256k1'
import {
  type Address,
  bytesToHex,
  concatHex,
  type Hex,
  hexToBytes,
  padHex,
  parseTransaction,
  serializeTransaction,
  zeroAddress,
} from 'viem'
import { AnvilRefused, isFundsRefusal } from '../anvil/anvil-client.ts'
import { type Envelope, runEvmTransaction, WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from '../ledger/network.ts'
import { refusals } from './rpc-method.ts'

/** Largest raw transaction that the relay accepts, bytes (SEND_RAW_TRANSACTION_SIZE_LIMIT). */
const TRANSACTION_BYTES_MAX = 133_120

/** Largest call data that the relay accepts, bytes (CALL_DATA_SIZE_LIMIT). */
const CALL_DATA_BYTES_MAX = 131_072

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
  const transaction = parseRawTransaction(raw)
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
  return ledger.queue.run(async () => {
    const nonces = await checkAtRelay(ledger, transaction)
    // There is no mempool: consensus refuses a future nonce for good.
    if (nonces.provided > nonces.current) throw refusals.nonceTooHigh(nonces)
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

/** The relay's own checks against the ledger; returns the nonces. A future nonce passes. */
async function checkAtRelay(ledger: Ledger, transaction: ParsedTransaction) {
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
  // The relay judges by the offered price, although only the network's price is charged.
  const holdWeibar = envelope.valueWeibar + offeredWeibar * envelope.gas
  if (BigInt(balance) * WEIBAR_PER_TINYBAR < holdWeibar) throw refusals.insufficientBalance()
  return nonces
}

/** Gas before the first instruction: 21,000, call data, and creation (EIP-2028, EIP-3860). */
function intrinsicGas(data: Hex, isCreation: boolean): number {
  const bytes = Buffer.from(data.slice(2), 'hex')
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  const base = 21_000 + 4 * zeros + 16 * (bytes.length - zeros)
  return isCreation ? base + 32_000 + 2 * Math.ceil(bytes.length / 32) : base
}

/** A decoded raw transaction, with its signer. */
type ParsedTransaction = {
  /** Keccak-256 of the raw bytes: the transaction's hash. */
  hash: Hex
  from: Address
  envelope: Envelope
  /** Length in raw bytes. */
  bytes: number
}

/**
 * Decodes a raw transaction and recovers its signer.
 * @throws RpcError for blob and set-code transactions, and for bytes that are not a signed transaction
 */
export function parseRawTransaction(raw: string): ParsedTransaction {
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(raw)) {
    throw refusals.invalidParameter(
      0,
      `Expected 0x prefixed hexadecimal value, value: ${raw.slice(0, 80)}`,
    )
  }
  const hex = raw.toLowerCase() as Hex
  // Blobs are refused by HIP-866; set-code transactions are behind a flag that the public relay has not enabled.
  if (hex.startsWith('0x03') || hex.startsWith('0x04')) throw refusals.unsupportedTransactionType()
  try {
    return parse(hex)
  } catch (cause) {
    throw refusals.invalidArguments(
      cause instanceof Error ? firstLine(cause.message) : 'undecodable',
    )
  }
}

function parse(raw: Hex): ParsedTransaction {
  const decoded = parseTransaction(raw)
  const { r, s } = decoded
  if (r === undefined || s === undefined) throw new Error('unsigned transaction')
  if (decoded.type !== 'legacy' && decoded.type !== 'eip2930' && decoded.type !== 'eip1559') {
    throw new Error(`unsupported transaction type ${String(decoded.type)}`)
  }
  const { r: _r, s: _s, v, yParity, ...unsigned } = decoded as typeof decoded & { v?: bigint }
  // A legacy v is odd for parity 0: 27, or 35 plus twice the chain's id.
  const isOdd = yParity === undefined ? (v ?? 0n) % 2n === 0n : yParity === 1
  const parity = isOdd ? 1 : 0
  const digest = keccak(hexToBytes(serializeTransaction(unsigned as never)))
  // RLP omits leading zero bytes.
  const signature = hexToBytes(concatHex([padHex(r, { size: 32 }), padHex(s, { size: 32 })]))
  const point = secp256k1.recover(digest, { rs: signature, recovery: parity })
  if (point === undefined) throw new Error('a signature of no key')
  return {
    hash: bytesToHex(keccak(Buffer.from(raw.slice(2), 'hex'))),
    from: bytesToHex(keccak(point.subarray(1)).subarray(12)),
    bytes: (raw.length - 2) / 2,
    envelope: {
      type: TYPE_NUMBERS[decoded.type],
      chainId: decoded.chainId,
      nonce: decoded.nonce ?? 0,
      gas: decoded.gas ?? 0n,
      gasPriceWeibar: decoded.gasPrice,
      maxFeePerGasWeibar: decoded.maxFeePerGas,
      maxPriorityFeePerGasWeibar: decoded.maxPriorityFeePerGas,
      valueWeibar: decoded.value ?? 0n,
      to: (decoded.to?.toLowerCase() as Address | undefined) ?? null,
      data: decoded.data ?? '0x',
      hasAccessList: (decoded.accessList?.length ?? 0) > 0,
      // viem gives typed transactions the legacy 27 or 28 too.
      v: decoded.type === 'legacy' ? (v ?? 0n) : BigInt(parity),
      r,
      s,
    },
  }
}

/** OpenSSL's, ten times faster than viem's on call data of a few kilobytes. */
const keccak = (bytes: Uint8Array): Buffer => digestOf('keccak-256', bytes, 'buffer')

const TYPE_NUMBERS = { legacy: 0, eip2930: 1, eip1559: 2 } as const

function firstLine(text: string): string {
  return text.split('\n')[0] ?? text
}

import secp256k1 from 'secp256k1'
import {
  type Address,
  concatHex,
  type Hex,
  hexToBytes,
  padHex,
  parseTransaction,
  serializeTransaction,
} from 'viem'
import { toHexString } from '../ledger/entity-id.ts'
import type { Envelope } from '../ledger/evm-transaction.ts'
import { keccakBytes } from '../ledger/keccak.ts'
import { refusals } from './rpc-error.ts'

/** A raw transaction, taken apart, with its signer. */
export type ParsedTransaction = {
  /** Keccak-256 of the raw bytes: the transaction's hash. */
  hash: Hex
  from: Address
  envelope: Envelope
  /** Length of the raw bytes. */
  bytes: number
}

/**
 * Decodes a raw transaction and recovers its signer.
 * @throws RpcError for blob and set-code transactions, and for bytes that are no signed transaction
 */
export function parseRawTransaction(raw: string): ParsedTransaction {
  if (!/^0x(?:[0-9a-fA-F]{2})+$/.test(raw)) {
    throw refusals.invalidParameter(
      0,
      `Expected 0x prefixed hexadecimal value, value: ${raw.slice(0, 80)}`,
    )
  }
  const hex = raw.toLowerCase() as Hex
  // Blobs are refused by HIP-866; set-code transactions are behind a flag that the public relay has not turned on.
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
  const parity =
    yParity ?? (v === 27n || v === 28n ? Number(v - 27n) : Number(((v ?? 0n) - 35n) % 2n))
  const digest = keccakBytes(hexToBytes(serializeTransaction(unsigned as never)))
  // Leading zero bytes are absent in RLP.
  const signature = hexToBytes(concatHex([padHex(r, { size: 32 }), padHex(s, { size: 32 })]))
  const publicKey = secp256k1.ecdsaRecover(signature, parity, digest, false)
  return {
    hash: toHexString(keccakBytes(Buffer.from(raw.slice(2), 'hex'))),
    from: toHexString(keccakBytes(publicKey.subarray(1)).subarray(12)),
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
      // viem gives typed transactions the 27 or 28 of legacy ones as well.
      v: decoded.type === 'legacy' ? (v ?? 0n) : BigInt(parity),
      r,
      s,
    },
  }
}

const TYPE_NUMBERS = { legacy: 0, eip2930: 1, eip1559: 2 } as const

function firstLine(text: string): string {
  return text.split('\n')[0] ?? text
}

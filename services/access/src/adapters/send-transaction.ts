/**
 * Signs a transaction with one key and sends it once, for single calls (call-sender.ts) and for the recorder
 * (recorder-ledger.ts); what a ledger said to it is read here. Transactions are legacy ones (EIP-155): viem writes their bytes;
 * libsecp256k1 signs in 40 µs, where viem's JavaScript takes ten times as long; the signature is deterministic (RFC 6979) and
 * the same.
 */
import { hash } from 'node:crypto'
import { secp256k1 } from '@tallystick/x402/secp256k1'
import { serializeTransaction, toHex } from 'viem'
import type { Hex } from '../domain/access-window.ts'
import type { SendResult, SignedTransaction } from '../transactions/transaction-ledger.ts'
import { type Relay, RelayRefusal, RelayUnavailable } from './relay.ts'

/** Legacy, because the base fee in Hedera's block header makes EIP-1559 estimates wrong. */
type LegacyTransaction = {
  readonly chainId: number
  readonly nonce: number
  readonly gasPriceWeibar: bigint
  readonly gas: bigint
  /** Absent for a contract's creation. */
  readonly to?: Hex | undefined
  readonly valueWeibar: bigint
  readonly data: Hex
}

const keccak = (bytes: Uint8Array): Buffer => hash('keccak-256', bytes, 'buffer')

const keccakHex = (hex: Hex): Buffer => keccak(Buffer.from(hex.slice(2), 'hex'))

/** Makes a signer for a private key: 32 bytes in hex with `0x`, a valid scalar of the curve. */
export function createTransactionSigner(privateKey: Hex) {
  const key = Buffer.from(privateKey.slice(2), 'hex')
  const point = secp256k1.pointOfKey(key)
  return {
    /** Lower case. */
    address: toHex(keccak(point.subarray(1)).subarray(12)),
    sign({
      gasPriceWeibar,
      to,
      valueWeibar,
      ...transaction
    }: LegacyTransaction): SignedTransaction {
      const legacy = {
        ...transaction,
        type: 'legacy',
        // viem checks the checksum of an address unless it is in lower case.
        to: to?.toLowerCase() as Hex | undefined,
        gasPrice: gasPriceWeibar,
        value: valueWeibar,
      } as const
      const { recovery, rs } = secp256k1.sign(keccakHex(serializeTransaction(legacy)), key)
      const rawTransaction = serializeTransaction(legacy, {
        r: toHex(rs.subarray(0, 32)),
        s: toHex(rs.subarray(32)),
        v: BigInt(27 + recovery),
      })
      const { nonce } = transaction
      return { nonce, gasPriceWeibar, rawTransaction, hash: toHex(keccakHex(rawTransaction)) }
    },
  }
}

type Refusal = Exclude<SendResult['kind'], 'accepted' | 'refused'> | 'wrong-nonce' | 'already-known'

/** `wrong-nonce` does not say which way. Rejects with the relay's error if it leaves open whether the bytes were refused. */
export async function sendTransaction(
  relay: Pick<Relay, 'send'>,
  { rawTransaction }: Pick<SignedTransaction, 'rawTransaction'>,
): Promise<SendResult | { readonly kind: 'wrong-nonce'; readonly error: unknown }> {
  try {
    await relay.send(rawTransaction)
    return { kind: 'accepted' }
  } catch (error) {
    const kind = readRefusal(error)
    switch (kind) {
      case 'already-known':
        return { kind: 'accepted' }
      case 'nonce-too-low':
      case 'nonce-too-high':
        return { kind, nextNonce: readNextNonce(error), error }
      case undefined:
        throw error
      case 'wrong-nonce':
      case 'gas-price-too-low':
      case 'insufficient-funds':
      case 'not-taken':
        return { kind, error }
      default:
        return kind satisfies never
    }
  }
}

/**
 * The words of Hedera's relay (packages/relay/src/lib/errors/JsonRpcError.ts, codes 32001, 32002, -32009, -32000) and of
 * its consensus nodes (WRONG_NONCE, INSUFFICIENT_PAYER_BALANCE, INSUFFICIENT_TX_FEE), then those of other clients.
 */
const REFUSALS: readonly (readonly [RegExp, Refusal])[] = [
  [/already known|known transaction|DUPLICATE_TRANSACTION/i, 'already-known'],
  [/nonce too low/i, 'nonce-too-low'],
  [/nonce too high/i, 'nonce-too-high'],
  [/WRONG_NONCE/, 'wrong-nonce'],
  [/below configured minimum gas price|INSUFFICIENT_TX_FEE|underpriced/i, 'gas-price-too-low'],
  [/insufficient funds|INSUFFICIENT_PAYER_BALANCE/i, 'insufficient-funds'],
  [/rate limit/i, 'not-taken'],
]

/** Reads a failed send. Only the ledger's own words count, not a client's reading of them. */
function readRefusal(error: unknown): Refusal | undefined {
  if (error instanceof RelayUnavailable && error.nothingSent) return 'not-taken'
  const words = ledgersWords(error)
  return REFUSALS.find(([pattern]) => pattern.test(words))?.[1]
}

/** The nonce that the ledger says it wants, if it names one. */
function readNextNonce(error: unknown): number | undefined {
  const [, nonce] = /(?:current|expected) nonce:?\s*(\d+)/i.exec(ledgersWords(error)) ?? []
  return nonce === undefined ? undefined : Number(nonce)
}

/** The ledger's own words, whether they came with HTTP 200 or with an error status. */
const ledgersWords = (error: unknown): string =>
  error instanceof RelayRefusal ? error.details : ''

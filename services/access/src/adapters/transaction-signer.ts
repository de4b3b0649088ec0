/**
 * Signs legacy transactions (EIP-155) with one key. viem writes their bytes; libsecp256k1 signs in 40 µs, where viem's
 * JavaScript takes ten times as long; the signature is deterministic (RFC 6979) and the same.
 */
import { hash } from 'node:crypto'
import { secp256k1 } from '@tallystick/x402/secp256k1'
import { serializeTransaction, toHex } from 'viem'
import type { Hex } from '../domain/access-window.ts'

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

export type TransactionSigner = ReturnType<typeof createTransactionSigner>

const keccak = (bytes: Uint8Array): Buffer => hash('keccak-256', bytes, 'buffer')

const keccakHex = (hex: Hex): Buffer => keccak(Buffer.from(hex.slice(2), 'hex'))

/** Makes a signer for a private key: 32 bytes in hex with `0x`, a valid scalar of the curve. */
export function createTransactionSigner(privateKey: Hex) {
  const key = Buffer.from(privateKey.slice(2), 'hex')
  const point = secp256k1.pointOfKey(key)
  return {
    /** Lower case. */
    address: toHex(keccak(point.subarray(1)).subarray(12)),
    sign({ gasPriceWeibar, to, valueWeibar, ...transaction }: LegacyTransaction) {
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
      return { rawTransaction, hash: toHex(keccakHex(rawTransaction)) }
    },
  }
}

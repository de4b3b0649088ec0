/**
 * Legacy transactions (EIP-155) of one key: their bytes and their hash. libsecp256k1 signs in 40 µs, where viem's
 * JavaScript takes ten times as long; the signature is deterministic (RFC 6979) and the same.
 */
import { hash } from 'node:crypto'
import { secp256k1 } from '@tallystick/x402/secp256k1'
import { toRlp } from 'viem'
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

export type TransactionSigner = ReturnType<typeof transactionSigner>

const toHex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`

const keccak = (bytes: Uint8Array): Buffer => hash('keccak-256', bytes, 'buffer')

/** RLP encodes numbers without leading zeros; 0 has no bytes. */
const quantity = (value: bigint): Hex => {
  const digits = value === 0n ? '' : value.toString(16)
  return digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`
}

/** A signer for a private key: 32 bytes in hex with `0x`, a valid scalar of the curve. */
export function transactionSigner(privateKey: Hex) {
  const key = Buffer.from(privateKey.slice(2), 'hex')
  const point = secp256k1.pointOfKey(key)
  return {
    /** Lower case. */
    address: toHex(keccak(point.subarray(1)).subarray(12)),
    sign({ chainId, ...transaction }: LegacyTransaction) {
      const fields = [
        quantity(BigInt(transaction.nonce)),
        quantity(transaction.gasPriceWeibar),
        quantity(transaction.gas),
        transaction.to ?? '0x',
        quantity(transaction.valueWeibar),
        transaction.data,
      ]
      const unsigned = toRlp([...fields, quantity(BigInt(chainId)), '0x', '0x'], 'bytes')
      const { recovery, rs } = secp256k1.sign(keccak(unsigned), key)
      const signed = toRlp(
        [
          ...fields,
          quantity(BigInt(chainId * 2 + 35 + recovery)),
          quantity(BigInt(toHex(rs.subarray(0, 32)))),
          quantity(BigInt(toHex(rs.subarray(32)))),
        ],
        'bytes',
      )
      return { rawTransaction: toHex(signed), hash: toHex(keccak(signed)) }
    },
  }
}

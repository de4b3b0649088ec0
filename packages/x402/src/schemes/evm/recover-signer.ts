import secp256k1 from 'secp256k1'
import { type Hex, hexOfBytes, keccak } from './evm-words.ts'

/** Half the order of secp256k1, rounded down: a signature with a larger s has a twin, and tokens refuse it (EIP-2). */
const HALF_ORDER = Buffer.from(
  '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0',
  'hex',
)

/** A signature of 65 bytes with everything that a token checks before it recovers. */
export type EcdsaSignature = { readonly rs: Uint8Array; readonly recovery: 0 | 1 }

/** Reads `r ‖ s ‖ v` with v 27, 28, 0 or 1 and a low s; undefined for anything else. */
export function readEcdsaSignature(bytes: Uint8Array): EcdsaSignature | undefined {
  if (bytes.length !== 65) return undefined
  const v = bytes[64] ?? -1
  const recovery = v >= 27 ? v - 27 : v
  if (recovery !== 0 && recovery !== 1) return undefined
  if (Buffer.compare(bytes.subarray(32, 64), HALF_ORDER) > 0) return undefined
  return { rs: bytes.subarray(0, 64), recovery }
}

/** The address whose key signed a digest, lower case; undefined where the signature is none. Takes about 70 µs. */
export function recoverSigner(digest: Uint8Array, signature: EcdsaSignature): Hex | undefined {
  try {
    const point = secp256k1.ecdsaRecover(signature.rs, signature.recovery, digest, false)
    return hexOfBytes(keccak(point.subarray(1)).subarray(12))
  } catch {
    return undefined
  }
}

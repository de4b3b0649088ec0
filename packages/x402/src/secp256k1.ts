/**
 * The cryptography of accounts on both ledgers: ECDSA on secp256k1, the curve of the keys that hold money, and keccak-256. libsecp256k1 does the arithmetic: natively where the package
 * has it prebuilt (Linux and Windows on x64, macOS on arm64), elsewhere as WebAssembly, which takes three to four times as
 * long. Both sign as RFC 6979 says, with a low s: the same bytes.
 *
 * The native package by itself would fall back to `elliptic`, which is slow and has an open advisory. So its bindings are
 * loaded here by name, and nothing else imports it. Needless once it is prebuilt for Linux on arm64 and macOS on x64.
 */

import { getHashes, hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { keccak_256 } from '@noble/hashes/sha3.js'

/** How many private keys there are, and one more. */
export const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/**
 * `r ‖ s`, 64 bytes, and the parity of the nonce's point. 2 and 3 stand for points whose x is above the order: nobody will
 * ever sign with one, no ledger takes them, and the implementations differ on them.
 */
type RecoverableSignature = { readonly rs: Uint8Array; readonly recovery: 0 | 1 }

/** Digests have 32 bytes, public keys 33 unless a result is called a point: that has 65. */
export type Secp256k1 = {
  readonly implementation: 'native' | 'wasm'
  isPrivateKey(bytes: Uint8Array): boolean
  /** The point of a private key. Throws for bytes that are none. */
  pointOfKey(privateKey: Uint8Array): Uint8Array
  /** The public key of a private key. Throws for bytes that are none. */
  publicKey(privateKey: Uint8Array): Uint8Array
  /** The point that a public key stands for; undefined if there is none. */
  point(publicKey: Uint8Array): Uint8Array | undefined
  sign(digest: Uint8Array, privateKey: Uint8Array): RecoverableSignature
  /** The point that signed; undefined if none can have. Takes a high s, too. */
  recover(digest: Uint8Array, signature: RecoverableSignature): Uint8Array | undefined
  /** Whether the key signed the digest. Takes a high s, too; false for an invalid key or signature. */
  verify(signed: {
    readonly digest: Uint8Array
    readonly rs: Uint8Array
    readonly publicKey: Uint8Array
  }): boolean
}

const load: NodeJS.Require = createRequire(import.meta.url)

/** The native library. Throws where it is not prebuilt. */
export function nativeSecp256k1(): Secp256k1 {
  const native = load('secp256k1/bindings.js') as typeof import('secp256k1')
  return {
    implementation: 'native',
    isPrivateKey: (bytes) => bytes.length === 32 && native.privateKeyVerify(bytes),
    pointOfKey: (privateKey) => native.publicKeyCreate(privateKey, false),
    publicKey: (privateKey) => native.publicKeyCreate(privateKey, true),
    point: (publicKey) =>
      unlessThrown(() => native.publicKeyConvert(compressed(publicKey), false), undefined),
    sign(digest, privateKey) {
      const { recid, signature } = native.ecdsaSign(digest, privateKey)
      return { rs: signature, recovery: recid as 0 | 1 }
    },
    recover: (digest, { recovery, rs }) =>
      unlessThrown(() => native.ecdsaRecover(rs, recovery, digest, false), undefined),
    verify: ({ digest, publicKey, rs }) =>
      unlessThrown(() => {
        const lowS = native.signatureNormalize(Uint8Array.from(rs))
        return native.ecdsaVerify(lowS, digest, compressed(publicKey))
      }, false),
  }
}

/** The same library as WebAssembly: runs everywhere. */
export function wasmSecp256k1(): Secp256k1 {
  const wasm = load('tiny-secp256k1') as typeof import('tiny-secp256k1')
  const pointOfKey = (privateKey: Uint8Array, isCompressed: boolean): Uint8Array => {
    const bytes = wasm.pointFromScalar(privateKey, isCompressed)
    if (bytes === null) throw new RangeError('not a private key')
    return bytes
  }
  return {
    implementation: 'wasm',
    isPrivateKey: (bytes) => wasm.isPrivate(bytes),
    pointOfKey: (privateKey) => pointOfKey(privateKey, false),
    publicKey: (privateKey) => pointOfKey(privateKey, true),
    point: (publicKey) =>
      unlessThrown(() => wasm.pointCompress(compressed(publicKey), false), undefined),
    sign(digest, privateKey) {
      const { recoveryId, signature } = wasm.signRecoverable(digest, privateKey)
      return { rs: signature, recovery: recoveryId as 0 | 1 }
    },
    recover: (digest, { recovery, rs }) =>
      unlessThrown(() => wasm.recover(digest, rs, recovery, false) ?? undefined, undefined),
    verify: ({ digest, publicKey, rs }) =>
      unlessThrown(() => wasm.verify(digest, compressed(publicKey), rs), false),
  }
}

/** Both take other lengths too, but not the same ones. */
function compressed(publicKey: Uint8Array): Uint8Array {
  if (publicKey.length !== 33) throw new RangeError('a public key has 33 bytes')
  return publicKey
}

/** Both throw for bytes that cannot be what they should be. */
function unlessThrown<Value, Otherwise>(
  compute: () => Value,
  otherwise: Otherwise,
): Value | Otherwise {
  try {
    return compute()
  } catch {
    return otherwise
  }
}

/** The native library, or the WebAssembly where there is none. */
export const secp256k1: Secp256k1 = unlessThrown(nativeSecp256k1, undefined) ?? wasmSecp256k1()

/** Which implementation it is: what a process says in its log at start, and on `/ready`. */
export const secp256k1Facts = { implementation: secp256k1.implementation }

const NATIVE = 'keccak-256'

/** keccak-256 of bytes, 32 bytes. */
export const keccak: (bytes: Uint8Array) => Buffer = getHashes().includes(NATIVE)
  ? (bytes) => hash(NATIVE, bytes, 'buffer')
  : keccakInJavaScript

/** The same on every version of Node. */
export function keccakInJavaScript(bytes: Uint8Array): Buffer {
  return Buffer.from(keccak_256(bytes))
}

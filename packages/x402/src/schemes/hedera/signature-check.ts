/**
 * Whether a body was signed by an account's key, with native crypto: libsecp256k1 and OpenSSL take about 60 µs a
 * signature where the SDK's JavaScript takes over 1 ms.
 */
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { createRequire } from 'node:module'
import secp256k1 from 'secp256k1'
import type { HederaKey } from './hedera-key.ts'
import type { SignaturePair, SignedBody } from './read-transfer.ts'

/** DER before a raw Ed25519 public key (RFC 8410). */
const ED25519_SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** Which secp256k1 runs: the package falls back to slow JavaScript, silently, where it has no prebuilt library. */
export const secp256k1Implementation: 'native' | 'javascript' = ((): 'native' | 'javascript' => {
  try {
    const load = createRequire(import.meta.url)
    load('secp256k1/bindings.js')
    return 'native'
  } catch {
    return 'javascript'
  }
})()

/** Signature checks that one payment may cost: ten nodes with twelve signers each, under 10 ms of native crypto. */
export const SIGNATURE_CHECKS_MAX = 120

/** Counts signature checks down over all bodies of a payment, so that a huge key list cannot hold up the process. */
export type CheckBudget = { left: number }

/**
 * Whether `body` carries the signatures that `key` asks for, within `budget`. No pair's prefix may begin another's or be empty: the
 * network refuses such a map (KEY_PREFIX_MISMATCH) as soon as the fee payer's signature joins it.
 */
export function isSignedBy(
  body: SignedBody,
  key: HederaKey,
  budget: CheckBudget = { left: SIGNATURE_CHECKS_MAX },
): boolean {
  return hasDistinctPrefixes(body.signatures) && isSatisfied(body, key, budget)
}

/**
 * Whether a body is signed by the key that an account without one will get: an ECDSA key, named whole, whose address
 * is the account's (a hollow account, HIP-583).
 */
export function isSignedByHollow(body: SignedBody, evmAddress: string): boolean {
  if (!hasDistinctPrefixes(body.signatures)) return false
  return body.signatures.some(
    (pair) =>
      pair.kind === 'ecdsa' &&
      pair.prefix.length === 33 &&
      evmAddressOf(pair.prefix) === evmAddress &&
      isEcdsaSignature(body.bodyBytes, { publicKey: pair.prefix, signature: pair.signature }),
  )
}

/** The EVM address of a secp256k1 public key, lower case; undefined where the bytes are no point of the curve. */
export function evmAddressOf(publicKey: Uint8Array): `0x${string}` | undefined {
  try {
    const point = secp256k1.publicKeyConvert(publicKey, false)
    return `0x${hash('keccak-256', point.subarray(1), 'hex').slice(24)}`
  } catch {
    return undefined
  }
}

function hasDistinctPrefixes(pairs: readonly SignaturePair[]): boolean {
  return pairs.every((pair, index) =>
    pairs.every((other, otherIndex) =>
      index === otherIndex ? pair.prefix.length > 0 : !startsWith(other.prefix, pair.prefix),
    ),
  )
}

function isSatisfied(body: SignedBody, key: HederaKey, budget: CheckBudget): boolean {
  if (key.kind === 'unsupported') return false
  if (key.kind === 'threshold') {
    let signed = 0
    for (const one of key.keys) {
      if (isSatisfied(body, one, budget)) signed += 1
      if (signed >= key.threshold) return true
    }
    return false
  }
  const { kind, publicKey } = key
  const pair = body.signatures.find((one) => startsWith(publicKey, one.prefix))
  if (pair?.kind !== kind || budget.left <= 0) return false
  budget.left -= 1
  const { signature } = pair
  return kind === 'ecdsa'
    ? isEcdsaSignature(body.bodyBytes, { publicKey, signature })
    : isEd25519Signature(body.bodyBytes, { publicKey, signature })
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return prefix.length <= bytes.length && prefix.every((byte, index) => byte === bytes[index])
}

type SignatureByKey = { readonly publicKey: Uint8Array; readonly signature: Uint8Array }

/** A high-s signature is brought to its low form first: the network does the same and accepts both. */
function isEcdsaSignature(
  bodyBytes: Uint8Array,
  { publicKey, signature }: SignatureByKey,
): boolean {
  try {
    const digest = hash('keccak-256', bodyBytes, 'buffer')
    const lowS = secp256k1.signatureNormalize(Uint8Array.from(signature))
    return secp256k1.ecdsaVerify(lowS, digest, publicKey)
  } catch {
    return false
  }
}

function isEd25519Signature(
  bodyBytes: Uint8Array,
  { publicKey, signature }: SignatureByKey,
): boolean {
  try {
    return verify(null, bodyBytes, ed25519KeyObject(publicKey), signature)
  } catch {
    return false
  }
}

function ed25519KeyObject(publicKey: Uint8Array): KeyObject {
  const der = Buffer.concat([ED25519_SPKI_PREFIX, publicKey])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

/**
 * An account's key: how to read it, and whether it signed a body. The crypto is libsecp256k1's and OpenSSL's: natively about
 * 60 µs per signature, where the SDK's JavaScript takes over 1 ms.
 */
import { createPublicKey, verify } from 'node:crypto'
import { keccak, secp256k1 } from '../../secp256k1.ts'
import { addressOfPoint } from '../evm/authorization.ts'
import { readMessage, toSigned } from './protobuf.ts'
import type { SignaturePair, SignedBody } from './read-transfer.ts'

/** One key: 32 bytes of Ed25519, or 33 of secp256k1, compressed. */
type PlainKey = { readonly kind: 'ed25519' | 'ecdsa'; readonly publicKey: Uint8Array }

/** An account's key. `unsupported` means that no payment signature can satisfy it, e.g. a contract's key. */
export type HederaKey =
  | PlainKey
  /** `threshold` of `keys` must sign; a key list requires all of them. */
  | { readonly kind: 'threshold'; readonly threshold: number; readonly keys: readonly HederaKey[] }
  | { readonly kind: 'unsupported' }

/** Depth of nested key lists; the network's own limit (`maxKeyDepth`). */
const KEY_DEPTH_MAX = 15

/** Each kind of key is a field of its own, 1 to 8. */
const KEY_SHAPE = Object.fromEntries(
  [1, 2, 3, 4, 5, 6, 7, 8].map((field) => [field, 'bytes' as const]),
)

/**
 * Reads a protobuf Key, as mirror nodes give for key lists and threshold keys. Throws MalformedProtobuf. A threshold is
 * clamped to 1 … n, as the network does.
 */
export function readHederaKey(bytes: Uint8Array, depth = 0): HederaKey {
  if (depth > KEY_DEPTH_MAX) return { kind: 'unsupported' }
  const fields = readMessage(bytes, KEY_SHAPE)
  const ed25519 = fields.bytes(2)
  if (ed25519?.length === 32) return { kind: 'ed25519', publicKey: ed25519 }
  const ecdsa = fields.bytes(7)
  if (ecdsa?.length === 33) return { kind: 'ecdsa', publicKey: ecdsa }
  const threshold = fields.bytes(5)
  if (threshold !== undefined) {
    const parts = readMessage(threshold, { 1: 'varint', 2: 'bytes' })
    const keys = readKeys(parts.bytes(2) ?? new Uint8Array(), depth)
    return thresholdKey(keys, Number(toSigned(parts.varint(1))))
  }
  const list = fields.bytes(6)
  if (list === undefined) return { kind: 'unsupported' }
  const keys = readKeys(list, depth)
  return thresholdKey(keys, keys.length)
}

function readKeys(list: Uint8Array, depth: number): HederaKey[] {
  return readMessage(list, { 1: 'repeated' })
    .repeated(1)
    .map((key) => readHederaKey(key, depth + 1))
}

function thresholdKey(keys: readonly HederaKey[], threshold: number): HederaKey {
  if (keys.length === 0) return { kind: 'unsupported' }
  return { kind: 'threshold', keys, threshold: Math.min(Math.max(threshold, 1), keys.length) }
}

/** DER before a raw Ed25519 public key (RFC 8410). */
const ED25519_SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** Signature checks allowed per payment: ten nodes with twelve signers each, under 10 ms of native crypto. */
export const SIGNATURE_CHECKS_MAX = 120

/** Counts down signature checks across all bodies of a payment, so that a huge key list cannot hold up the process. */
type CheckBudget = { left: number }

/**
 * Whether `body` carries the signatures that `key` requires, within `budget`. No pair's prefix may be empty or a prefix
 * of another's: the network refuses such a map (KEY_PREFIX_MISMATCH) as soon as the fee payer's signature joins it.
 */
export function isSignedBy(
  body: SignedBody,
  key: HederaKey,
  budget: CheckBudget = { left: SIGNATURE_CHECKS_MAX },
): boolean {
  return hasDistinctPrefixes(body.signatures) && isSatisfied(body, key, budget)
}

/**
 * Whether a body is signed by the key that an account without one will get: an ECDSA key, given in full, whose address is
 * the account's (a hollow account, HIP-583).
 */
export function isSignedByHollow(body: SignedBody, evmAddress: string): boolean {
  if (!hasDistinctPrefixes(body.signatures)) return false
  return body.signatures.some(
    ({ kind, prefix, signature }) =>
      kind === 'ecdsa' &&
      prefix.length === 33 &&
      deriveEvmAddress(prefix) === evmAddress &&
      isSignature(body, { kind, publicKey: prefix }, signature),
  )
}

/** Whether a key other than an account's signed a body, named in full beside its signature. Null: a hollow account's. */
export function isSignedByAnother(body: SignedBody, key: HederaKey | null): boolean {
  if (key?.kind === 'threshold' || key?.kind === 'unsupported') return false
  return body.signatures.some(
    ({ kind, prefix, signature }) =>
      prefix.length === (kind === 'ecdsa' ? 33 : 32) &&
      !(key !== null && startsWith(key.publicKey, prefix)) &&
      isSignature(body, { kind, publicKey: prefix }, signature),
  )
}

/** The EVM address of a secp256k1 public key, lower case; undefined if the bytes are not a point on the curve. */
export function deriveEvmAddress(publicKey: Uint8Array): `0x${string}` | undefined {
  const point = secp256k1.point(publicKey)
  return point === undefined ? undefined : addressOfPoint(point)
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
    for (const member of key.keys) {
      if (isSatisfied(body, member, budget)) signed += 1
      if (signed >= key.threshold) return true
    }
    return false
  }
  const pair = body.signatures.find((signature) => startsWith(key.publicKey, signature.prefix))
  if (pair?.kind !== key.kind || budget.left <= 0) return false
  budget.left -= 1
  return isSignature(body, key, pair.signature)
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return prefix.length <= bytes.length && prefix.every((byte, index) => byte === bytes[index])
}

/** False for an invalid key or signature, too. */
function isSignature({ bodyBytes }: SignedBody, key: PlainKey, signature: Uint8Array): boolean {
  const { kind, publicKey } = key
  // The network accepts a high s, too.
  if (kind === 'ecdsa')
    return secp256k1.verify({ digest: keccak(bodyBytes), rs: signature, publicKey })
  try {
    const der = Buffer.concat([ED25519_SPKI_PREFIX, publicKey])
    const spki = createPublicKey({ key: der, format: 'der', type: 'spki' })
    return verify(null, bodyBytes, spki, signature)
  } catch {
    return false
  }
}

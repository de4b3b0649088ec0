// Account keys and signature checks against them: ED25519, ECDSA on secp256k1 over Keccak-256, contracts, and lists of keys with
// or without a threshold, nested as deep as on the network.

import { createPublicKey, verify } from 'node:crypto'
import { proto } from '@hiero-ledger/proto'
import { deriveEvmAddress } from '@tallystick/x402/hedera'
import { keccak, secp256k1 } from '@tallystick/x402/secp256k1'
import type { Address } from 'viem'

/** Hex without `0x`: 33 bytes compressed ECDSA, 32 bytes ED25519. */
export type SingleKey = { kind: 'ECDSA_SECP256K1' | 'ED25519'; publicKey: string }

/** A key that controls an account. */
export type AccountKey =
  | SingleKey
  /** All of `keys` must sign, or `threshold` of them if one is given. */
  | { kind: 'KEY_LIST'; threshold?: number; keys: readonly AccountKey[] }
  /** A contract, by its id in protobuf's hex: no signature is its own. */
  | { kind: 'CONTRACT'; protobuf: string }

/** One signature of a transaction: the public key or a prefix of it, what kind of signature, and the bytes of the body that it signs. */
export type TransactionSignature = {
  bytes: Uint8Array
  kind: 'ECDSA_SECP256K1' | 'ED25519'
  publicKeyPrefix: Buffer
  signature: Uint8Array
}

const ED25519_SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** The signatures in a transaction's signature map, except kinds that no account key has. */
export function readSignatures(
  map: proto.ISignatureMap | null | undefined,
  bytes: Uint8Array,
): TransactionSignature[] {
  return (map?.sigPair ?? []).flatMap((pair): TransactionSignature[] => {
    const publicKeyPrefix = Buffer.from(pair.pubKeyPrefix ?? [])
    const { ECDSASecp256k1: ecdsa, ed25519 } = pair
    if (ecdsa != null && ecdsa.length > 0) {
      return [{ kind: 'ECDSA_SECP256K1', publicKeyPrefix, signature: ecdsa, bytes }]
    }
    return ed25519 != null && ed25519.length > 0
      ? [{ kind: 'ED25519', publicKeyPrefix, signature: ed25519, bytes }]
      : []
  })
}

/**
 * Who has signed: a scheduled transaction is signed by several transactions, each with bytes of its own. With `used`, whoever must
 * sign counts as having signed, and whose signature is here is noted there.
 */
export type Signatures = readonly TransactionSignature[] & {
  readonly used?: Set<TransactionSignature>
}

/** Whether the signatures satisfy `key`. An empty list of keys is never satisfied. */
export function isSignedBy(key: AccountKey, signed: Signatures): boolean {
  if (key.kind === 'KEY_LIST') {
    const needed = key.threshold ?? key.keys.length
    const count = key.keys.filter((member) => isSignedBy(member, signed)).length
    return key.keys.length > 0 && count >= needed
  }
  if (key.kind === 'CONTRACT') return false
  const publicKey = Buffer.from(key.publicKey, 'hex')
  const found = signed.find(
    (candidate) =>
      candidate.kind === key.kind &&
      publicKey.subarray(0, candidate.publicKeyPrefix.length).equals(candidate.publicKeyPrefix) &&
      verifies({ ...candidate, publicKey }),
  )
  if (found !== undefined) signed.used?.add(found)
  return found !== undefined || signed.used !== undefined
}

/**
 * The key that completes a hollow account: the ECDSA key whose EVM address is the account's alias, if the transaction
 * contains its full public key and a valid signature (HIP-583).
 */
export function completingKey(address: Address, signed: Signatures): AccountKey | undefined {
  for (const candidate of signed) {
    const { kind, publicKeyPrefix } = candidate
    if (kind !== 'ECDSA_SECP256K1' || publicKeyPrefix.length !== 33) continue
    if (deriveEvmAddress(publicKeyPrefix) !== address) continue
    if (!verifies({ ...candidate, publicKey: publicKeyPrefix })) continue
    signed.used?.add(candidate)
    return { kind, publicKey: publicKeyPrefix.toString('hex') }
  }
  return undefined
}

/** Whether a signature is of the key that it names, in full: what nobody signed must not take its signer's place. */
export function isGenuine(signature: TransactionSignature): boolean {
  const { kind, publicKeyPrefix: publicKey } = signature
  const isWhole =
    kind === 'ED25519'
      ? publicKey.length === 32
      : publicKey.length === 33 && deriveEvmAddress(publicKey) !== undefined
  return isWhole && verifies({ ...signature, publicKey })
}

function verifies(check: {
  kind: 'ECDSA_SECP256K1' | 'ED25519'
  publicKey: Buffer
  signature: Uint8Array
  bytes: Uint8Array
}): boolean {
  if (check.signature.length !== 64) return false
  if (check.kind === 'ED25519') {
    const der = Buffer.concat([ED25519_SPKI_PREFIX, check.publicKey])
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
    return verify(null, check.bytes, key, check.signature)
  }
  const digest = keccak(check.bytes)
  return secp256k1.verify({ digest, rs: check.signature, publicKey: check.publicKey })
}

export function toProtoKey(key: AccountKey): proto.IKey {
  if (key.kind === 'CONTRACT') return proto.Key.decode(Buffer.from(key.protobuf, 'hex'))
  if (key.kind !== 'KEY_LIST') {
    const bytes = Buffer.from(key.publicKey, 'hex')
    return key.kind === 'ED25519' ? { ed25519: bytes } : { ECDSASecp256k1: bytes }
  }
  const keys = { keys: key.keys.map(toProtoKey) }
  return key.threshold === undefined
    ? { keyList: keys }
    : { thresholdKey: { threshold: key.threshold, keys } }
}

/** The single key in a protobuf Key; undefined for lists and for kinds that accounts here cannot have. */
export function fromProtoKey({
  ECDSASecp256k1: ecdsa,
  ed25519,
}: proto.IKey): SingleKey | undefined {
  if (ecdsa?.length === 33)
    return { kind: 'ECDSA_SECP256K1', publicKey: Buffer.from(ecdsa).toString('hex') }
  return ed25519?.length === 32
    ? { kind: 'ED25519', publicKey: Buffer.from(ed25519).toString('hex') }
    : undefined
}

/** The key or list of keys in a protobuf Key; undefined for kinds that accounts here cannot have. */
export function fromProtoKeys(key: proto.IKey): AccountKey | undefined {
  const list = key.keyList ?? key.thresholdKey?.keys
  if ((key.contractID ?? key.delegatableContractId) != null) {
    return { kind: 'CONTRACT', protobuf: encodedKey(key) }
  }
  if (list == null) return fromProtoKey(key)
  const keys = (list.keys ?? []).map(fromProtoKeys)
  if (!keys.every((member) => member !== undefined)) return undefined
  const threshold = key.thresholdKey?.threshold
  return { kind: 'KEY_LIST', keys, ...(threshold == null ? {} : { threshold }) }
}

const encodedKey = (key: proto.IKey): string =>
  Buffer.from(proto.Key.encode(key).finish()).toString('hex')

/** The mirror node's form of a key: hex of the raw public key, or of the protobuf for anything else. */
export function toMirrorKey(key: AccountKey | null): { _type: string; key: string } | null {
  if (key === null) return null
  return 'publicKey' in key
    ? { _type: key.kind, key: key.publicKey }
    : { _type: 'ProtobufEncoded', key: encodedKey(toProtoKey(key)) }
}

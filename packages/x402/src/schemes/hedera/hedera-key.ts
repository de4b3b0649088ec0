import { readMessage, toSigned } from './protobuf-reader.ts'

/** An account's key. `unsupported` is one that no signature of a payment can satisfy, e.g. a contract's. */
export type HederaKey =
  /** 32 bytes. */
  | { readonly kind: 'ed25519'; readonly publicKey: Uint8Array }
  /** 33 bytes, compressed. */
  | { readonly kind: 'ecdsa'; readonly publicKey: Uint8Array }
  /** As many of `keys` as `threshold` says must sign; a key list is one that asks for all. */
  | { readonly kind: 'threshold'; readonly threshold: number; readonly keys: readonly HederaKey[] }
  | { readonly kind: 'unsupported' }

/** Depth of nested key lists; the network's own limit (`maxKeyDepth`). */
const KEY_DEPTH_MAX = 15

/**
 * Reads a protobuf Key, as mirror nodes give one for key lists and threshold keys. Throws MalformedProtobuf.
 * A threshold is brought into 1 … n, as the network does.
 */
export function readHederaKey(bytes: Uint8Array, depth = 0): HederaKey {
  if (depth > KEY_DEPTH_MAX) return { kind: 'unsupported' }
  const fields = readMessage(bytes, {
    1: 'bytes',
    2: 'bytes',
    3: 'bytes',
    4: 'bytes',
    5: 'bytes',
    6: 'bytes',
    7: 'bytes',
    8: 'bytes',
  })
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

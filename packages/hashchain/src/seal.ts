/**
 * Sealing of values at rest (C16): AES-256-GCM under a key of the ring, bound to the slot that the value belongs to.
 * A sealed value describes itself, so that keys can be rotated one value at a time:
 *
 *     0xf9 | key id length, 1 byte | key id, ASCII | nonce, 12 bytes | ciphertext | tag, 16 bytes
 *
 * 0xf9 names format 1 and never occurs in UTF-8, so sealed and plain bytes cannot be taken for one another. The bytes
 * before the nonce, followed by the slot, are the additional authenticated data.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { decodeStrictBase64 } from './strict-base64.ts'

/** AES-256. */
const SEAL_KEY_BYTES = 32
/** Long enough for a date or a UUID, short enough for one length byte in a sealed value. */
const KEY_ID_CHARACTERS_MAX = 64
const KEY_ID = /^[A-Za-z0-9._-]+$/

/** Bytes, of a key that is used once and dropped. */
export type SealingKey = KeyObject | Uint8Array

/** Keys by id; see `createKeyRing`. */
export type KeyRing<Key extends SealingKey = KeyObject> = {
  /** The key that seals new values. */
  readonly activeId: string
  /** The key with that id, if the ring has it. */
  key(id: string): Key | undefined
  /** Fresh random bytes for nonces. */
  randomBytes(size: number): Uint8Array
}

/** One key of a ring: an id of 1 to 64 letters, digits, dots, dashes and underscores, and 32 bytes. */
type SealKey = { readonly id: string; readonly key: Uint8Array }

/**
 * Builds a ring. Throws a RangeError, naming only ids, for a bad id, a key that is not 32 bytes, a repeated id, or an
 * active id without a key. `randomBytes` defaults to the cryptographic generator; tests pass their own.
 */
export function createKeyRing(options: {
  readonly activeId: string
  readonly keys: readonly SealKey[]
  readonly randomBytes?: (size: number) => Uint8Array
}): KeyRing {
  const { activeId } = options
  const keys = new Map<string, KeyObject>()
  for (const { id, key } of options.keys) {
    if (!isKeyId(id)) throw new RangeError('a key id has 1 to 64 letters, digits, ".", "_" or "-"')
    if (key.length !== SEAL_KEY_BYTES)
      throw new RangeError(`the key "${id}" does not have ${SEAL_KEY_BYTES} bytes`)
    if (keys.has(id)) throw new RangeError(`the key id "${id}" is given twice`)
    keys.set(id, createSecretKey(key))
  }
  if (!keys.has(activeId)) throw new RangeError(`the ring has no key for its active id`)
  return {
    activeId,
    key: (id) => keys.get(id),
    randomBytes: options.randomBytes ?? ((size) => randomBytes(size)),
  }
}

/** A ring read from a configured text, or what is wrong with it, without repeating any part of the text. */
type ParsedKeyRing =
  | { readonly kind: 'ring'; readonly ring: KeyRing }
  | { readonly kind: 'refused'; readonly problem: string }

/**
 * Reads `id:base64,id:base64`, as in an environment variable, the active key first. The base64 is standard and padded, 32
 * bytes per key. White space around an entry is ignored.
 */
export function parseKeyRing(text: string): ParsedKeyRing {
  const keys: SealKey[] = []
  for (const [index, entry] of text.split(',').entries()) {
    const refuse = (expected: string): ParsedKeyRing => ({
      kind: 'refused',
      problem: `key ${index + 1}: expected ${expected}`,
    })
    const [id = '', encoded, ...rest] = entry.trim().split(':')
    if (encoded === undefined || rest.length > 0) return refuse('an id, a colon and a key')
    if (!isKeyId(id)) return refuse('an id of 1 to 64 letters, digits, ".", "_" or "-"')
    const key = decodeStrictBase64(encoded)
    if (key?.length !== SEAL_KEY_BYTES) return refuse(`${SEAL_KEY_BYTES} bytes in padded base64`)
    if (keys.some((known) => known.id === id)) return refuse('an id that no other key has')
    keys.push({ id, key })
  }
  return { kind: 'ring', ring: createKeyRing({ activeId: keys[0]?.id ?? '', keys }) }
}

function isKeyId(text: string): boolean {
  return text.length <= KEY_ID_CHARACTERS_MAX && KEY_ID.test(text)
}

/** The algorithm's name in receipts and status lines. */
export const SEAL_ALGORITHM = 'AES-256-GCM'

const FORMAT_1 = 0xf9
/** 96 bits, the nonce length GCM is designed for. Random nonces stay safe for 2^32 values under one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const GCM_OPTIONS = { authTagLength: TAG_BYTES }
/** Format byte and length byte. */
const PREFIX_BYTES = 2

/** The result of opening a sealed value. */
type OpenedValue =
  | { readonly kind: 'opened'; readonly value: string }
  | {
      readonly kind: 'unopened'
      /**
       * `malformed`: not a sealed value of this format. `key_missing`: the ring lacks the key `keyId`. `seal`: the bytes
       * were altered, or sealed for another slot; GCM cannot tell which.
       */
      readonly reason: 'malformed' | 'key_missing' | 'seal'
      /** The id that the value names, if readable. */
      readonly keyId?: string
    }

/**
 * The sealed bytes of a value under the ring's active key, bound to `slot`. Throws a RangeError for a value or slot
 * with a lone surrogate, which has no UTF-8 form to seal.
 */
export function sealValue(options: {
  readonly ring: KeyRing<SealingKey>
  readonly value: string
  readonly slot: string
}): Uint8Array {
  const { ring, value, slot } = options
  if (!value.isWellFormed() || !slot.isWellFormed())
    throw new RangeError('a text with a lone surrogate cannot be sealed')
  const key = ring.key(ring.activeId)
  const nonce = ring.randomBytes(NONCE_BYTES)
  if (key === undefined || nonce.length !== NONCE_BYTES)
    throw new RangeError('the ring gave no key or a nonce of the wrong length')
  const header = sealHeader(ring.activeId)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, GCM_OPTIONS)
  cipher.setAAD(additionalData(header, slot))
  return Buffer.concat([
    header,
    nonce,
    cipher.update(value, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ])
}

/** What a value begins with that is sealed under the key of this id, and no other value does. */
export function sealHeader(keyId: string): Buffer {
  const id = Buffer.from(keyId, 'ascii')
  return Buffer.concat([Buffer.of(FORMAT_1, id.length), id])
}

/** Opens a sealed value in the slot where it was found. Never throws, whatever the bytes or the slot hold. */
export function openValue(options: {
  readonly ring: KeyRing<SealingKey>
  readonly sealed: Uint8Array
  readonly slot: string
}): OpenedValue {
  const { ring, slot } = options
  const sealed = asBuffer(options.sealed)
  const nonceStart = headerLength(sealed)
  if (nonceStart === undefined) return { kind: 'unopened', reason: 'malformed' }
  const keyId = sealed.toString('latin1', PREFIX_BYTES, nonceStart)
  const key = ring.key(keyId)
  if (key === undefined) return { kind: 'unopened', reason: 'key_missing', keyId }
  const textStart = nonceStart + NONCE_BYTES
  const tagStart = sealed.length - TAG_BYTES
  // Plain views: a Buffer's subarray costs twice as much, and a replay opens a hundred thousand values.
  const { buffer, byteOffset } = sealed
  const nonce = new Uint8Array(buffer, byteOffset + nonceStart, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, GCM_OPTIONS)
  decipher.setAAD(additionalData(new Uint8Array(buffer, byteOffset, nonceStart), slot))
  decipher.setAuthTag(new Uint8Array(buffer, byteOffset + tagStart, TAG_BYTES))
  const opened = decipher.update(
    new Uint8Array(buffer, byteOffset + textStart, tagStart - textStart),
  )
  try {
    decipher.final()
  } catch {
    return { kind: 'unopened', reason: 'seal', keyId }
  }
  return { kind: 'opened', value: opened.toString('utf8') }
}

/** Whether bytes have the form of a sealed value, which UTF-8 text never has. They may still fail to open. */
export function isSealed(bytes: Uint8Array): boolean {
  return headerLength(bytes) !== undefined
}

/** The id of the key that a value was sealed under, or undefined for bytes that are not sealed. */
export function sealedKeyId(sealed: Uint8Array): string | undefined {
  const nonceStart = headerLength(sealed)
  return nonceStart === undefined
    ? undefined
    : asBuffer(sealed).toString('latin1', PREFIX_BYTES, nonceStart)
}

/** Where the nonce starts, or undefined if the bytes are not a sealed value. */
function headerLength(bytes: Uint8Array): number | undefined {
  const keyIdLength = bytes[1]
  if (bytes[0] !== FORMAT_1 || keyIdLength === undefined || keyIdLength === 0) return undefined
  const nonceStart = PREFIX_BYTES + keyIdLength
  return bytes.length < nonceStart + NONCE_BYTES + TAG_BYTES ? undefined : nonceStart
}

/** The header ends where its own length byte says, so header and slot cannot run into each other. */
function additionalData(header: Uint8Array, slot: string): Buffer {
  const data = Buffer.allocUnsafe(header.length + Buffer.byteLength(slot, 'utf8'))
  data.set(header)
  data.write(slot, header.length, 'utf8')
  return data
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * The keys that values are sealed under: one active key, and older ones that only open. Keys live in `KeyObject`s, which
 * print nothing; no error names more than a key's id.
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
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

/**
 * The signed statement of a journal: "at this size my root is this" (https://c2sp.org/tlog-checkpoint), in a C2SP signed note
 * (https://c2sp.org/signed-note) with Ed25519: signed under our own key, opened with a known verifier key.
 */
import {
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  sign as signEd25519,
  verify as verifyEd25519,
} from 'node:crypto'
import { HASH_BYTES, type TreeHead } from './merkle-tree.ts'
import { decodeStrictBase64 } from './strict-base64.ts'

/** Length of an Ed25519 seed and of an Ed25519 public key, bytes. */
const KEY_BYTES = 32
/** Length of the key id in front of each signature, bytes. */
const KEY_ID_BYTES = 4
/** The signature type of Ed25519 in the signed-note format. */
const ALGORITHM_ED25519 = 0x01
/** DER prefix of a raw key, so that node:crypto accepts it. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
/** The space; every code unit below it is an ASCII control character. */
const FIRST_PRINTABLE = 0x20
const SIGNATURE_LINE_START = '\u2014 '
/** A note has a few lines; a longer one is refused unread. */
const NOTE_CHARACTERS_MAX = 1_000_000
/** Cosigners are few. The format requires readers to set a limit. */
const SIGNATURES_MAX = 100
/** A key name is not empty and holds no white space and no plus sign. */
const KEY_NAME = /^[^\s\u0085+]+$/u

/** Signs texts as C2SP signed notes. */
type NoteSigner = {
  /** Name in the signature line, such as the journal's origin. */
  readonly keyName: string
  /** Readers need this to check a note: `name+id+base64(0x01 ‖ public key)`, the id as eight lower-case hex digits. */
  readonly verifierKey: string
  /** The note over `text`. Throws a RangeError for a text that does not end in a newline or that holds other control characters. */
  sign(text: string): string
}

/** Why a note is not opened. `unknown_key`: no line is by this key. `bad_signature`: one is, but fails. */
export type RefusedNote = {
  readonly kind: 'refused'
  readonly reason: 'malformed_key' | 'malformed_note' | 'unknown_key' | 'bad_signature'
}

/** The result of opening a note under a known key. */
type OpenedNote =
  /** At least one signature by the key verifies, and none fails. `text` ends in a newline. */
  { readonly kind: 'opened'; readonly text: string } | RefusedNote

/**
 * A signer from an Ed25519 seed of 32 bytes. The seed stays inside node:crypto. Throws a RangeError for a seed of
 * another length and for a name with white space or a plus sign.
 */
export function createNoteSigner(options: NoteKeyOptions): NoteSigner {
  const { signatureLine, ...key } = createNoteKey({ ...options, algorithm: ALGORITHM_ED25519 })
  return {
    ...key,
    sign: (text) => {
      if (!isNoteText(text))
        throw new RangeError('a note ends in a newline and holds no other control character')
      return `${text}\n${signatureLine((sign) => sign(text))}`
    },
  }
}

export type NoteKeyOptions = { readonly keyName: string; readonly seed: Uint8Array }

/** A key that signs notes with one type of signature. Throws as `createNoteSigner` does. */
export function createNoteKey({
  keyName,
  seed,
  algorithm,
}: NoteKeyOptions & { readonly algorithm: number }) {
  if (seed.length !== KEY_BYTES) throw new RangeError(`an Ed25519 seed has ${KEY_BYTES} bytes`)
  if (!isKeyName(keyName)) throw new RangeError('a key name has no white space and no plus sign')
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  // Through PEM, because the types do not let a private KeyObject in.
  const publicKey = createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' })).export({
    format: 'der',
    type: 'spki',
  })
  const typedKey = Buffer.concat([Buffer.of(algorithm), publicKey.subarray(SPKI_PREFIX.length)])
  const keyId = computeKeyId(keyName, typedKey)
  const sign = (message: string): Buffer => signEd25519(null, Buffer.from(message), privateKey)
  return {
    keyName,
    verifierKey: `${keyName}+${keyId.toString('hex')}+${typedKey.toString('base64')}`,
    /** The signature line, newline included, around what `make` returns. */
    signatureLine: (make: (sign: (message: string) => Buffer) => Uint8Array): string =>
      `${SIGNATURE_LINE_START}${keyName} ${Buffer.concat([keyId, make(sign)]).toString('base64')}\n`,
  }
}

/**
 * Checks a note against one verifier key. Lines by other keys are ignored, as the format requires; one failing signature
 * by this key refuses the note even if another of its lines verifies.
 */
export function openNote(options: NoteAndKey): OpenedNote {
  const own = signaturesBy({ ...options, algorithm: ALGORITHM_ED25519 })
  if (own.kind === 'refused') return own
  return own.signatures.every((signature) => own.verifies(own.text, signature))
    ? { kind: 'opened', text: own.text }
    : { kind: 'refused', reason: 'bad_signature' }
}

export type NoteAndKey = { readonly note: string; readonly verifierKey: string }

/** The signatures by one key, at least one, and how to verify them. */
type OwnSignatures = {
  readonly kind: 'signatures'
  readonly text: string
  readonly signatures: readonly Buffer[]
  verifies(message: string, signature: Uint8Array): boolean
}

/** A note's signatures by one key of the given type, not verified yet. */
export function signaturesBy(
  options: NoteAndKey & { readonly algorithm: number },
): OwnSignatures | RefusedNote {
  const verifier = readVerifierKey(options.verifierKey, options.algorithm)
  if (verifier === undefined) return { kind: 'refused', reason: 'malformed_key' }
  const parts = splitNote(options.note)
  if (parts === undefined) return { kind: 'refused', reason: 'malformed_note' }
  const own = parts.signatures.filter(
    (line) => line.keyName === verifier.keyName && line.keyId.equals(verifier.keyId),
  )
  if (own.length === 0) return { kind: 'refused', reason: 'unknown_key' }
  return {
    kind: 'signatures',
    text: parts.text,
    signatures: own.map(({ signature }) => signature),
    verifies: (message, signature) =>
      verifyEd25519(null, Buffer.from(message), verifier.publicKey, signature),
  }
}

type Verifier = {
  readonly keyName: string
  readonly keyId: Buffer
  readonly publicKey: KeyObject
}

/** Parses a verifier key of the given type; undefined for anything else. */
export function readVerifierKey(text: string, algorithm: number): Verifier | undefined {
  const [keyName = '', idText = '', ...rest] = text.split('+')
  // Base64 may itself contain plus signs.
  const typedKey = decodeStrictBase64(rest.join('+'))
  if (!isKeyName(keyName) || typedKey?.length !== KEY_BYTES + 1) return undefined
  if (typedKey[0] !== algorithm) return undefined
  const keyId = computeKeyId(keyName, typedKey)
  if (keyId.toString('hex') !== idText) return undefined
  const der = Buffer.concat([SPKI_PREFIX, typedKey.subarray(1)])
  return { keyName, keyId, publicKey: createPublicKey({ key: der, format: 'der', type: 'spki' }) }
}

type SignatureLine = {
  readonly keyName: string
  readonly keyId: Buffer
  readonly signature: Buffer
}

function splitNote(
  note: string,
): { readonly text: string; readonly signatures: readonly SignatureLine[] } | undefined {
  if (note.length > NOTE_CHARACTERS_MAX || !isNoteText(note)) return undefined
  // The signatures follow the last blank line; the text may contain blank lines too.
  const blankLine = note.lastIndexOf('\n\n')
  if (blankLine < 0) return undefined
  const lines = note.slice(blankLine + 2, -1).split('\n')
  if (lines.length > SIGNATURES_MAX) return undefined
  const signatures: SignatureLine[] = []
  for (const line of lines) {
    const signature = readSignatureLine(line)
    if (signature === undefined) return undefined
    signatures.push(signature)
  }
  return { text: note.slice(0, blankLine + 1), signatures }
}

function readSignatureLine(line: string): SignatureLine | undefined {
  if (!line.startsWith(SIGNATURE_LINE_START)) return undefined
  const [keyName = '', encoded = '', ...rest] = line.slice(SIGNATURE_LINE_START.length).split(' ')
  const blob = decodeStrictBase64(encoded)
  if (rest.length > 0 || !isKeyName(keyName)) return undefined
  if (blob === undefined || blob.length <= KEY_ID_BYTES) return undefined
  return {
    keyName,
    keyId: blob.subarray(0, KEY_ID_BYTES),
    signature: blob.subarray(KEY_ID_BYTES),
  }
}

function computeKeyId(keyName: string, typedKey: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(`${keyName}\n`), typedKey])
  return hash('sha256', named, 'buffer').subarray(0, KEY_ID_BYTES)
}

function isKeyName(text: string): boolean {
  return KEY_NAME.test(text) && text.isWellFormed()
}

function isNoteText(text: string): boolean {
  if (!text.endsWith('\n') || !text.isWellFormed()) return false
  for (let index = 0; index < text.length; index += 1)
    if (text.charCodeAt(index) < FIRST_PRINTABLE && text[index] !== '\n') return false
  return true
}

/** A journal states this. */
type Checkpoint = TreeHead & {
  /** Unique name of the journal, by custom a URL without scheme, such as `care.example.org/user`. */
  readonly origin: string
  /** Further lines, each non-empty; most checkpoints have none. */
  readonly extensionLines: readonly string[]
}

/** The result of reading a text as a checkpoint. */
type ParsedCheckpoint =
  | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint }
  | {
      readonly kind: 'malformed'
      readonly part: 'lines' | 'origin' | 'size' | 'root' | 'extension'
    }

/** A decimal number without leading zeros. */
const DECIMAL = /^(?:0|[1-9]\d*)$/
const ONE_LINE = /^[^\n\r]+$/

/**
 * The text of a checkpoint, to be signed as a note: origin, decimal size and base64 root, one per line. Throws a
 * RangeError for what the format cannot hold: an empty or broken line, a size that is not a whole number from 0, a root
 * that is not 32 bytes.
 */
export function formatCheckpoint(
  checkpoint: Omit<Checkpoint, 'extensionLines'> & {
    readonly extensionLines?: readonly string[]
  },
): string {
  const { origin, size, rootHash, extensionLines = [] } = checkpoint
  if (!ONE_LINE.test(origin) || !extensionLines.every((line) => ONE_LINE.test(line)))
    throw new RangeError('origin and extension lines of a checkpoint are single, non-empty lines')
  if (!Number.isSafeInteger(size) || size < 0)
    throw new RangeError('the size of a checkpoint is a whole number from 0')
  if (rootHash.length !== HASH_BYTES)
    throw new RangeError(`the root of a checkpoint has ${HASH_BYTES} bytes`)
  return [
    origin,
    String(size),
    Buffer.from(rootHash).toString('base64'),
    ...extensionLines,
    '',
  ].join('\n')
}

/** Strictly reads a checkpoint's text, as `openNote` gives it: every accepted text is exactly what `formatCheckpoint` writes. */
export function parseCheckpoint(text: string): ParsedCheckpoint {
  const [origin, sizeText, rootText, ...rest] = text.split('\n')
  if (origin === undefined || sizeText === undefined || rootText === undefined || rest.pop() !== '')
    return { kind: 'malformed', part: 'lines' }
  if (!ONE_LINE.test(origin)) return { kind: 'malformed', part: 'origin' }
  const size = Number(sizeText)
  if (!DECIMAL.test(sizeText) || !Number.isSafeInteger(size))
    return { kind: 'malformed', part: 'size' }
  const rootHash = decodeStrictBase64(rootText)
  if (rootHash?.length !== HASH_BYTES) return { kind: 'malformed', part: 'root' }
  if (!rest.every((line) => ONE_LINE.test(line))) return { kind: 'malformed', part: 'extension' }
  return { kind: 'checkpoint', checkpoint: { origin, size, rootHash, extensionLines: rest } }
}

/** Opens a note and reads the checkpoint in it. */
export function openCheckpoint(options: NoteAndKey): ParsedCheckpoint | RefusedNote {
  const opened = openNote(options)
  return opened.kind === 'opened' ? parseCheckpoint(opened.text) : opened
}

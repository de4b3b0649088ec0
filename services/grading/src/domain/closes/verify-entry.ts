/**
 * Checks a ledger entry by itself: its text hashes to its leaf, the proof leads from there to the root, and the checkpoint
 * signs that root. The pages run this very module in the reader's browser and show its text; it shares no code with the
 * ledger that it checks.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { PublicEntry } from '../../wire/ledger.ts'

/** What was checked, and the outcome; `hidden` if the text is not public. */
export type EntryCheck = {
  readonly name: 'text' | 'opening' | 'proof' | 'root' | 'signature'
  readonly outcome: 'holds' | 'fails' | 'hidden'
}

type SignedHead = {
  /** A C2SP signed note over origin, size and root. */
  readonly note: string
  /** `name+id+base64(0x01 ‖ Ed25519 key)`. */
  readonly verifierKey: string
}

/** The one text of a JSON value (RFC 8785): members sorted by name, no spaces. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join(',')}}`
}

const hashBytes = (prefix: number, ...parts: readonly Uint8Array[]): Uint8Array =>
  sha256(concatBytes(Uint8Array.of(prefix), ...parts))

/** RFC 9162 §2.1.1: a leaf's hashed bytes begin with a zero, a node's with a one. */
const leafHex = (text: string): string => bytesToHex(hashBytes(0, utf8ToBytes(text)))

/** The root that a proof leads to (RFC 9162 §2.1.3.2); undefined if it does not fit the tree. */
function rootBy(entry: Pick<PublicEntry, 'seq' | 'hash' | 'inclusion'>): string | undefined {
  const { proof, size } = entry.inclusion
  if (!(entry.seq >= 0 && entry.seq < size)) return undefined
  let [node, last] = [entry.seq, size - 1]
  let hash: Uint8Array = hexToBytes(entry.hash)
  for (const text of proof) {
    if (last === 0) return undefined
    const sibling = hexToBytes(text)
    if (node % 2 === 1 || node === last) {
      hash = hashBytes(1, sibling, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else hash = hashBytes(1, hash, sibling)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 ? bytesToHex(hash) : undefined
}

const decodeBytes = (base64: string): Uint8Array =>
  Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))

/** Size and root of a checkpoint (C2SP tlog-checkpoint), and whether the key signed it; undefined for any other text. */
function openCheckpoint({ note, verifierKey }: SignedHead) {
  const [origin = '', size = '', root = '', blank, signature = ''] = note.split('\n')
  const [, name = '', blob = ''] = /^— (\S+) (\S+)$/.exec(signature) ?? []
  const [keyName = '', keyId = '', ...rest] = verifierKey.split('+')
  if (origin === '' || blank !== '' || !/^\d+$/.test(size) || blob === '' || name !== keyName)
    return undefined
  const key = decodeBytes(rest.join('+'))
  const signed = decodeBytes(blob)
  const named = sha256(concatBytes(utf8ToBytes(`${keyName}\n`), key)).subarray(0, 4)
  const isOfKey = bytesToHex(named) === keyId && bytesToHex(signed.subarray(0, 4)) === keyId
  const text = utf8ToBytes(note.slice(0, note.lastIndexOf('\n\n') + 1))
  return {
    size: Number(size),
    root: bytesToHex(decodeBytes(root)),
    isSigned: isOfKey && key[0] === 1 && ed25519.verify(signed.subarray(4), text, key.subarray(1)),
  }
}

const outcome = (holds: boolean): EntryCheck['outcome'] => (holds ? 'holds' : 'fails')

/** Whether an opened pick is the one that was committed to: SHA-256 of its canonical text. */
function openingOutcome({ entry, opened }: PublicEntry): EntryCheck['outcome'] {
  const found = bytesToHex(sha256(utf8ToBytes(canonicalText(opened))))
  return outcome(found === entry?.['commitment'])
}

/** Checks an entry as `/api/ledger/{seq}` answers it against a checkpoint. Throws for text that is no such answer. */
export function checkEntry(entry: PublicEntry, head: SignedHead): readonly EntryCheck[] {
  const text = entry.entry === undefined ? undefined : canonicalText(entry.entry)
  const checkpoint = openCheckpoint(head)
  const { root, size } = entry.inclusion
  return [
    {
      name: 'text',
      outcome: text === undefined ? 'hidden' : outcome(leafHex(text) === entry.hash),
    },
    ...(entry.opened === undefined
      ? []
      : [{ name: 'opening' as const, outcome: openingOutcome(entry) }]),
    { name: 'proof', outcome: outcome(rootBy(entry) === root) },
    { name: 'root', outcome: outcome(checkpoint?.root === root && checkpoint.size === size) },
    { name: 'signature', outcome: outcome(checkpoint?.isSigned === true) },
  ]
}

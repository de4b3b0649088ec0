/**
 * The witness protocol (https://c2sp.org/tlog-witness): a journal shows its newest checkpoint and a consistency proof from
 * the last one that was cosigned, and the witness cosigns what continues it. Here are both sides without network and
 * storage: the request's text, what the witness decides, and what the journal's side may keep of the answer.
 */
import { parseCheckpoint } from './checkpoint.ts'
import { openCosignature } from './cosignature.ts'
import { verifyConsistency } from './merkle-proof.ts'
import { emptyRootHash, HASH_BYTES, type TreeHead } from './merkle-tree.ts'
import { openNote } from './signed-note.ts'
import { decodeStrictBase64, encodeBase64 } from './strict-base64.ts'

/** A consistency proof has at most so many hashes: the protocol's own limit. */
const PROOF_HASHES_MAX = 63
/** A witness has few keys, and each of them one line. */
const ANSWER_LINES_MAX = 16
const OLD_SIZE = /^old (0|[1-9]\d*)$/

/** What is sent to `add-checkpoint`. */
type WitnessRequest = {
  /** Size of the last checkpoint that the witness cosigned, 0 for none. */
  readonly oldSize: number
  /** From `oldSize` to the checkpoint's size; empty from 0 and for the same size. */
  readonly proof: readonly Uint8Array[]
  /** The checkpoint as the journal signed it. */
  readonly note: string
}

/** What a witness decides on a request. In brackets the protocol's HTTP status. */
type WitnessVerdict =
  /** The checkpoint continues what was seen: remember `head`, durably and before answering, and cosign `text` (200). */
  | {
      readonly kind: 'consistent'
      readonly origin: string
      readonly head: TreeHead
      readonly text: string
    }
  /** Not a request, or an old size over the checkpoint's (400). */
  | { readonly kind: 'malformed' }
  /** No key is known for this origin (404). */
  | { readonly kind: 'unknown_origin' }
  /** No signature by the origin's key holds (403). */
  | { readonly kind: 'unsigned' }
  /** The journal did not start from what was cosigned last, whose size this is (409), or shows another root of that size. */
  | { readonly kind: 'conflict'; readonly size: number }
  /** The proof does not show the old tree to be a prefix of the new one: a journal that was forked or rewritten (422). */
  | { readonly kind: 'inconsistent' }

/** The body of a request. Throws a RangeError for an old size that is no whole number and for more than 63 hashes. */
export function formatWitnessRequest({ oldSize, proof, note }: WitnessRequest): string {
  if (!Number.isSafeInteger(oldSize) || oldSize < 0)
    throw new RangeError('the old size is a whole number from 0')
  if (proof.length > PROOF_HASHES_MAX)
    throw new RangeError(`a consistency proof has at most ${PROOF_HASHES_MAX} hashes`)
  return [`old ${oldSize}`, ...proof.map(encodeBase64), '', note].join('\n')
}

/**
 * Judges a request. `lastSeen` gives the verifier key of an origin and the head that was cosigned last, undefined for none.
 * The caller must hold the origin's head from reading it until the new one is durable: of two requests at once one must
 * come after the other. Never throws.
 *
 * @example judgeWitnessRequest({ body, lastSeen: (origin) => logs.get(origin) })
 */
export function judgeWitnessRequest(options: {
  readonly body: string
  readonly lastSeen: (
    origin: string,
  ) => { readonly verifierKey: string; readonly head: TreeHead | undefined } | undefined
}): WitnessVerdict {
  const request = parseWitnessRequest(options.body)
  if (request === undefined) return { kind: 'malformed' }
  const { oldSize, proof, note } = request
  const log = options.lastSeen(note.slice(0, note.indexOf('\n')))
  if (log === undefined) return { kind: 'unknown_origin' }
  const opened = openNote({ note, verifierKey: log.verifierKey })
  if (opened.kind === 'refused')
    return { kind: opened.reason === 'malformed_note' ? 'malformed' : 'unsigned' }
  const parsed = parseCheckpoint(opened.text)
  if (parsed.kind === 'malformed' || oldSize > parsed.checkpoint.size) return { kind: 'malformed' }
  const { origin, size, rootHash } = parsed.checkpoint
  const seen = log.head
  if (oldSize !== (seen?.size ?? 0)) return { kind: 'conflict', size: seen?.size ?? 0 }
  if (seen !== undefined && seen.size === size && !isSame(seen.rootHash, rootHash))
    return { kind: 'conflict', size }
  if (size === 0 && !isSame(rootHash, emptyRootHash())) return { kind: 'inconsistent' }
  const isConsistent =
    seen === undefined || seen.size === 0
      ? proof.length === 0
      : verifyConsistency({ oldSize, oldRootHash: seen.rootHash, size, rootHash, proof })
  if (!isConsistent) return { kind: 'inconsistent' }
  return { kind: 'consistent', origin, head: { size, rootHash }, text: opened.text }
}

/**
 * What the journal's side may add to its note of a witness's answer: the lines by that witness's key, if all of them hold
 * over this very checkpoint, and the latest time that they state; undefined for anything else. Never throws.
 */
export function readCosignatures(options: {
  readonly note: string
  readonly answer: string
  readonly verifierKey: string
}): { readonly lines: string; readonly atSeconds: number } | undefined {
  const { note, answer, verifierKey } = options
  const unsigned = note.slice(0, note.lastIndexOf('\n\n') + 2)
  let lines = ''
  let latestSeconds = 0
  for (const line of answer.split('\n').slice(0, ANSWER_LINES_MAX)) {
    const opened = openCosignature({ note: `${unsigned}${line}\n`, verifierKey })
    if (opened.kind === 'refused' && opened.reason === 'bad_signature') return undefined
    if (opened.kind === 'refused') continue
    lines += `${line}\n`
    latestSeconds = Math.max(latestSeconds, opened.atSeconds)
  }
  return lines === '' ? undefined : { lines, atSeconds: latestSeconds }
}

function parseWitnessRequest(body: string): WitnessRequest | undefined {
  const end = body.indexOf('\n\n')
  if (end < 0) return undefined
  const [first = '', ...encoded] = body.slice(0, end).split('\n')
  const oldSize = Number(OLD_SIZE.exec(first)?.[1] ?? Number.NaN)
  if (!Number.isSafeInteger(oldSize) || encoded.length > PROOF_HASHES_MAX) return undefined
  const proof: Uint8Array[] = []
  for (const line of encoded) {
    const hash = decodeStrictBase64(line)
    if (hash?.length !== HASH_BYTES) return undefined
    proof.push(hash)
  }
  return { oldSize, proof, note: body.slice(end + 2) }
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0

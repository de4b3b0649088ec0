/**
 * The journal's side of the witness protocol (https://c2sp.org/tlog-witness), without network and storage. A journal sends
 * its newest checkpoint with a consistency proof from the last cosigned one; the witness cosigns it if the proof holds.
 */
import { openCosignature } from './cosignature.ts'
import { encodeBase64 } from './strict-base64.ts'

/** The most hashes in a consistency proof: the protocol's own limit. */
const PROOF_HASHES_MAX = 63
/** A witness has few keys, with one line each. */
const ANSWER_LINES_MAX = 16

/** The body of a request to `add-checkpoint`. */
type WitnessRequest = {
  /** Size of the last checkpoint that the witness cosigned, 0 for none. */
  readonly oldSize: number
  /** From `oldSize` to the checkpoint's size; empty from 0 and for the same size. */
  readonly proof: readonly Uint8Array[]
  /** The checkpoint as the journal signed it. */
  readonly note: string
}

/** The body of a request. Throws a RangeError for an old size that is not a whole number or for more than 63 hashes. */
export function formatWitnessRequest({ oldSize, proof, note }: WitnessRequest): string {
  if (!Number.isSafeInteger(oldSize) || oldSize < 0)
    throw new RangeError('the old size is a whole number from 0')
  if (proof.length > PROOF_HASHES_MAX)
    throw new RangeError(`a consistency proof has at most ${PROOF_HASHES_MAX} hashes`)
  return [`old ${oldSize}`, ...proof.map(encodeBase64), '', note].join('\n')
}

/**
 * The lines of a witness's answer that a journal may add to its note: those by that witness's key, if all of them verify
 * over this very checkpoint, with the latest time they state. Undefined for any other answer. Never throws.
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

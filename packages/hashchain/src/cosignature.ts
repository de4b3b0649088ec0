/**
 * C2SP cosignatures (https://c2sp.org/tlog-cosignature, `cosignature/v1`) with Ed25519. A witness states that, at a given
 * time, a checkpoint was the largest it had seen of that journal and was consistent with all earlier ones.
 */
import { type NoteAndKey, type RefusedNote, readVerifierKey, signaturesBy } from './checkpoint.ts'

/** The signature type of an Ed25519 cosignature in the signed-note format. */
export const ALGORITHM_COSIGNATURE = 0x04
/** Length of the time in front of the signature, bytes, big-endian. */
export const TIME_BYTES = 8
const SIGNATURE_BYTES = 64

/** The result of opening a note under a witness's key. */
type OpenedCosignature =
  /** `atSeconds`: the latest Unix time that the witness signed for this `text`. */
  { readonly kind: 'opened'; readonly text: string; readonly atSeconds: number } | RefusedNote

/**
 * Checks a note against one witness's verifier key. Lines by other keys are ignored; one failing cosignature by this key
 * refuses the note even if another of its lines verifies. The journal's own signature is not checked.
 *
 * @example openCosignature({ note: checkpoint + line, verifierKey })
 */
export function openCosignature(options: NoteAndKey): OpenedCosignature {
  const own = signaturesBy({ ...options, algorithm: ALGORITHM_COSIGNATURE })
  if (own.kind === 'refused') return own
  let latestSeconds = 0
  for (const blob of own.signatures) {
    const atSeconds = blob.length === TIME_BYTES + SIGNATURE_BYTES ? readSeconds(blob) : undefined
    if (
      atSeconds === undefined ||
      !own.verifies(cosignedMessage(own.text, atSeconds), blob.subarray(TIME_BYTES))
    )
      return { kind: 'refused', reason: 'bad_signature' }
    latestSeconds = Math.max(latestSeconds, atSeconds)
  }
  return { kind: 'opened', text: own.text, atSeconds: latestSeconds }
}

/** Whether a text is a verifier key for cosignatures. Never throws. */
export function isCosignatureKey(text: string): boolean {
  return readVerifierKey(text, ALGORITHM_COSIGNATURE) !== undefined
}

function readSeconds(blob: Buffer): number | undefined {
  const seconds = Number(blob.readBigUInt64BE())
  return Number.isSafeInteger(seconds) ? seconds : undefined
}

/** Builds what a witness signs: the time and the checkpoint's text, not its own name. */
export const cosignedMessage = (text: string, atSeconds: number): string =>
  `cosignature/v1\ntime ${atSeconds}\n${text}`

/**
 * C2SP cosignatures (https://c2sp.org/tlog-cosignature, `cosignature/v1`) with Ed25519. A witness states that, at a given
 * time, a checkpoint was the largest it had seen of that journal and was consistent with all earlier ones.
 */
import {
  createNoteKey,
  type NoteAndKey,
  type NoteKeyOptions,
  readVerifierKey,
  signaturesBy,
} from './signed-note.ts'

/** The signature type of an Ed25519 cosignature in the signed-note format. */
const ALGORITHM_COSIGNATURE = 0x04
/** Length of the time in front of the signature, bytes, big-endian. */
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64

/** Cosigns checkpoints. */
type Cosigner = {
  /** Name in the signature line, by custom a URL without scheme. */
  readonly keyName: string
  /** What readers need to check a cosignature: `name+id+base64(0x04 ‖ public key)`. */
  readonly verifierKey: string
  readonly keyId: string
  /**
   * The signature line, newline included, over a checkpoint's `text`, which ends in a newline; `atSeconds` is Unix time.
   * Throws a RangeError for a time that is not a whole number from 0.
   */
  cosign(options: { readonly text: string; readonly atSeconds: number }): string
}

/** The result of opening a note under a witness's key. */
type OpenedCosignature =
  /** `atSeconds`: the latest Unix time that the witness signed for this `text`. */
  | { readonly kind: 'opened'; readonly text: string; readonly atSeconds: number }
  | {
      readonly kind: 'refused'
      /** As in `openNote`. */
      readonly reason: 'malformed_key' | 'malformed_note' | 'unknown_key' | 'bad_signature'
    }

/**
 * A cosigner from an Ed25519 seed of 32 bytes. The signed message omits the key's name, so use a key under one name only.
 * Throws as `createNoteSigner` does.
 */
export function createCosigner(options: NoteKeyOptions): Cosigner {
  const { signatureLine, ...key } = createNoteKey({ ...options, algorithm: ALGORITHM_COSIGNATURE })
  return {
    ...key,
    cosign: ({ text, atSeconds }) => {
      if (!Number.isSafeInteger(atSeconds) || atSeconds < 0)
        throw new RangeError('a cosignature has a whole number of seconds from 0')
      const time = Buffer.alloc(TIME_BYTES)
      time.writeBigUInt64BE(BigInt(atSeconds))
      return signatureLine((sign) => Buffer.concat([time, sign(messageOf(text, atSeconds))]))
    },
  }
}

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
    const atSeconds = blob.length === TIME_BYTES + SIGNATURE_BYTES ? secondsOf(blob) : undefined
    if (
      atSeconds === undefined ||
      !own.verifies(messageOf(own.text, atSeconds), blob.subarray(TIME_BYTES))
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

function secondsOf(blob: Buffer): number | undefined {
  const seconds = Number(blob.readBigUInt64BE())
  return Number.isSafeInteger(seconds) ? seconds : undefined
}

const messageOf = (text: string, atSeconds: number): string =>
  `cosignature/v1\ntime ${atSeconds}\n${text}`

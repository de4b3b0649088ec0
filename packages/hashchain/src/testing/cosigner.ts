import { createNoteKey, type NoteKeyOptions } from '../checkpoint.ts'
import { ALGORITHM_COSIGNATURE, cosignedMessage, TIME_BYTES } from '../cosignature.ts'

/** The witness's side, with the code that signs notes: its key, and its line over a checkpoint's text at a Unix time. */
export function createCosigner(options: NoteKeyOptions) {
  const { signatureLine, ...key } = createNoteKey({ ...options, algorithm: ALGORITHM_COSIGNATURE })
  return {
    ...key,
    cosign({ text, atSeconds }: { readonly text: string; readonly atSeconds: number }): string {
      const time = Buffer.alloc(TIME_BYTES)
      time.writeBigUInt64BE(BigInt(atSeconds))
      return signatureLine((sign) => Buffer.concat([time, sign(cosignedMessage(text, atSeconds))]))
    },
  }
}

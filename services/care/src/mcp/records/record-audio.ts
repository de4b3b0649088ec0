import { hash } from 'node:crypto'
import { BoundedMap } from '@tallystick/service-kit'
import type { CareRecord } from '../../domain/care-record.ts'
import type { Moment } from '../../domain/retraction.ts'
import { type Speech, SpeechUnavailable, spokenText } from '../../domain/speech.ts'
import { isStale } from '../../domain/staleness.ts'

/** A sentence is 50 to 300 KB in base64, so this bounds memory to about 20 MB. */
const CACHED_MAX = 64

/** Some pages of records, of which a list asks every time: about 1 MB. */
const JUDGED_MAX = 4_096

/** A version, and what is said before it. */
type SpokenVersion = Pick<Parameters<typeof spokenText>[1], 'newestLanguage' | 'superseded'> & {
  readonly record: CareRecord
}

export type RecordAudio = ReturnType<typeof createRecordAudio>

/**
 * Turns records into base64 WAV and remembers the sound by version hash and SHA-256 of the text (C13). A text is
 * synthesised once, however many callers ask at the same time.
 */
export function createRecordAudio(deps: {
  readonly speech: Speech
  readonly onFailure: (error: SpeechUnavailable) => void
}) {
  const speakable = new BoundedMap<string, boolean>(JUDGED_MAX)
  const byText = new BoundedMap<string, Promise<string>>(CACHED_MAX)
  const speak = async (text: string, language: string): Promise<string> =>
    Buffer.from(await deps.speech.speak(text, language)).toString('base64')

  return {
    /** Whether a newest version can be spoken rightly: otherwise its sound is not listed, and does not exist. */
    canSpeak(record: CareRecord, moment: Moment): boolean {
      const { authorLabel, language, versionHash } = record
      if (language === undefined || !deps.speech.hasVoice(language)) return false
      const isAgeSaid = isStale(record, moment.nowMs)
      const key = JSON.stringify([versionHash, language, authorLabel, isAgeSaid])
      const known = speakable.get(key) ?? spokenText(record, moment) !== undefined
      speakable.set(key, known)
      return known
    },
    async spoken(
      { newestLanguage, record, superseded }: SpokenVersion,
      moment: Moment,
    ): Promise<
      | { readonly kind: 'sound'; readonly blob: string }
      /** It cannot be spoken rightly, or not as it is seen. */
      | { readonly kind: 'unspeakable' }
      /** The program failed. */
      | { readonly kind: 'failed' }
    > {
      const text = spokenText(record, { ...moment, superseded, newestLanguage })
      const { language, versionHash } = record
      if (text === undefined || language === undefined || !deps.speech.hasVoice(language))
        return { kind: 'unspeakable' }
      const key = `${versionHash}|${hash('sha256', text)}`
      const audio = byText.get(key) ?? speak(text, language)
      // Setting it again renews it.
      byText.set(key, audio)
      try {
        return { kind: 'sound', blob: await audio }
      } catch (error) {
        byText.delete(key)
        if (!(error instanceof SpeechUnavailable)) throw error
        deps.onFailure(error)
        return { kind: 'failed' }
      }
    },
  }
}

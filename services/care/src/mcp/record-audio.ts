import { hash } from 'node:crypto'
import type { CareRecord } from '../domain/care-record.ts'
import { type RecordAge, type Speech, SpeechUnavailable, spokenText } from '../domain/staleness.ts'

/** The spoken form of records, as base64 WAV. */
export type RecordAudio = {
  /** Undefined where the sentence could not be spoken. */
  spoken(record: CareRecord, age: RecordAge): Promise<string | undefined>
}

/** A sentence is 50 to 300 KB of base64: this bounds the memory at about 20 MB. */
const CACHED_MAX = 64

/** Speaks through a port and remembers by version hash and SHA-256 of the text (C13); one text is spoken once, however many ask at the same time. */
export function createRecordAudio(deps: {
  readonly speech: Speech
  readonly onFailure: (error: SpeechUnavailable) => void
}): RecordAudio {
  const byText = new Map<string, Promise<string>>()

  const speak = async (text: string): Promise<string> =>
    Buffer.from(await deps.speech.speak(text)).toString('base64')
  const remember = (key: string, audio: Promise<string>): void => {
    byText.set(key, audio)
    const [oldest] = byText.keys()
    if (byText.size > CACHED_MAX && oldest !== undefined) byText.delete(oldest)
  }

  return {
    async spoken(record, age) {
      const text = spokenText(record.value, age)
      const key = `${record.versionHash}|${hash('sha256', text)}`
      const known = byText.get(key)
      const audio = known ?? speak(text)
      // Put back at the end: the order of a map is the order of use.
      byText.delete(key)
      remember(key, audio)
      try {
        return await audio
      } catch (error) {
        byText.delete(key)
        if (!(error instanceof SpeechUnavailable)) throw error
        deps.onFailure(error)
        return undefined
      }
    },
  }
}

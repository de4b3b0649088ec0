/** What is said of a record, and the port that turns it into sound (C13). */
import { decodeText } from '../wire/text-of-others.ts'
import type { CareRecord } from './care-record.ts'
import { type Moment, saidBy } from './retraction.ts'
import { spokenForm } from './spoken-form.ts'
import { spokenWords } from './spoken-words.ts'
import { type Aged, spokenAge } from './staleness.ts'

/**
 * The spoken text of a version: of an older one first that it was replaced (C34); then its value and, past its review date, a
 * sentence about its age. Undefined if it cannot be spoken as it is seen (C45), or rightly by a voice of its language (C37).
 */
export const spokenText = (
  record: Aged & Pick<CareRecord, 'status' | 'value'>,
  sentence: Moment & {
    readonly superseded?: string | undefined
    /** Of the version that replaced it, whose language that sentence has. */
    readonly newestLanguage?: string | undefined
  },
): string | undefined => {
  const { newestLanguage, nowMs, superseded = '', timeZone } = sentence
  const { language } = record
  if (language === undefined || (superseded !== '' && newestLanguage !== language)) return undefined
  const age = spokenAge(record, nowMs, timeZone) ?? ''
  const lines = [decodeText(superseded), saidBy(record), decodeText(age)]
  const said = spokenForm(lines.filter((line) => line !== '').join('\n'))
  return said === undefined ? undefined : spokenWords(said, language)
}

/** The port that turns text into sound; adapters/outside/espeak-speech.ts implements it. */
export type Speech = {
  /** Whether the machine has a voice that speaks that language. */
  hasVoice(language: string): boolean
  /** A WAV file of the text, by a voice of that language, which has one. Rejects with `SpeechUnavailable`. */
  speak(text: string, language: string): Promise<Uint8Array>
}

/** The speech program failed or reached its time limit, or too many texts are waiting. */
export class SpeechUnavailable extends Error {
  override readonly name = 'SpeechUnavailable'
}

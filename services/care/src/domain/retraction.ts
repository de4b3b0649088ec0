/** What is said of a value that no longer holds (C10, C29, C34, C37). Pure: the browser runs this file too. */
import { lineText, quotedValue } from '../wire/text-of-others.ts'
import { say, sayCount, type Texts, textsIn } from '../wire/texts.ts'
import type { CareRecord } from './care-record.ts'
import { spokenAge } from './staleness.ts'

/** What no longer holds, and what holds instead. */
type Correction = {
  /** The value that the listener holds. */
  readonly previousValue: string
  /** Other values that may have been heard since and no longer hold either. */
  readonly withdrawn?: readonly string[]
  /** How often the value changed meanwhile. */
  readonly corrections?: number
  readonly value: string
  readonly authorLabel: string
  /** Of the value, and of the sentence. */
  readonly language?: string | undefined
}

/** A sentence with a value in quotation marks, which may already end the sentence by itself. */
function sayQuoted(
  texts: Texts,
  message: 'disregard' | 'alsoDisregard' | 'now',
  quoted: string,
): string {
  const value = quotedValue(quoted, texts)
  const isEnded = !texts[message].endsWith('{value}') || /[.!?…؟۔。！？]$/u.test(quoted.trim())
  return say(texts, message, { value }) + (isEnded ? '' : '.')
}

/**
 * The sentences that take back every value that no longer holds, and say what holds now; undefined if everything said still
 * holds (C10, C29).
 */
export function retractionSentence(correction: Correction): string | undefined {
  const { previousValue, withdrawn = [], corrections = 1, value, authorLabel } = correction
  const past = [...new Set([previousValue, ...withdrawn])].filter((one) => one !== value)
  const [first, ...more] = past
  if (first === undefined) return undefined
  const texts = textsIn(correction.language)
  return [
    say(texts, 'correction', { author: lineText(authorLabel) }),
    sayQuoted(texts, 'disregard', first),
    ...more.map((earlier) => sayQuoted(texts, 'alsoDisregard', earlier)),
    ...(corrections > 1 ? [sayCount(texts, 'corrected', { count: corrections })] : []),
    sayQuoted(texts, 'now', value),
  ].join(' ')
}

/** When something is said, and where: by the clinic's calendar. */
export type Moment = { readonly nowMs: number; readonly timeZone?: string | undefined }

/**
 * What a read of an older version says first (C34): that it was replaced, and what holds now, with its age if that is stale. The
 * old value follows it. `newest.record` is undefined if the newest version failed verification: then nothing is said of it.
 */
export function supersededSentence(
  old: Pick<CareRecord, 'version' | 'value' | 'language'>,
  newest: { readonly version: number; readonly record: CareRecord | undefined },
  { nowMs, timeZone }: Moment,
): string {
  const { record } = newest
  const versions = { old: old.version, new: newest.version }
  const texts = textsIn(record === undefined ? old.language : record.language)
  const over = say(texts, 'over')
  if (record === undefined) return `${say(texts, 'replacedUnverified', versions)} ${over}`
  const age = spokenAge(record, nowMs, timeZone)
  return [
    say(texts, 'replaced', versions),
    sayQuoted(texts, 'now', record.value),
    ...(age === undefined ? [] : [age]),
    ...(record.value === old.value ? [] : [over]),
  ].join(' ')
}

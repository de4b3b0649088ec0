/** What is said of a value that no longer holds (C10, C29, C34). Pure: the browser runs this file too. */
import { lineText, quotedValue } from '../wire/text-of-others.ts'
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
}

/** A value in quotation marks at the end of a sentence, which the value may already end by itself. */
const quotedAtEnd = (value: string): string =>
  /[.!?…]$/.test(value.trim()) ? quotedValue(value) : `${quotedValue(value)}.`

/**
 * The sentences that take back every value that no longer holds, and say what holds now; undefined if everything said still
 * holds (C10, C29).
 */
export function retractionSentence(correction: Correction): string | undefined {
  const { previousValue, withdrawn = [], corrections = 1, value, authorLabel } = correction
  const past = [...new Set([previousValue, ...withdrawn])].filter((one) => one !== value)
  const [first, ...more] = past
  if (first === undefined) return undefined
  return [
    `Correction from ${lineText(authorLabel)}.`,
    `Please disregard ${quotedAtEnd(first)}`,
    ...more.map((one) => `Also disregard ${quotedAtEnd(one)}`),
    ...(corrections > 1 ? [`It was corrected ${corrections} times.`] : []),
    `It is now ${quotedAtEnd(value)}`,
  ].join(' ')
}

/**
 * What a read of an older version says first (C34): that it was replaced, and what holds now, with its age if that is stale. The
 * old value follows it. `newest.record` is undefined if the newest version failed verification: then nothing is said of it.
 */
export function supersededSentence(
  old: Pick<CareRecord, 'version' | 'value'>,
  newest: { readonly version: number; readonly record: CareRecord | undefined },
  nowMs: number,
): string {
  const { record, version } = newest
  const replaced = `Version ${old.version} was replaced by version ${version}`
  const over = 'What follows no longer holds.'
  if (record === undefined) return `${replaced}, which failed verification. ${over}`
  const age = spokenAge(record, nowMs)
  return [
    `${replaced}.`,
    `It is now ${quotedAtEnd(record.value)}`,
    ...(age === undefined ? [] : [age]),
    ...(record.value === old.value ? [] : [over]),
  ].join(' ')
}

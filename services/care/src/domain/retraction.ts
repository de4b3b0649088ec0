/** What is said of a value that no longer holds (C10, C29, C34, C37, C40). Pure: the browser runs this file too. */
import type { Withdrawal } from '../wire/records.ts'
import { lineText, quotedValue } from '../wire/text-of-others.ts'
import { say, sayCount, type Texts, textsIn } from '../wire/texts.ts'
import type { CareRecord } from './care-record.ts'
import { spokenAge } from './staleness.ts'

/** The message that says why a record was withdrawn. */
const REASONS: Readonly<Record<Withdrawal, 'inError' | 'wrongPerson'>> = {
  'entered-in-error': 'inError',
  'wrong-person': 'wrongPerson',
}

/** Whether a text names a kind of withdrawal. */
export const isWithdrawal = (text: string): text is Withdrawal => Object.hasOwn(REASONS, text)

/** What stands in place of a value where a version withdraws the record. */
export function withdrawnSentence(withdrawal: {
  readonly status: Withdrawal
  readonly language?: string | undefined
}): string {
  const texts = textsIn(withdrawal.language)
  return `${say(texts, 'withdrawn')} ${say(texts, REASONS[withdrawal.status])}`
}

/** What a version says: its value, not encoded, or that the record was withdrawn. */
export const saidBy = ({
  language,
  status,
  value,
}: Pick<CareRecord, 'language' | 'status' | 'value'>): string =>
  status === undefined ? value : withdrawnSentence({ status, language })

/** What no longer holds, and what holds instead. */
type Correction = {
  /** The value that the listener holds; empty if the record was withdrawn then. */
  readonly previousValue: string
  /** Other values that may have been heard since and no longer hold either. */
  readonly withdrawn?: readonly string[]
  /** How often the value changed meanwhile. */
  readonly corrections?: number
  readonly value: string
  /** Why nothing holds instead. */
  readonly status?: Withdrawal | undefined
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
  const { authorLabel, corrections = 1, previousValue, status, value, withdrawn = [] } = correction
  const past = new Set([previousValue, ...withdrawn])
  past.delete(value)
  if (past.size === 0) return undefined
  const wasWithdrawn = past.delete('')
  const [first, ...more] = past
  const texts = textsIn(correction.language)
  return [
    say(texts, 'correction', { author: lineText(authorLabel) }),
    ...(first === undefined ? [] : [sayQuoted(texts, 'disregard', first)]),
    ...more.map((earlier) => sayQuoted(texts, 'alsoDisregard', earlier)),
    ...(wasWithdrawn ? [say(texts, 'wasWithdrawn')] : []),
    ...(corrections > 1 ? [sayCount(texts, 'corrected', { count: corrections })] : []),
    status === undefined
      ? sayQuoted(texts, 'now', value)
      : withdrawnSentence({ status, language: correction.language }),
  ].join(' ')
}

/** When something is said, and where: by the clinic's calendar. */
export type Moment = { readonly nowMs: number; readonly timeZone?: string | undefined }

/**
 * What a read of an older version says first (C34): that it was replaced, and what holds now, with its age if that is stale, or
 * that it was withdrawn. The old value follows it. `newest.record` is undefined if the newest version failed verification: then nothing is said of it.
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
  if (record.status !== undefined)
    return [say(texts, 'withdrawnBy', versions), say(texts, REASONS[record.status]), over].join(' ')
  const age = spokenAge(record, nowMs, timeZone)
  return [
    say(texts, 'replaced', versions),
    sayQuoted(texts, 'now', record.value),
    ...(age === undefined ? [] : [age]),
    ...(record.value === old.value ? [] : [over]),
  ].join(' ')
}

/**
 * What the service's own sentences read as, in every language of `texts/` (C45): whatever others wrote that reads like a piece of
 * one is shown so that it cannot be taken for it, whichever language surrounds it. Derived from the messages, so that a language is
 * covered with its file. English has more shapes, which stand in text-of-others.ts. Pure: the browser runs this file too.
 */
import { readsAs } from './reads-as.ts'
import { TEXTS, type Texts } from './texts.ts'

const OTHERS: readonly Texts[] = [...TEXTS.values()].filter(({ language }) => language !== 'en')

/** Stand for places while a message is folded. */
const ANY = '§'
const NUMBER = '¤'
const NUMBERS = /\{(?:count|days|old|new)\}/g
/** Fewer letters stand in ordinary labels. */
const LETTERS_MIN = 7

/** A message as it is read, as a regular expression; a full stop at its end may be missing. */
function reading(message: string): string {
  const folded = readsAs(message.replace(NUMBERS, NUMBER).replace(/\{\w+\}/g, ANY))
  return (
    folded
      .replace(/[\s.:]+$/u, '')
      .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
      // Apostrophes, of which there are many.
      .replaceAll(/['’]/g, String.raw`['‘’′´\x60]?`)
      .replaceAll(NUMBER, String.raw`[\p{L}\p{N}]{1,20}`)
      .replaceAll(ANY, '.*')
  )
}

/** What stands before the first place of a message. */
const beginning = (message: string): string => message.replace(/\{.*/s, '')

const alternatives = (patterns: readonly string[]): string =>
  [...new Set(patterns)].filter((pattern) => pattern !== '').join('|')

const AS_QUOTE = `(?:"|['‘’′´\`]{2})`

/** An age in brackets, as far as the first word that tells. */
export const AGE_READS = new RegExp(
  `\\[ ?(?:${alternatives(
    OTHERS.flatMap(({ ageFresh, ageStale }) =>
      [ageFresh, ageStale].map((line) => reading(/[\p{L}\p{M}]+/u.exec(line)?.[0] ?? '')),
    ),
  )})(?!\\p{L})`,
  'u',
)

/** A quotation and what stands around it in a correction. */
export const QUOTATION_READS = new RegExp(
  `(?:${alternatives(
    OTHERS.flatMap(({ alsoDisregard, disregard, now }) =>
      [disregard, alsoDisregard, now].map((message) => reading(beginning(message))),
    ),
  )})[ :]*${AS_QUOTE}|${AS_QUOTE}[ .!?]*(?:${alternatives(
    OTHERS.flatMap(({ alsoDisregard, corrected, disregard, now, wasWithdrawn, withdrawn }) => [
      ...[disregard, alsoDisregard, now].map((message) => reading(beginning(message))),
      ...[...Object.values(corrected), wasWithdrawn, withdrawn].map(reading),
    ]),
  )})`,
  'u',
)

/** The beginning of a line that may stand above a value. */
export const LINE_READS = new RegExp(
  `^[^\\p{L}\\p{N}]*(?:${alternatives(
    OTHERS.flatMap((texts) => [
      `${reading(texts.correction)}.*(?:${reading(beginning(texts.disregard))}|${reading(texts.wasWithdrawn)})`,
      reading(texts.replaced.replace(/\{new\}.*/s, '')),
      reading(texts.withdrawnBy.replace(/\{new\}.*/s, '')),
      reading(texts.withdrawn),
      reading(beginning(texts.spokenStale)),
      reading(texts.data.split(' ').slice(0, 5).join(' ')),
    ]),
  )})`,
  'u',
)

/** The letters alone of a text as it is read. */
export const lettersIn = (read: string): string => read.replace(/[^\p{L}]+/gu, '')

/** What is said around a label, as letters alone. */
export const LABEL_READS = new RegExp(
  alternatives(
    OTHERS.flatMap((texts) =>
      [
        texts.correction,
        texts.disregard,
        texts.alsoDisregard,
        texts.now,
        texts.over,
        texts.withdrawn,
        texts.wasWithdrawn,
        texts.spokenStale,
        ...[texts.replaced, texts.withdrawnBy].map((message) =>
          message.replace(/.*\{old\}/s, '').replace(/\{new\}.*/s, ''),
        ),
        texts.ageStale.replace(/.*\}/s, ''),
      ].map((message) => lettersIn(readsAs(message.replace(/\{.*/s, '')))),
    ).filter((letters) => letters.length >= LETTERS_MIN),
  ),
  'u',
)

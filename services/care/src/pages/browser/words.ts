/** What this page says, in its own language, which the server wrote into its head (C37). */
import { pageFact } from '@tallystick/service-kit/browser'
import { languageAttributes } from '../../wire/language-tag.ts'
import { fillPlaces, formFor, type Parts } from '../../wire/texts.ts'
import type { PageName, PageWords, Translated } from '../page-words.ts'

/** Of all pages: a script names those of its own. */
type Texts = PageWords<'overview'>['texts'] &
  PageWords<'clinician'>['texts'] &
  PageWords<'echo'>['texts'] &
  PageWords<'reads'>['texts'] &
  PageWords<'timeline'>['texts'] &
  Translated['signIn']
type Words = Omit<PageWords<PageName>, 'texts'> & { readonly texts: Texts }
type WordName = {
  [Key in keyof Texts]: Texts[Key] extends string ? Key : never
}[keyof Texts]
type CountName = Exclude<keyof Texts, WordName>

let read: { readonly fact: string; readonly words: Words } | undefined
/** Read once, unless the page's head says something else. */
function words(): Words {
  const fact = pageFact('words')
  if (read?.fact !== fact) read = { fact, words: JSON.parse(fact) }
  return read.words
}

/** A message with what stands in its places. */
export const word = (name: WordName, parts: Parts = {}): string =>
  fillPlaces(words(), words().texts[name], parts)

/** A message with elements in its places. */
export const wordAround = (
  name: WordName,
  parts: Readonly<Record<string, Node | string>>,
): readonly (Node | string)[] =>
  words()
    .texts[name].split(/\{(\w+)\}/)
    .map((piece, at) => (at % 2 === 1 ? (parts[piece] ?? '') : piece))

/** A message about a number. */
export const countWord = (name: CountName, count: number, parts: Parts = {}): string =>
  fillPlaces(words(), formFor(words().language, words().texts[name], count), { ...parts, count })

/** The attributes of what the page itself says, among texts of records. */
export const pageAttributes = (): Readonly<Record<string, string>> =>
  languageAttributes(words().language)

/**
 * A moment as the clinic's clock and calendar have it: ages of records go by them, too (C37). With the name of the clinic's zone where
 * the reader's clock says something else, or where it is read elsewhere.
 */
function inClinic(at: number | string, parts: DateTimeParts, isReadElsewhere = false): string {
  const time = new Date(at)
  const locale = localeOfPage()
  const here = time.toLocaleString(locale, parts)
  try {
    const timeZone = pageFact('time-zone')
    if (!isReadElsewhere && here === time.toLocaleString(locale, { ...parts, timeZone }))
      return here
    return time.toLocaleString(locale, { ...parts, timeZone, timeZoneName: 'short' })
  } catch {
    // An older browser does not know the zone: the time is the reader's.
    return time.toLocaleString(locale, { ...parts, timeZoneName: 'short' })
  }
}

type DateTimeParts = Intl.DateTimeFormatOptions
const DAY = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
const CLOCK = { hour: 'numeric', minute: '2-digit' } as const

export const clinicTime = (at: number | string, parts: DateTimeParts = {}): string =>
  inClinic(at, { ...DAY, ...CLOCK, ...parts })

/** The moment of a list on a screen, with the day once it is not today's. */
export const listTime = (at: number, nowMs: number): string =>
  inClinic(at, DAY) === inClinic(nowMs, DAY)
    ? inClinic(at, { ...CLOCK, second: '2-digit' })
    : clinicTime(at)

/** The moment of a list that is taken along, on paper. */
export const carriedTime = (at: number): string =>
  inClinic(at, { ...DAY, ...CLOCK, month: 'long' }, true)

/** A moment by the reader's clock, with the day once it is not today's. */
export function timeText(at: number | string, nowMs = Date.now()): string {
  const time = new Date(at)
  return time.toDateString() === new Date(nowMs).toDateString()
    ? time.toLocaleTimeString(localeOfPage())
    : time.toLocaleString(localeOfPage())
}

/** For times and dates; an English page has them as its reader's browser does. */
export const localeOfPage = (): string | undefined => {
  const { language } = words()
  return language === 'en' ? undefined : language
}

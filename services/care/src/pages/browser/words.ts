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
 * A record's time, as the clinic's clock and calendar have it: its age goes by them, too (C37). Where the reader's clock says
 * something else, with the name of the clinic's zone.
 */
export function clinicTime(at: number | string, options: Intl.DateTimeFormatOptions = {}): string {
  const time = new Date(at)
  const locale = localeOfPage()
  const shown = { year: 'numeric', month: 'numeric', day: 'numeric', ...CLOCK, ...options } as const
  const here = time.toLocaleString(locale, shown)
  try {
    const timeZone = pageFact('time-zone')
    if (here === time.toLocaleString(locale, { ...shown, timeZone })) return here
    return time.toLocaleString(locale, { ...shown, timeZone, timeZoneName: 'short' })
  } catch {
    // An older browser does not know the zone.
    return here
  }
}

const CLOCK = { hour: 'numeric', minute: '2-digit' } as const

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

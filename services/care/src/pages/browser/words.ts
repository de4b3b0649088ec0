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

/** For times and dates; an English page has them as its reader's browser does. */
export const localeOfPage = (): string | undefined => {
  const { language } = words()
  return language === 'en' ? undefined : language
}

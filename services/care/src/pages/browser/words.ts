/** What this page says, in its own language, which the server wrote into its head (C37). */
import { pageFact } from '@tallystick/service-kit/browser'
import { fillPlaces, formFor, type Parts } from '../../wire/texts.ts'
import type { PageWords } from '../page-words.ts'

/** Of all pages: a script names those of its own. */
type Texts = PageWords<'echo'>['texts'] & PageWords<'reads'>['texts']
type Words = Omit<PageWords<'echo'>, 'texts'> & { readonly texts: Texts }
type WordName = {
  [Key in keyof Texts]: Texts[Key] extends string ? Key : never
}[keyof Texts]
type CountName = Exclude<keyof Texts, WordName>

let read: Words | undefined
function words(): Words {
  const given: Words = read ?? JSON.parse(pageFact('words'))
  read = given
  return given
}

/** A message with what stands in its places. */
export const word = (name: WordName, parts: Parts = {}): string =>
  fillPlaces(words(), words().texts[name], parts)

/** A message about a number. */
export const countWord = (name: CountName, count: number): string =>
  fillPlaces(words(), formFor(words().language, words().texts[name], count), { count })

/** For times and dates; an English page has them as its reader's browser does. */
export const localeOfPage = (): string | undefined => {
  const { language } = words()
  return language === 'en' ? undefined : language
}

/**
 * What the pages themselves say, in the languages of `words/` (C37): a file for each, which a translator can read. English has
 * every message, each page's beside what all share and what all say where people sign in, and stands in where there is no file.
 * What stands between \`backquotes\` is to be typed as it is.
 */
import { Html, html } from '@tallystick/service-kit/pages'
import { z } from 'zod'
import { TEXTS, textsIn } from '../wire/texts.ts'
import { counted, formsIn, message, placesIn } from '../wire/texts-schema.ts'
import ar from './words/ar.json' with { type: 'json' }
import de from './words/de.json' with { type: 'json' }
import en from './words/en.json' with { type: 'json' }
import es from './words/es.json' with { type: 'json' }
import fr from './words/fr.json' with { type: 'json' }
import it from './words/it.json' with { type: 'json' }
import nl from './words/nl.json' with { type: 'json' }
import pl from './words/pl.json' with { type: 'json' }
import tr from './words/tr.json' with { type: 'json' }

type Groups = typeof en
export type Translated = {
  readonly [Group in keyof Groups]: {
    readonly [Key in keyof Groups[Group]]: Groups[Group][Key] extends string
      ? string
      : Readonly<Record<string, string>>
  }
}

/** A page in the service's language. */
export type PageName = Exclude<keyof Groups, 'shared' | 'signIn'>

/** What one page says, with what all say, and in which language. */
export type PageWords<Page extends PageName> = {
  readonly language: string
  readonly isRightToLeft: boolean
  readonly texts: Translated['shared'] & Translated[Page]
}

export const PAGE_WORDS: Readonly<Record<string, Translated>> = {
  en,
  ar,
  de,
  es,
  fr,
  it,
  nl,
  pl,
  tr,
}

/** The words for a page of a service in that language. */
export function pageWords<Page extends PageName>(
  tag: string | undefined,
  page: Page,
): PageWords<Page> {
  const { language, isRightToLeft } = textsIn(tag)
  const { [page]: own, shared, signIn } = PAGE_WORDS[language] ?? en
  // Nobody signs in on the overview.
  const common = page === 'overview' ? shared : { ...shared, ...signIn }
  return { language, isRightToLeft, texts: { ...common, ...own } }
}

/** For markup: each message by its name, with what is typed as code. */
export const markupWords = ({
  texts,
}: Pick<PageWords<PageName>, 'texts'>): Readonly<Record<string, Html>> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      typeof text === 'string' ? [[name, withCode(text)]] : [],
    ),
  )

const withCode = (text: string): Html =>
  html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<bdi class="mono">${part}</bdi>` : part))}`

/** Every message of English, with its places. */
const schema = z.strictObject(
  Object.fromEntries(
    Object.entries(en).map(([group, messages]) => [
      group,
      z.strictObject(
        Object.fromEntries(
          Object.entries(messages).map(([name, text]) => [
            name,
            typeof text === 'string'
              ? message(...placesIn(text))
              : counted(...placesIn(text.other).filter((place) => place !== 'count')),
          ]),
        ),
      ),
    ]),
  ),
)

/** What is wrong with a language's words; undefined for nothing. */
export function wordsFault(language: string, words: unknown): string | undefined {
  const { data, error } = schema.safeParse(words)
  if (data === undefined) return `words of ${language}: ${z.prettifyError(error)}`
  const forms = formsIn(language)
  const wrong = Object.values(data)
    .flatMap((messages) => Object.entries(messages))
    .find(([, text]) => typeof text === 'object' && Object.keys(text).toSorted().join() !== forms)
  return wrong && `words of ${language}: ${wrong[0]} needs the forms ${forms}`
}

/** Throws for a file of `words/` that lacks something, and for a language of `texts/` without one. */
export function requireWords(): void {
  for (const language of TEXTS.keys()) {
    const fault = wordsFault(language, PAGE_WORDS[language])
    if (fault !== undefined) throw new Error(fault)
  }
}

/**
 * What the service says around what people wrote, in the languages of `texts/` (C37): a file for each, which a translator can read
 * and wire/texts-schema.ts checks. English has care.md's shapes, and stands in for every other language. Pure: the browser runs
 * this file too.
 */
import ar from './texts/ar.json' with { type: 'json' }
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }
import es from './texts/es.json' with { type: 'json' }
import fr from './texts/fr.json' with { type: 'json' }
import it from './texts/it.json' with { type: 'json' }
import nl from './texts/nl.json' with { type: 'json' }
import pl from './texts/pl.json' with { type: 'json' }
import tr from './texts/tr.json' with { type: 'json' }
import type { Messages } from './texts-schema.ts'

/** The messages of one language. */
export type Texts = Messages & {
  readonly language: string
  readonly isRightToLeft: boolean
}

const FIRST_ISOLATE = '\u2068'
const END_ISOLATE = '\u2069'

/** By primary language. */
export const MESSAGES: Readonly<Record<string, Messages>> = { en, ar, de, es, fr, it, nl, pl, tr }

export const TEXTS: ReadonlyMap<string, Texts> = new Map(
  Object.entries(MESSAGES).map(([language, messages]) => [
    language,
    { ...messages, language, isRightToLeft: language === 'ar' },
  ]),
)

export const ENGLISH: Texts = { ...en, language: 'en', isRightToLeft: false }

/** The texts for a BCP 47 tag; English where it is unknown, or nobody has translated yet. */
export const textsIn = (language: string | undefined): Texts =>
  TEXTS.get((language ?? '').replace(/-.*/s, '')) ?? ENGLISH

type OfWords = {
  [Key in keyof Messages]: Messages[Key] extends string ? Key : never
}[keyof Messages]
type OfCounts = Exclude<keyof Messages, OfWords | 'quotes'>
export type Parts = Readonly<Record<string, string | number>>

/** One run of letters and digits: numbers, URIs, cursors. */
const ONE_RUN = /^(?:[\w:/.%-]*\w)?$/

/** Between words from the right, what stands in a place has a direction of its own. */
export const fillPlaces = (
  { isRightToLeft }: Pick<Texts, 'isRightToLeft'>,
  template: string,
  parts: Parts,
): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const part = String(parts[name])
    return isRightToLeft && !ONE_RUN.test(part) && !part.includes(FIRST_ISOLATE)
      ? FIRST_ISOLATE + part + END_ISOLATE
      : part
  })

/** A message with what stands in its places, each encoded before (C45). */
export const say = (texts: Texts, message: OfWords, parts: Parts = {}): string =>
  fillPlaces(texts, texts[message], parts)

const rules = new Map<string, Intl.PluralRules>()

/** That language's form for a number. */
export function formFor(
  language: string,
  forms: Readonly<Record<string, string>>,
  count: number,
): string {
  const rule = rules.get(language) ?? new Intl.PluralRules(language)
  rules.set(language, rule)
  return forms[rule.select(count)] ?? forms['other'] ?? ''
}

/** A message about a number, in that language's form for it. */
export function sayCount(
  texts: Texts,
  message: OfCounts,
  { count, ...parts }: Parts & { readonly count: number },
): string {
  return fillPlaces(texts, formFor(texts.language, texts[message], count), { ...parts, count })
}

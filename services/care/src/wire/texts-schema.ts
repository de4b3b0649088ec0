/** What a file of `texts/` has to hold: every message, with the places that its sentence fills and no other. */
import { z } from 'zod'

export const placesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).toSorted()

export const message = (...places: readonly string[]) =>
  z
    .string()
    .min(1)
    .refine((text) => placesIn(text).join() === places.toSorted().join(), {
      message: `expected the places ${places.join(', ') || 'of none'}`,
    })

/** English has care.md's count of days, other languages have words. */
const age = z.union([message('days', 'author'), message('when', 'author')])

/** By CLDR's names; a form for one number alone may say it in a word. */
export const counted = (...places: readonly string[]) =>
  z.partialRecord(
    z.enum(['zero', 'one', 'two', 'few', 'many', 'other']),
    z.union([message('count', ...places), message(...places)]),
  )

const messages = z.strictObject({
  /** What begins and ends a quotation. */
  quotes: z.array(z.string().regex(/^\u00A0?["“”„«»]\u00A0?$/)).length(2),
  correction: message('author'),
  disregard: message('value'),
  alsoDisregard: message('value'),
  corrected: counted(),
  now: message('value'),
  replaced: message('old', 'new'),
  replacedUnverified: message('old', 'new'),
  withdrawn: message(),
  withdrawnBy: message('old', 'new'),
  wasWithdrawn: message(),
  inError: message(),
  wrongPerson: message(),
  over: message(),
  ageFresh: age,
  ageStale: age,
  wordsFresh: message('when', 'author'),
  wordsStale: message('when', 'author'),
  spokenStale: message('when', 'author'),
  brief: message('patient'),
  briefEmpty: message(),
  briefUnverified: message(),
  briefMore: message('cursor'),
  changedOf: counted('patient', 'since'),
  since: message('time'),
  changedHow: message(),
  data: message(),
  revisions: counted(),
  nowIs: message('value'),
  unverified: message(),
  noRecords: message(),
  listed: message('uri', 'version'),
  more: message('cursor'),
  moreAtOnce: message('cursor'),
  nextTime: message('cursor'),
  /** What hosts show to people. */
  title: message('domain', 'patient'),
  spokenTitle: message('title'),
  cardTitle: message(),
  cardName: message(),
  cardHeading: message(),
  cardAsOf: message('time'),
  cardEmpty: message(),
  cardUnchanged: message(),
  briefTitle: message(),
  briefWhat: message(),
  saidTitle: message(),
  changesTitle: message(),
  changesWhat: message(),
  patientWhat: message(),
  sinceWhat: message(),
  cursorWhat: message(),
  listTitle: message(),
  readTitle: message(),
  behindTitle: message(),
  searchTitle: message(),
  fetchTitle: message(),
})

type Counted = Readonly<Record<string, string>>

export type Messages = {
  readonly [Key in keyof z.infer<typeof messages>]: z.infer<typeof messages>[Key] extends string
    ? string
    : z.infer<typeof messages>[Key] extends readonly string[]
      ? readonly string[]
      : Counted
}

/** The forms of number that a language has. */
export const formsIn = (language: string): string =>
  new Intl.PluralRules(language).resolvedOptions().pluralCategories.toSorted().join()

/** What is wrong with a language's messages; undefined for nothing. */
export function textsFault(language: string, texts: unknown): string | undefined {
  const { data, error } = messages.safeParse(texts)
  if (data === undefined) return `texts of ${language}: ${z.prettifyError(error)}`
  const forms = formsIn(language)
  const wrong = (['corrected', 'changedOf', 'revisions'] as const).find(
    (name) => Object.keys(data[name]).toSorted().join() !== forms,
  )
  return wrong && `texts of ${language}: ${wrong} needs the forms ${forms}`
}

/** Throws for a file of `texts/` that lacks something: nobody hears half a sentence. */
export function requireTexts(all: Readonly<Record<string, unknown>>): void {
  for (const [language, texts] of Object.entries(all)) {
    const fault = textsFault(language, texts)
    if (fault !== undefined) throw new Error(fault)
  }
}

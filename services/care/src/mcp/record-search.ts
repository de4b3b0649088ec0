/** Finding records by words, for the tool `search` (C26), only among those that the caller may read. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChainHead } from '../domain/record-store.ts'
import { type Reach, reachOf, reachWithin } from '../domain/scopes.ts'
import { chainUri } from '../wire/record-uri.ts'
import { type CallContext, noteRead } from './visible-records.ts'

/** Records in one answer: a model reads a few of them. */
const RESULTS_MAX = 20
/** Words of a query that count; the rest of a longer one is ignored. */
const WORDS_MAX = 16
/** Patients whose name a word may begin. */
const PATIENTS_MAX = 10
/** From this length on, words that begin alike match: medication, medications. */
const STEM_CHARS = 4
/** A word in a record's name counts more than one in its text. */
const NAME_WEIGHT = 3

const wordsOf = (text: string): readonly string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

const isAlike = (left: string, right: string): boolean =>
  left === right ||
  (left.length >= STEM_CHARS &&
    right.length >= STEM_CHARS &&
    (left.startsWith(right) || right.startsWith(left)))

/** How well a record answers a query; 0 if it does not. */
export function scoreOf(
  asked: readonly string[],
  record: { readonly name: string; readonly value: string },
): number {
  const [named, said] = [wordsOf(record.name), wordsOf(record.value)]
  return asked.reduce((sum, word) => {
    if (named.some((one) => isAlike(word, one))) return sum + NAME_WEIGHT
    return said.some((one) => isAlike(word, one)) ? sum + 1 : sum
  }, 0)
}

/** The part of a reach that belongs to patients whom the query names; all of it if it names none. */
async function reachAsked(
  { store }: CallContext,
  reach: readonly Reach[],
  query: string,
): Promise<readonly Reach[]> {
  const typed = query.match(/[\p{L}\p{N}]+/gu)?.slice(0, WORDS_MAX) ?? []
  const prefixes = typed.flatMap((word) => {
    const lower = word.toLowerCase()
    return [word, lower, lower.charAt(0).toUpperCase() + lower.slice(1)]
  })
  const patients = new Set<string>()
  for (const prefix of new Set(prefixes)) {
    const found = await store.names({ of: 'patient', prefix, reach, limit: PATIENTS_MAX })
    for (const name of found) if (wordsOf(name).includes(prefix.toLowerCase())) patients.add(name)
  }
  return patients.size === 0
    ? reach
    : [...patients].flatMap((patient) => reachWithin(reach, patient))
}

type Found = { readonly head: ChainHead; readonly score: number }

/**
 * The current records that answer a query best. `truncated` if more chains are within reach than one search looks at: then
 * a query that names its patient looks at the right ones.
 */
export async function searchRecords(
  context: CallContext,
  query: string,
): Promise<{ readonly found: readonly ChainHead[]; readonly truncated: boolean }> {
  const asked = [...new Set(wordsOf(query))].slice(0, WORDS_MAX)
  const reach = reachOf(context.principal.scopes)
  if (asked.length === 0 || reach.length === 0) return { found: [], truncated: false }
  const within = await reachAsked(context, reach, query)
  const { pageChains, searchChainsMax } = context.limits
  const scored: Found[] = []
  let after: number | undefined
  let looked = 0
  for (;;) {
    const heads = await context.store.heads({ reach: within, after, limit: pageChains })
    for (const head of heads) {
      const score = await scoreOfChain(context, head, asked)
      if (score > 0) scored.push({ head, score })
    }
    looked += heads.length
    after = heads.at(-1)?.sequence
    if (heads.length < pageChains || looked >= searchChainsMax) break
    // Other requests get their share between pages.
    await nextTurn()
  }
  const found = scored
    .toSorted((left, right) => right.score - left.score)
    .slice(0, RESULTS_MAX)
    .map(({ head }) => head)
  for (const head of found) noteRead(context, 'served', chainUri(head))
  return { found, truncated: looked >= searchChainsMax }
}

/** Scores the newest version; a broken one is not found by its text, which nobody receives. */
async function scoreOfChain(
  { store }: CallContext,
  head: ChainHead,
  asked: readonly string[],
): Promise<number> {
  const latest = await store.latest(head)
  const value = latest.kind === 'found' ? latest.record.value : ''
  return scoreOf(asked, { name: `${head.patient} ${head.domain}`, value })
}

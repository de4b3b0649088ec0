/** Finding records by words, for the tool `search` (C26), only among those that the caller may read. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChainHead } from '../../domain/record-store.ts'
import { type Reach, reachWithin, readReach } from '../../domain/scopes.ts'
import { type SearchWord, splitParts, splitWords } from '../../domain/search-words.ts'
import { WordIndex } from '../../domain/word-index.ts'
import { chainUri } from '../../wire/record-uri.ts'
import { type CallContext, noteRead } from '../records/visible-records.ts'

/** Records in one answer: a model reads a few of them. */
const RESULTS_MAX = 20
/** Words of a query that count; the rest of a longer one is ignored. */
const WORDS_MAX = 16
/** Patients whose name a word may begin. */
const PATIENTS_MAX = 10
/** Chains of patients whom a query names that are looked at one by one, where the index has no room for all. */
const NAMED_CHAINS_MAX = 500

/** How well a record answers a query; 0 if it does not. */
export function scoreRecord(
  queried: readonly string[],
  record: { readonly name: string; readonly value: string },
): number {
  const index = new WordIndex()
  index.add({ patient: record.name, domain: '', audience: 'user' }, record.value)
  const words = queried.flatMap(splitWords)
  return index.find(words, { limit: 1, patient: undefined })[0]?.score ?? 0
}

/** The patients whom a query names. */
async function patientsNamed(
  { store }: CallContext,
  reach: readonly Reach[],
  query: string,
): Promise<readonly string[]> {
  const typed = query.match(/[\p{L}\p{M}\p{N}]+/gu)?.slice(0, WORDS_MAX) ?? []
  const prefixes = typed.flatMap((word) => {
    const lower = word.toLowerCase()
    return [word, lower, lower.charAt(0).toUpperCase() + lower.slice(1)]
  })
  const patients = new Set<string>()
  for (const prefix of new Set(prefixes)) {
    const found = await store.names({ nameKind: 'patient', prefix, reach, limit: PATIENTS_MAX })
    const parts = splitParts(prefix)
    for (const name of found)
      if (splitParts(name).some((part) => parts.includes(part))) patients.add(name)
  }
  return [...patients]
}

type Found = { readonly head: ChainHead; readonly score: number }

/** Looks at the chains of named patients one by one. */
async function lookAt(
  { limits, store }: CallContext,
  reach: readonly Reach[],
  words: readonly SearchWord[],
): Promise<readonly Found[]> {
  const index = new WordIndex()
  const heads = new Map<string, ChainHead>()
  for (let after: number | undefined; heads.size < NAMED_CHAINS_MAX; ) {
    const query = { reach, after, limit: limits.pageChains, wantsRecords: true }
    const page = await store.heads(query)
    for (const head of page) {
      heads.set(chainUri(head), head)
      index.add(head, head.record?.value ?? '')
    }
    after = page.at(-1)?.sequence
    if (page.length < limits.pageChains) break
    // Other requests get their share between pages.
    await nextTurn()
  }
  return index
    .find(words, { limit: RESULTS_MAX, patient: undefined })
    .flatMap(({ score, slot }) => {
      const head = heads.get(chainUri(slot))
      return head === undefined ? [] : [{ head, score }]
    })
}

/**
 * The current records that answer a query best. `truncated` if the index has no room for all chains within reach: then those of
 * patients whom the query names are looked at beside it.
 */
export async function searchRecords(
  context: CallContext,
  query: string,
): Promise<{ readonly found: readonly ChainHead[]; readonly truncated: boolean }> {
  const words = splitWords(query).slice(0, WORDS_MAX)
  const reach = readReach(context.principal.scopes)
  if (words.length === 0 || reach.length === 0) return { found: [], truncated: false }
  const { found, isWhole } = await context.recordIndex.find(words, reach, RESULTS_MAX)
  const best = new Map<string, Found>(found.map((each) => [chainUri(each.head), each]))
  if (!isWhole)
    for (const patient of await patientsNamed(context, reach, query))
      for (const each of await lookAt(context, reachWithin(reach, patient), words))
        best.set(chainUri(each.head), each)
  const heads = [...best.values()]
    .toSorted((left, right) => right.score - left.score)
    .slice(0, RESULTS_MAX)
    .map(({ head }) => head)
  for (const head of heads) noteRead(context, 'served', chainUri(head))
  return { found: heads, truncated: !isWhole }
}

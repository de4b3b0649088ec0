/**
 * Resolves team names in a pick's key to the one event they fit. Each name is looked up once per request, by whole words,
 * which costs the index tens of microseconds: an audit of 1,000 named picks needs no limit of its own.
 */

import { isoText } from '../wire/times.ts'
import type { EventInfo } from './event-state.ts'
import type { GradingStore } from './grading-store.ts'
import { formatMarketKey } from './markets.ts'
import type { AskedPick, PickRequest } from './pick-request.ts'

/** Most candidates named when free text fits several events. */
const CANDIDATES_MAX = 10

/** Team names contain spaces. Ids, which nearly all picks use, do not, and are never guessed at. */
const needsLookup = (pick: AskedPick): pick is PickRequest =>
  pick.kind === 'pick' && pick.key.event.includes(' ')

function resolved(pick: PickRequest, found: readonly EventInfo[]): AskedPick {
  const { key, selection, ref } = pick
  const keys = found.map((info) => ({ ...key, event: info.path.slice(key.sport.length + 1) }))
  const [only] = keys
  if (only === undefined) return pick
  if (keys.length === 1) return { ...pick, key: only }
  return {
    kind: 'ambiguous',
    market: formatMarketKey(key),
    selection,
    ref,
    candidates: keys.map(
      (one, index) =>
        `${formatMarketKey(one)} (${isoText(found[index]?.startAtSeconds ?? 0).slice(0, 10)})`,
    ),
  }
}

/**
 * Turns team names into events. If several fit, the pick is ambiguous, with the newest as candidates; if none fits, the
 * key stays as written, and the ledger does not know it.
 */
export async function resolveEvents(
  store: Pick<GradingStore, 'searchEvents'>,
  picks: readonly AskedPick[],
): Promise<readonly AskedPick[]> {
  if (!picks.some(needsLookup)) return picks
  const known = new Map<string, readonly EventInfo[]>()
  const answers: AskedPick[] = []
  for (const pick of picks) {
    if (!needsLookup(pick)) {
      answers.push(pick)
      continue
    }
    const { sport, event } = pick.key
    const words = [...new Set(searchWords(event))].toSorted()
    const name = `${sport} ${words.join(' ')}`
    let found = known.get(name)
    if (found === undefined) {
      // "v" and "the" alone name no team.
      found =
        words.length === 0
          ? []
          : await store.searchEvents({ sport, words, isWholeWords: true, limit: CANDIDATES_MAX })
      known.set(name, found)
    }
    answers.push(resolved(pick, found))
  }
  return answers
}

/** A search ignores accents and case. */
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()

/** A name's words in plain lower case, without the `v`, `vs` or `at` between teams. */
export function searchWords(text: string): readonly string[] {
  return plain(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !['v', 'vs', 'at', 'fc', 'the'].includes(word))
}

/** The text an event is searched by: league and teams, a space before each word. */
export const eventWords = (info: Pick<EventInfo, 'league' | 'home' | 'away'>): string =>
  ` ${searchWords(`${info.home} ${info.away} ${info.league}`).join(' ')}`

/** Fewest letters of a word that may stand for a longer one: "a" begins a word of nearly every event. */
export const PREFIX_LETTERS_MIN = 3

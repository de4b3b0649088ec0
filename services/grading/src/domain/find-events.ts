/**
 * Resolves team names in a pick's key to the one event they fit: both teams in the recorded order, within 36 hours of the
 * day or time that the pick gives (G11). Anything else that may be meant is a candidate, never graded. Each name is looked
 * up once per request, in an index of names: some tens of microseconds.
 */

import { BoundedMap, getOrMake } from '@tallystick/service-kit'
import { isoDay } from '../wire/times.ts'
import type { EventInfo } from './event-state.ts'
import { isOfPlayers, playerEvents } from './find-players.ts'
import type { EventSearch, GradingStore } from './grading-store.ts'
import { formatMarketKey } from './markets.ts'
import type { PickRequest, SinglePick } from './pick-request.ts'
import { teamKeys, withoutAccents } from './team-names.ts'

/** Most candidates named when names fit several events. */
const CANDIDATES_MAX = 10

/** How far a start may be from the pick's time, or from noon of its day; seconds. */
const MATCH_SECONDS_MAX = 36 * 3_600
const NOON_SECONDS = 12 * 3_600

/** Words tried as two teams in a name without a `v`. */
const SPLIT_WORDS_MAX = 10

type Store = Pick<GradingStore, 'searchEvents'>
type Pair = { readonly home: string; readonly away: string }
type Window = Pick<EventSearch, 'from' | 'to'>

/** Team names contain spaces. Ids, which nearly all picks use, do not, and are never guessed. */
const needsLookup = (pick: SinglePick): pick is PickRequest =>
  pick.kind === 'pick' && pick.key.event.includes(' ')

/** Two teams, `home v away` or `away at home`; without a separator, every way to cut the words in two. */
function pairsOf(event: string): readonly Pair[] {
  const parts = event.split(/\s+(v|vs|versus|-|at)\.?\s+/u)
  const [first = '', separator, second = ''] = parts
  if (parts.length === 3)
    return [separator === 'at' ? { home: second, away: first } : { home: first, away: second }]
  const words = event.split(/\s+/u)
  if (words.length > SPLIT_WORDS_MAX) return []
  return words.slice(1).map((_word, index) => ({
    home: words.slice(0, index + 1).join(' '),
    away: words.slice(index + 1).join(' '),
  }))
}

const reversed = ({ home, away }: Pair): Pair => ({ home: away, away: home })

function windowOf({ daySeconds, placedAtSeconds }: PickRequest): Window | undefined {
  const at = daySeconds === undefined ? placedAtSeconds : daySeconds + NOON_SECONDS
  return at === undefined
    ? undefined
    : { from: at - MATCH_SECONDS_MAX, to: at + MATCH_SECONDS_MAX + 1 }
}

async function eventsOf(
  store: Store,
  sport: string,
  search: Window & { readonly pairs: readonly Partial<Pair>[] },
): Promise<readonly EventInfo[]> {
  const { pairs, from, to } = search
  const found = new Map<string, EventInfo>()
  for (const { home, away } of pairs) {
    if (isOfPlayers(sport)) {
      const named = { ...(home !== undefined && { home }), ...(away !== undefined && { away }) }
      for (const info of await playerEvents(store, sport, { ...named, from, to }))
        found.set(info.path, info)
      continue
    }
    const teams = {
      ...(home === undefined ? {} : { home: teamKeys(sport, home) }),
      ...(away === undefined ? {} : { away: teamKeys(sport, away) }),
    }
    const limit = CANDIDATES_MAX
    for (const { info } of await store.searchEvents({ sport, teams, from, to, words: [], limit }))
      found.set(info.path, info)
  }
  return [...found.values()].slice(0, CANDIDATES_MAX)
}

type Found = {
  /** Events of both teams in the recorded order at the time: one is the match. */
  readonly matches: readonly EventInfo[]
  /** Otherwise the likely matches: the fixture reversed, at another time, or against another team. */
  readonly candidates: readonly EventInfo[]
}

/** Names that one request has looked up. */
export type FoundNames = Map<string, Found>

/** The best guesses at names that fit no event; none is ever graded. */
async function candidatesOf(
  store: Store,
  sport: string,
  search: { readonly pairs: readonly Pair[]; readonly window: Window | undefined },
): Promise<readonly EventInfo[]> {
  const { pairs, window } = search
  const turned = await eventsOf(store, sport, { ...window, pairs: pairs.map(reversed) })
  if (window === undefined) return turned
  const later = turned.length > 0 ? [] : await eventsOf(store, sport, { pairs })
  const near = [...turned, ...later]
  const [pair, ...others] = pairs
  if (near.length > 0 || pair === undefined || others.length > 0) return near
  // One of the two names is known.
  const { home, away } = pair
  const sides = [{ home }, { away }, { home: away }, { away: home }]
  return eventsOf(store, sport, { ...window, pairs: sides })
}

async function findEvents(store: Store, pick: PickRequest): Promise<Found> {
  const { sport, event } = pick.key
  const window = windowOf(pick)
  const pairs = pairsOf(event)
  const matches = await eventsOf(store, sport, { ...window, pairs })
  if (matches.length > 0) return { matches, candidates: [] }
  return { matches, candidates: await candidatesOf(store, sport, { pairs, window }) }
}

/** Teams that meet on consecutive days: the matches of exactly that day, if any. */
function ofTheDay(matches: readonly EventInfo[], { daySeconds }: PickRequest) {
  if (daySeconds === undefined || matches.length === 1) return matches
  const day = isoDay(daySeconds)
  const exact = matches.filter(({ startAtSeconds }) => isoDay(startAtSeconds) === day)
  return exact.length > 0 ? exact : matches
}

function resolved(pick: PickRequest, { matches, candidates }: Found): SinglePick {
  const { key, selection, ref } = pick
  const keyOf = ({ path }: EventInfo) => ({ ...key, event: path.slice(key.sport.length + 1) })
  const [match, ...others] = ofTheDay(matches, pick)
  if (match !== undefined && others.length === 0) return { ...pick, key: keyOf(match) }
  const near = matches.length > 0 ? matches : candidates
  if (near.length === 0) return pick
  return {
    kind: 'ambiguous',
    market: formatMarketKey(key),
    selection,
    ref,
    candidates: near.map(
      (info) => `${formatMarketKey(keyOf(info))} (${isoDay(info.startAtSeconds)})`,
    ),
  }
}

/**
 * Turns team names into events. If several fit, or only a reversed or another fixture, the pick is ambiguous and they are
 * its candidates. If none fits, the key stays as written, and the ledger does not know it.
 */
export async function resolveEvents(
  store: Store,
  picks: readonly SinglePick[],
  known: FoundNames = new Map(),
): Promise<readonly SinglePick[]> {
  if (!picks.some(needsLookup)) return picks
  const answers: SinglePick[] = []
  for (const pick of picks) {
    if (!needsLookup(pick)) {
      answers.push(pick)
      continue
    }
    const { from = '', to = '' } = windowOf(pick) ?? {}
    const name = `${pick.key.sport} ${from} ${to} ${pick.key.event}`
    const found = known.get(name) ?? (await findEvents(store, pick))
    known.set(name, found)
    answers.push(resolved(pick, found))
  }
  return answers
}

/** A name's words in plain lower case, without the `v`, `vs` or `at` between teams. Stored indexes hold these words. */
export function searchWords(text: string): readonly string[] {
  return withoutAccents(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !['v', 'vs', 'at', 'fc', 'the'].includes(word))
}

/** Words of recent names, below 300 bytes each: a file names each team some twenty times. */
const KNOWN_MAX = 8_192
const known = new BoundedMap<string, string>(KNOWN_MAX)

/** A name's words, a space before each. */
const spacedWords = (name: string): string =>
  getOrMake(known, name, () =>
    searchWords(name)
      .map((word) => ` ${word}`)
      .join(''),
  )

/** An event's searchable text: teams and league, a space before each word. */
export const eventWords = ({ away, home, league }: Pick<EventInfo, 'league' | 'home' | 'away'>) =>
  spacedWords(home) + spacedWords(away) + spacedWords(league) || ' '

/** Fewest letters of a word that may stand for a longer one: "a" begins a word of nearly every event. */
export const PREFIX_LETTERS_MIN = 3

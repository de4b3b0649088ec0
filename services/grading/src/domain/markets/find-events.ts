/**
 * Resolves team names in a pick's key to the one event they fit: both teams in the recorded order, within 36 hours of the
 * day or time that the pick gives (G11), in its league, and clearly the nearest (G20, choose-start.ts). Anything else that may
 * be meant is a candidate, never graded. Each name is looked up once per request, in an index of names: some tens of
 * microseconds.
 */

import { isoDay, isoText } from '@tallystick/service-kit/clock'
import { chooseStart } from '../closes/choose-start.ts'
import type { EventInfo } from '../closes/event-state.ts'
import type { EventSearch, GradingStore } from '../closes/grading-store.ts'
import { isOfPlayers, playerEvents } from './find-players.ts'
import { formatMarketKey } from './markets.ts'
import type { FoundBy, MatchChoice, PickRequest, SinglePick } from './pick-request.ts'
import { isOtherLeague, isSameTeam, teamKeys, withoutAccents, wordsIn } from './team-names.ts'
import { turnSides } from './turn-sides.ts'

/** Most candidates named when names fit several events. */
const CANDIDATES_MAX = 10

/** How far a start may be from the pick's time, or from noon of its day; seconds. */
const MATCH_SECONDS_MAX = 36 * 3_600
const NOON_SECONDS = 12 * 3_600
const DAY_SECONDS = 24 * 3_600

/** Words tried as two teams in a name without a `v`. */
const SPLIT_WORDS_MAX = 10

type Store = Pick<GradingStore, 'searchEvents'>
type Pair = { readonly home: string; readonly away: string }
type Window = Pick<EventSearch, 'from' | 'to'>

/** Team names contain spaces. Ids, which nearly all picks use, do not, and are never guessed. */
const needsLookup = (pick: SinglePick): pick is PickRequest =>
  pick.kind === 'pick' && pick.key.event.includes(' ')

/** Two teams, `home v away` or `away at home`; without a separator, every way to cut the words in two. */
function teamPairs(event: string): readonly Pair[] {
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

/** Around the start that the pick states, otherwise around its bet. */
function searchWindow({ daySeconds, isPlacedDay, placedAtSeconds, startsAt }: PickRequest) {
  const noon = daySeconds === undefined ? undefined : daySeconds + NOON_SECONDS
  const at = startsAt?.atSeconds ?? noon ?? placedAtSeconds
  if (at === undefined) return undefined
  const isBet = startsAt === undefined && noon === undefined && isPlacedDay === true
  const from = at - MATCH_SECONDS_MAX
  return { from, to: at + (isBet ? DAY_SECONDS : 0) + MATCH_SECONDS_MAX + 1 } satisfies Window
}

async function findPairs(
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
  /** Events of both teams in the recorded order at the time. */
  readonly matches: readonly EventInfo[]
  /** Otherwise the same with the teams in the other order. */
  readonly turned: readonly EventInfo[]
  /** Otherwise the likely matches: at another time, or against another team. */
  readonly candidates: readonly EventInfo[]
}

/** Names that one request has looked up. */
export type FoundNames = Map<string, Found>

/** The best guesses at names that fit no event in either order; none is ever graded. */
async function findCandidates(
  store: Store,
  sport: string,
  search: { readonly pairs: readonly Pair[]; readonly window: Window | undefined },
): Promise<readonly EventInfo[]> {
  const { pairs, window } = search
  if (window === undefined) return []
  const later = await findPairs(store, sport, { pairs })
  const [pair, ...others] = pairs
  if (later.length > 0 || pair === undefined || others.length > 0) return later
  // One of the two names is known.
  const { home, away } = pair
  const sides = [{ home }, { away }, { home: away }, { away: home }]
  return findPairs(store, sport, { ...window, pairs: sides })
}

async function findEvents(store: Store, pick: PickRequest): Promise<Found> {
  const { sport, event } = pick.key
  const window = searchWindow(pick)
  const pairs = teamPairs(event)
  const matches = await findPairs(store, sport, { ...window, pairs })
  if (matches.length > 0) return { matches, turned: [], candidates: [] }
  const turned = await findPairs(store, sport, { ...window, pairs: pairs.map(reversed) })
  if (turned.length > 0) return { matches, turned, candidates: [] }
  return { matches, turned, candidates: await findCandidates(store, sport, { pairs, window }) }
}

const eventId = (pick: PickRequest, { path }: EventInfo): string =>
  path.slice(pick.key.sport.length + 1)

/** The match that a pick means among some of its pair, in its league. */
function clearMatch(pick: PickRequest, matches: readonly EventInfo[]) {
  const { sport } = pick.key
  const [first] = matches
  // Names that two pairs share are a question, whenever they play.
  const isOnePair = matches.every(
    ({ home, away }) =>
      first !== undefined &&
      isSameTeam(sport, home, first.home) &&
      isSameTeam(sport, away, first.away),
  )
  if (!isOnePair) return undefined
  const inLeague = ({ league }: EventInfo) => !isOtherLeague(sport, pick.league ?? '', league)
  return chooseStart(matches.filter(inLeague), pick)
}

/** The pick on the one match that it means. */
function pickOnMatch(pick: PickRequest, { matches, turned }: Found): PickRequest | undefined {
  const straight = clearMatch(pick, matches)
  const found = straight ?? (pick.isEitherOrder ? clearMatch(pick, turned) : undefined)
  if (found === undefined) return undefined
  const bet =
    straight === undefined
      ? turnSides(pick.key, pick.selection)
      : { market: pick.key, selection: pick.selection }
  if (bet === undefined) return undefined
  const foundBy: FoundBy[] = []
  if (found.isInferred) foundBy.push('inferred_start')
  if (straight === undefined) foundBy.push('sides_turned')
  const key = { ...pick.key, ...bet.market, event: eventId(pick, found.match) }
  return { ...pick, key, selection: bet.selection, ...(foundBy.length === 0 ? {} : { foundBy }) }
}

const startWords = ({ startAtSeconds, startPrecision }: EventInfo): string =>
  startPrecision === 'day'
    ? isoDay(startAtSeconds)
    : `${isoText(startAtSeconds).slice(0, 16).replace('T', ' ')} UTC`

/** The bet on one of the matches that its names may mean; none where the names do not say which side was backed. */
function choicesOn(
  pick: PickRequest,
  { candidates, matches, turned }: Found,
): readonly MatchChoice[] {
  const { key, selection } = pick
  const isNamed = ({ away, home }: EventInfo): boolean =>
    teamPairs(key.event).some(
      (pair) => isSameTeam(key.sport, home, pair.home) && isSameTeam(key.sport, away, pair.away),
    )
  const inOrder = matches.length > 0 ? matches : candidates.filter(isNamed)
  return [...inOrder, ...turned].flatMap((info) => {
    const bet = turned.includes(info) ? turnSides(key, selection) : { market: key, selection }
    if (bet === undefined) return []
    const market = formatMarketKey({ ...key, ...bet.market, event: eventId(pick, info) })
    const label = `${info.home} v ${info.away}, ${startWords(info)}`
    return [{ label, market, selection: bet.selection }]
  })
}

function resolved(pick: PickRequest, found: Found): SinglePick {
  const known = pickOnMatch(pick, found)
  if (known !== undefined) return known
  const { key, selection, ref } = pick
  const near = [found.matches, found.turned, found.candidates].find(({ length }) => length > 0)
  if (near === undefined) return pick
  return {
    kind: 'ambiguous',
    market: formatMarketKey(key),
    selection,
    ref,
    choices: choicesOn(pick, found),
    candidates: near.map(
      (info) =>
        `${formatMarketKey({ ...key, event: eventId(pick, info) })} (${isoDay(info.startAtSeconds)})`,
    ),
  }
}

/**
 * Turns team names into events. If several fit and none is clearly meant, or only a reversed or another fixture, the pick is ambiguous and they
 * are its candidates. If none fits, the key stays as written, and the ledger does not know it.
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
    const { from = '', to = '' } = searchWindow(pick) ?? {}
    const name = `${pick.key.sport} ${from} ${to} ${pick.key.event}`
    const found = known.get(name) ?? (await findEvents(store, pick))
    known.set(name, found)
    answers.push(resolved(pick, found))
  }
  return answers
}

/** A name's words in plain lower case, without the `v`, `vs` or `at` between teams. Stored indexes hold these words. */
export const searchWords = (text: string): readonly string[] =>
  wordsIn(withoutAccents(text)).filter((word) => !NOT_SEARCHED.includes(word))

const NOT_SEARCHED = ['v', 'vs', 'at', 'fc', 'the']

/** An event's searchable text: teams and league, a space before each word. */
export const eventWords = ({ away, home, league }: Pick<EventInfo, 'league' | 'home' | 'away'>) =>
  ` ${searchWords(`${home} ${away} ${league}`).join(' ')}`

/** Fewest letters of a word that may stand for a longer one: "a" begins a word of nearly every event. */
export const PREFIX_LETTERS_MIN = 3

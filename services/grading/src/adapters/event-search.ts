/** Searches events by words, days or teams: the statements that both engines share, and the parts where they differ. */
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { EventSearch } from '../domain/closes/grading-store.ts'
import { PREFIX_LETTERS_MIN } from '../domain/markets/find-events.ts'

/** Most events examined per search by words, newest record first: "united" alone matches tens of thousands. */
const FOUND_EVENTS_MAX = 1_000

/** A sport's name as one index word that no team uses; sports that differ only in a dash share it. */
export const sportWord = (sport: string): string => `sport${sport.replace(/[_-]/g, '')}`

/** Where the engines' SQL differs. */
export type SearchDialect = {
  /** Selects the events with all words of $1, the last recorded first. */
  readonly byWords: string
  /** A word in that index's query language; words are letters and digits only, so none is an operator. */
  readonly matched: (word: string, isBeginning: boolean) => string
  readonly and: string
  /** Tests whether a column is one of a value's texts. */
  readonly among: (column: string, value: string) => string
  /** Texts as a value. */
  readonly list: (texts: readonly string[]) => unknown
  /** Selects the parts of $3 that an event's words do not contain. */
  readonly lackedParts: string
}

/** Whether a word of a search may be the beginning of a longer one. */
const mayBegin = (word: string): boolean => word.length >= PREFIX_LETTERS_MIN

/** Whether a search is by words alone, so that the word index answers it. */
const isByWords = ({ from, teams, to, words }: EventSearch): boolean =>
  teams === undefined && from === undefined && to === undefined && words.length > 0

const byTeams = (sides: string): string => `SELECT path FROM events
  WHERE start_at >= $1 AND start_at < $2 AND sport = coalesce($3, sport) AND ${sides}
  ORDER BY start_at DESC, id DESC LIMIT $4`

/** Newest first. Each variant has its own index: finding a rare sport must not scan every event. */
export function searchStatements({ among, byWords, lackedParts }: SearchDialect) {
  const byStart = (condition: string): string => `SELECT path FROM events
    WHERE start_at >= $1 AND start_at < $2 ${condition} AND NOT EXISTS (${lackedParts})
    ORDER BY start_at DESC, id DESC LIMIT $4`
  return {
    byWords: `SELECT path FROM (${byWords} LIMIT ${FOUND_EVENTS_MAX}) AS latest
      WHERE sport = coalesce($2, sport) ORDER BY start_at DESC, id DESC LIMIT $3`,
    byStart: byStart(''),
    bySport: byStart('AND sport = $5'),
    byBoth: byTeams(`${among('home', '$5')} AND ${among('away', '$6')}`),
    byHome: byTeams(among('home', '$5')),
    byAway: byTeams(among('away', '$5')),
  }
}

/** Finds the paths of the events that fit, newest first. */
export function openEventSearch(
  dialect: SearchDialect,
  /** Returns the paths that a statement selects. */
  selectPaths: (text: string, values: readonly unknown[]) => Promise<readonly string[]>,
) {
  const say = searchStatements(dialect)
  const { and, list, matched } = dialect

  function lookUp(
    search: EventSearch,
    isBeginning: (word: string) => boolean,
  ): readonly [text: string, values: readonly unknown[]] {
    const { from, limit, sport, teams, to, words } = search
    if (isByWords(search)) {
      const parts = words.map((word) => matched(word, isBeginning(word)))
      if (sport !== undefined) parts.push(matched(sportWord(sport), false))
      return [say.byWords, [parts.join(and), sport ?? null, limit]]
    }
    const days = [from ?? Number.MIN_SAFE_INTEGER, to ?? Number.MAX_SAFE_INTEGER]
    if (teams !== undefined) {
      const { home, away } = teams
      const sides = [home, away].flatMap((keys) => (keys === undefined ? [] : [list(keys)]))
      const text = away === undefined ? say.byHome : home === undefined ? say.byAway : say.byBoth
      return [text, [...days, sport ?? null, limit, ...sides]]
    }
    // `words || ' '` contains all of these.
    const parts = words.map((word) => (isBeginning(word) ? ` ${word}` : ` ${word} `))
    const values = [...days, list(parts), limit]
    return sport === undefined ? [say.byStart, values] : [say.bySport, [...values, sport]]
  }

  const find = async (search: EventSearch, isBeginning = mayBegin): Promise<readonly string[]> => {
    const { teams } = search
    if (teams !== undefined && teams.home === undefined && teams.away === undefined) return []
    return await selectPaths(...lookUp(search, isBeginning))
  }

  /**
   * Searches whole words first, then beginnings if the answer is not full: an index gathers all events of a beginning
   * before it returns the first, and `united` begins words in tens of thousands of events.
   */
  return async (search: EventSearch): Promise<readonly string[]> => {
    const whole = isByWords(search) ? await find(search, () => false) : []
    return whole.length < search.limit ? find(search) : whole
  }
}

/** Whether the same words and day still find an event. */
export const isFiledAlike = (left: EventInfo, right: EventInfo): boolean =>
  left.startAtSeconds === right.startAtSeconds &&
  left.home === right.home &&
  left.away === right.away &&
  left.league === right.league

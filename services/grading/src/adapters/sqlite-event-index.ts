/** Events filed by path, start and the words of sport, league and teams, so that a name is found without reading every event. */
import type { DatabaseSync } from 'node:sqlite'
import type { EventInfo } from '../domain/event-state.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import { eventWords, PREFIX_LETTERS_MIN } from '../domain/search-words.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

/** Events with the words of a search that are looked at, the last recorded first: "united" alone is in tens of thousands. */
const FOUND_EVENTS_MAX = 1_000

/** A sport's name as one word of the index, which no team has; two sports that differ in a dash share it. */
const sportWord = (sport: string): string => `sport${sport.replace(/[_-]/g, '')}`

const isBeginning = ({ isWholeWords = false }: EventSearch, word: string): boolean =>
  !isWholeWords && word.length >= PREFIX_LETTERS_MIN

/** A search in the index's language; words are letters and digits only, so that nothing in them is an operator. */
function matchText(search: EventSearch): string {
  const words = search.words.map((word) => `"${word}"${isBeginning(search, word) ? '*' : ''}`)
  const { sport } = search
  return (sport === undefined ? words : [...words, `"${sportWord(sport)}"`]).join(' AND ')
}

const isFiledAlike = (one: EventInfo, other: EventInfo): boolean =>
  one.startAtSeconds === other.startAtSeconds &&
  one.home === other.home &&
  one.away === other.away &&
  one.league === other.league

const byStart = (condition: string): string =>
  `SELECT path FROM events WHERE start_at >= ? AND start_at < ? ${condition}
    AND NOT EXISTS (SELECT 1 FROM json_each(?) AS word WHERE instr(words || ' ', word.value) = 0)
    ORDER BY start_at DESC LIMIT ?`

/** Two, so that each has its index: a sport that nobody plays must not be looked for in every event. */
export const EVENT_LOOKUPS = { byStart: byStart(''), bySport: byStart('AND sport = ?') } as const

/** The index of one connection; it writes within the caller's transaction. */
export type EventIndex = {
  /** Files a new event; returns its id. */
  add(info: EventInfo): number
  /** Files it anew where its start or a name is another. */
  refile(before: EventInfo, after: EventInfo): void
  /** Paths of the events that fit, newest first. */
  find(search: EventSearch): readonly string[]
}

/** Opens the index of a connection. */
export function openEventIndex(database: DatabaseSync): EventIndex {
  const found = prepareQuery<readonly [string]>(database, EVENT_LOOKUPS.byStart)
  const foundInSport = prepareQuery<readonly [string]>(database, EVENT_LOOKUPS.bySport)
  const named = prepareQuery<readonly [string]>(
    database,
    `SELECT path FROM events WHERE id IN
      (SELECT rowid FROM event_words WHERE event_words MATCH ? ORDER BY rowid DESC LIMIT ${FOUND_EVENTS_MAX})
      AND sport = coalesce(?, sport) ORDER BY start_at DESC LIMIT ?`,
  )
  const insertWords = database.prepare('INSERT INTO event_words (rowid, words) VALUES (?, ?)')
  const moveWords = database.prepare(
    'UPDATE event_words SET words = ? WHERE rowid = (SELECT id FROM events WHERE path = ?)',
  )
  const insert = database.prepare(
    'INSERT INTO events (path, sport, start_at, words) VALUES (?, ?, ?, ?)',
  )
  const move = database.prepare('UPDATE events SET start_at = ?, words = ? WHERE path = ?')

  function findByDay({ sport, from, to, words, limit, ...search }: EventSearch) {
    const parts = words.map((word) =>
      isBeginning({ words, limit, ...search }, word) ? ` ${word}` : ` ${word} `,
    )
    const range = [from ?? Number.MIN_SAFE_INTEGER, to ?? Number.MAX_SAFE_INTEGER]
    const rest = [JSON.stringify(parts), limit]
    return sport === undefined
      ? found.all(...range, ...rest)
      : foundInSport.all(...range, sport, ...rest)
  }

  return {
    add: (info) => {
      const { path, sport, startAtSeconds } = info
      const words = eventWords(info)
      const id = Number(insert.run(path, sport, startAtSeconds, words).lastInsertRowid)
      insertWords.run(id, sportWord(sport) + words)
      return id
    },
    refile: (before, after) => {
      if (isFiledAlike(before, after)) return
      const words = eventWords(after)
      move.run(after.startAtSeconds, words, after.path)
      moveWords.run(sportWord(after.sport) + words, after.path)
    },
    find: (search) => {
      const { from, to, words, limit, sport = null } = search
      const isAnyDay = from === undefined && to === undefined && words.length > 0
      const rows = isAnyDay ? named.all(matchText(search), sport, limit) : findByDay(search)
      return rows.map(([path]) => path)
    },
  }
}

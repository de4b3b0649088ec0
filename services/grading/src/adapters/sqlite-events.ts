/**
 * Events read from the ledger's own entries and folded; those that were folded last are kept in memory. Nothing folded is
 * stored: a grade is always of entries that a reader can check.
 */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import { eventWords } from '../domain/find-events.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import {
  daysOf,
  FOUND_EVENTS_MAX,
  isBeginning,
  isByWords,
  isFiledAlike,
  sportWord,
  wordParts,
} from './event-search.ts'
import { openTeamIndex } from './sqlite-teams.ts'
import { type EntryRow, foldEvent } from './stored-rows.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000

/** The entries of each event of a connection, by the event's id. */
export const openEventEntries = (database: DatabaseSync) =>
  prepareQuery<EntryRow>(
    database,
    'SELECT seq, text, hash FROM entries WHERE event = ? ORDER BY seq',
  )

/** Reads and keeps the events of one connection. */
export function openEventReader(database: DatabaseSync) {
  const idOf = prepareQuery<readonly [number]>(database, 'SELECT id FROM events WHERE path = ?')
  const entriesOf = openEventEntries(database)
  const index = openEventIndex(database)
  let cache = new BoundedMap<string, EventState>(CACHED_EVENTS_MAX)

  function read(path: string): EventState | undefined {
    const cached = cache.get(path)
    if (cached !== undefined) return cached
    const row = idOf.get(path)
    if (row === undefined) return undefined
    const state = foldEvent(entriesOf.all(row[0]))
    if (state !== undefined) cache.set(path, state)
    return state
  }

  return {
    read,
    /** The id under which entries about an event are filed; a new one for an event that `read` did not find. */
    idFor: (info: EventInfo, isNew: boolean): number =>
      (isNew ? undefined : idOf.get(info.path)?.[0]) ?? index.add(info),
    /** Takes in an event's new state, within the caller's transaction. */
    write: (state: EventState): void => {
      const { path } = state.info
      const before = cache.get(path)
      if (before !== undefined) index.refile(before.info, state.info)
      // An import of years passes through; nobody asks for most of it soon.
      if (before !== undefined || !state.hadResult) cache.set(path, state)
    },
    /** Paths of the events that fit, newest first. */
    find: (search: EventSearch): readonly string[] => index.find(search),
    infos: (paths: readonly string[]): readonly EventInfo[] =>
      paths.flatMap((path) => read(path)?.info ?? []),
    /** Forgets everything folded: after a rollback, or another process's write. */
    forget: (): void => {
      cache = new BoundedMap(CACHED_EVENTS_MAX)
    },
  }
}

/** Words that a beginning is looked up as; a beginning of more, or of none as they are written, is left to the index. */
const BEGINNING_WORDS_MAX = 200

/** Gives some of the words of a connection's index that have a beginning, one more than the most at most. */
function openVocabulary(database: DatabaseSync): (beginning: string) => readonly string[] {
  database.exec(
    "CREATE VIRTUAL TABLE temp.event_vocabulary USING fts5vocab('main', 'event_words', 'instance')",
  )
  const next = prepareQuery<readonly [string]>(
    database,
    'SELECT term FROM event_vocabulary WHERE term >= ? LIMIT 1',
  )
  return (beginning) => {
    const words: string[] = []
    let word = next.get(beginning)?.[0]
    while (word?.startsWith(beginning) === true && words.length <= BEGINNING_WORDS_MAX) {
      words.push(word)
      // Past all events of this word: words have no control characters.
      word = next.get(`${word}\u0001`)?.[0]
    }
    return words
  }
}

/**
 * A search in the index's language; words are letters and digits only, so that nothing in them is an operator. A beginning
 * is asked for as its words: for those the index stops at the newest events, for a beginning it gathers all of them first.
 */
function matchText(search: EventSearch, wordsOf: ReturnType<typeof openVocabulary>): string {
  const words = search.words.map((word) => {
    if (!isBeginning(search, word)) return `"${word}"`
    const longer = wordsOf(word)
    if (longer.length === 0 || longer.length > BEGINNING_WORDS_MAX) return `"${word}"*`
    return `("${longer.join('" OR "')}")`
  })
  const { sport } = search
  return (sport === undefined ? words : [...words, `"${sportWord(sport)}"`]).join(' AND ')
}

const byStart = (condition: string): string =>
  `SELECT path FROM events WHERE start_at >= ? AND start_at < ? ${condition}
    AND NOT EXISTS (SELECT 1 FROM json_each(?) AS word WHERE instr(words || ' ', word.value) = 0)
    ORDER BY start_at DESC LIMIT ?`

/** Two, so that each has its index: a rare sport must not be searched for in every event. */
export const EVENT_LOOKUPS = { byStart: byStart(''), bySport: byStart('AND sport = ?') } as const

/** The index of one connection; it writes within the caller's transaction. */
function openEventIndex(database: DatabaseSync) {
  const found = prepareQuery<readonly [string]>(database, EVENT_LOOKUPS.byStart)
  const foundInSport = prepareQuery<readonly [string]>(database, EVENT_LOOKUPS.bySport)
  const named = prepareQuery<readonly [string]>(
    database,
    `SELECT path FROM events WHERE id IN
      (SELECT rowid FROM event_words WHERE event_words MATCH ? ORDER BY rowid DESC LIMIT ${FOUND_EVENTS_MAX})
      AND sport = coalesce(?, sport) ORDER BY start_at DESC LIMIT ?`,
  )
  const wordsOf = openVocabulary(database)
  const insertWords = database.prepare('INSERT INTO event_words (rowid, words) VALUES (?, ?)')
  const moveWords = database.prepare(
    'UPDATE event_words SET words = ? WHERE rowid = (SELECT id FROM events WHERE path = ?)',
  )
  const insert = database.prepare(
    'INSERT INTO events (path, sport, start_at, words) VALUES (?, ?, ?, ?)',
  )
  const move = database.prepare('UPDATE events SET start_at = ?, words = ? WHERE path = ?')
  const teamIndex = openTeamIndex(database)

  function findByDay(search: EventSearch) {
    const { sport, limit } = search
    const [days, rest] = [daysOf(search), [JSON.stringify(wordParts(search)), limit]]
    return sport === undefined
      ? found.all(...days, ...rest)
      : foundInSport.all(...days, sport, ...rest)
  }

  return {
    /** Files a new event; returns its id. */
    add: (info: EventInfo): number => {
      const { path, sport, startAtSeconds } = info
      const words = eventWords(info)
      const id = Number(insert.run(path, sport, startAtSeconds, words).lastInsertRowid)
      insertWords.run(id, sportWord(sport) + words)
      teamIndex.add(id, info)
      return id
    },
    /** Files an event again where its start or a name changed. */
    refile: (before: EventInfo, after: EventInfo): void => {
      if (isFiledAlike(before, after)) return
      const words = eventWords(after)
      move.run(after.startAtSeconds, words, after.path)
      moveWords.run(sportWord(after.sport) + words, after.path)
      teamIndex.refile(after)
    },
    /** Paths of the events that fit, newest first. */
    find: (search: EventSearch): readonly string[] => {
      const { limit, teams, sport = null } = search
      if (teams !== undefined) return teamIndex.find({ ...search, teams })
      const rows = isByWords(search)
        ? named.all(matchText(search, wordsOf), sport, limit)
        : findByDay(search)
      return rows.map(([path]) => path)
    },
  }
}

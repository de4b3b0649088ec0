/**
 * Events read from the ledger's own entries and folded; those that were folded last are kept in memory. Nothing folded is
 * stored: a grade is always of entries that a reader can check.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { prepareQuery, type SqliteQuery } from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import { eventWords } from '../domain/find-events.ts'
import { isFiledAlike, type SearchDialect, sportWord } from './event-search.ts'
import { reading } from './sqlite-database.ts'
import { openTeamIndex } from './sqlite-teams.ts'
import { type EntryRow, foldEvent } from './stored-rows.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000

/** Reads and keeps the events of one connection. */
export function openEventReader(database: DatabaseSync) {
  const idOf = prepareQuery<readonly [number]>(database, 'SELECT id FROM events WHERE path = ?')
  const entriesOf = prepareQuery<EntryRow>(
    database,
    'SELECT seq, text, hash FROM entries WHERE event = ? ORDER BY seq',
  )
  const index = openEventIndex(database)
  const searches = new Map<string, SqliteQuery<readonly [string]>>()
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
    /** The paths that a statement of a search selects, which is prepared once. */
    paths: (text: string, values: readonly unknown[]): readonly string[] => {
      const search =
        searches.get(text) ??
        prepareQuery<readonly [string]>(database, text.replaceAll(/\$(?=\d)/g, '?'))
      searches.set(text, search)
      return search.all(...(values as readonly SQLInputValue[])).map(([path]) => path)
    },
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

/** How SQLite is asked. */
export function sqliteSearch(database: DatabaseSync): SearchDialect {
  const wordsOf = openVocabulary(database)
  return {
    byWords: `SELECT id, path, sport, start_at FROM event_words CROSS JOIN events ON id = event_words.rowid
      WHERE event_words MATCH $1 ORDER BY event_words.rowid DESC`,
    // A beginning is asked for as its words: for those the index stops at the newest events, for a beginning it gathers all first.
    matched: (word, isBeginning) => {
      if (!isBeginning) return `"${word}"`
      const longer = reading(() => wordsOf(word))
      if (longer.length === 0 || longer.length > BEGINNING_WORDS_MAX) return `"${word}"*`
      return `("${longer.join('" OR "')}")`
    },
    and: ' AND ',
    teams: 'event_teams AS teams JOIN events USING (id)',
    among: (column, value) => `${column} IN (SELECT value FROM json_each(${value}))`,
    list: (texts) => JSON.stringify(texts),
    lackedParts: "SELECT 1 FROM json_each($3) AS part WHERE instr(words || ' ', part.value) = 0",
  }
}

/** The index of one connection; it writes within the caller's transaction. */
function openEventIndex(database: DatabaseSync) {
  const insertWords = database.prepare('INSERT INTO event_words (rowid, words) VALUES (?, ?)')
  const moveWords = database.prepare(
    'UPDATE event_words SET words = ? WHERE rowid = (SELECT id FROM events WHERE path = ?)',
  )
  const insert = database.prepare(
    'INSERT INTO events (path, sport, start_at, words) VALUES (?, ?, ?, ?)',
  )
  const move = database.prepare('UPDATE events SET start_at = ?, words = ? WHERE path = ?')
  const teamIndex = openTeamIndex(database)

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
  }
}

/** A ledger's events in SQLite's SQL: how they are filed, and found by words and teams. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery, SQLITE_DIALECT, sqliteAtOnce } from '@tallystick/journal-store'
import type { EventInfo } from '../domain/event-state.ts'
import { eventWords } from '../domain/find-events.ts'
import { teamKey } from '../domain/team-names.ts'
import { type SearchDialect, sportWord } from './event-search.ts'
import { ledgerSql } from './ledger-sql.ts'
import { reading } from './sqlite-database.ts'

const FILE_EVENT = `INSERT INTO events (id, path, sport, start_at, words, home, away) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (id) DO UPDATE SET start_at = excluded.start_at, words = excluded.words,
    home = excluded.home, away = excluded.away`
const FILE_WORDS = 'INSERT OR REPLACE INTO event_words (rowid, words) VALUES ($1, $2)'
const FILE_TEAMS = 'UPDATE events SET home = $2, away = $3 WHERE id = $1'

const KEEP_CELL = `INSERT INTO truth (key, cell) VALUES ($1, $2)
  ON CONFLICT (key) DO UPDATE SET cell = excluded.cell`
const STORED_SIZE = "json_extract(value, '$.size')"

export const SQLITE_SQL = ledgerSql({
  ...SQLITE_DIALECT,
  among: (column, value) => `${column} IN (SELECT value FROM json_each(${value}))`,
  list: (texts) => JSON.stringify(texts),
  seq: 'seq',
  hash: 'hash',
  nodes: 'tree_nodes',
  isEmbedded: true,
  // Reads one place of the index per event: an event may have tens of thousands of picks.
  withPicks: `SELECT value FROM json_each($1)
    WHERE EXISTS (SELECT 1 FROM picks WHERE event_path = value AND seq IS NOT NULL)`,
  deletesCells: true,
  changedCells: `SELECT ${STORED_SIZE}, key, cell FROM meta LEFT JOIN truth ON ${STORED_SIZE} > $1
    WHERE name = 'tree'`,
  file: (send, events) => {
    // Table by table, so that each table's pages and statement stay cached.
    const named = events.map(([id, info]) => ({ id, info, words: eventWords(info) }))
    for (const { id, info, words } of named) {
      const { away, home, path, sport, startAtSeconds } = info
      send(FILE_EVENT, [id, path, sport, startAtSeconds, words, teamKey(home), teamKey(away)])
    }
    for (const { id, info, words } of named) send(FILE_WORDS, [id, sportWord(info.sport) + words])
  },
  keepCells: (send, cells) => {
    for (const [key, cell] of cells)
      if (cell === null) send('DELETE FROM truth WHERE key = $1', [key])
      else send(KEEP_CELL, [key, cell])
  },
})

/** Events that an earlier version filed without teams, whose names are only in their entries. */
const UNFILED = `SELECT id, (SELECT text FROM entries WHERE event = events.id ORDER BY seq DESC LIMIT 1)
  FROM events WHERE home IS NULL`

/** Once, for a ledger of an earlier version: some 20 µs an event. */
export function fileTeams(database: DatabaseSync): void {
  const unfiled = prepareQuery<readonly [number, string | null]>(database, UNFILED).all()
  if (unfiled.length === 0) return
  sqliteAtOnce(database, (ask) => {
    for (const [id, text] of unfiled) {
      const { event } = JSON.parse(text ?? '{}') as { readonly event?: EventInfo }
      if (event !== undefined) void ask(FILE_TEAMS, [id, teamKey(event.home), teamKey(event.away)])
    }
  })
}

/** Most words that replace a beginning in a search; a beginning of more words, or of none, is searched as a prefix. */
const BEGINNING_WORDS_MAX = 200

/** Finds the indexed words with a beginning, up to one more than the limit. */
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

export function sqliteSearch(database: DatabaseSync): SearchDialect {
  const wordsOf = openVocabulary(database)
  return {
    among: SQLITE_SQL.among,
    list: SQLITE_SQL.list,
    byWords: `SELECT id, path, sport, start_at FROM event_words CROSS JOIN events ON id = event_words.rowid
      WHERE event_words MATCH $1 ORDER BY event_words.rowid DESC`,
    // A beginning is searched as the words it begins: for words the index stops at the newest events, a prefix gathers all.
    matched: (word, isBeginning) => {
      if (!isBeginning) return `"${word}"`
      const longer = reading(() => wordsOf(word))
      if (longer.length === 0 || longer.length > BEGINNING_WORDS_MAX) return `"${word}"*`
      return `("${longer.join('" OR "')}")`
    },
    and: ' AND ',
    lackedParts: "SELECT 1 FROM json_each($3) AS part WHERE instr(words || ' ', part.value) = 0",
  }
}

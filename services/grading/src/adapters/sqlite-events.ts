/** A ledger's events in SQLite's SQL: how they are filed, and found by words and teams. */
import type { DatabaseSync } from 'node:sqlite'
import { askOn } from '@tallystick/journal-store'
import { eventWords } from '../domain/find-events.ts'
import { teamKey } from '../domain/team-names.ts'
import { type SearchDialect, sportWord } from './event-search.ts'
import { ledgerSql } from './ledger-sql.ts'
import { guardedNow } from './sqlite-database.ts'

const jsonCells = (count: number): string =>
  Array.from({ length: count }, (_, at) => `value ->> ${at}`).join(', ')

const FILE_EVENTS = `INSERT INTO events (id, path, sport, start_at, words, home, away)
  SELECT ${jsonCells(7)} FROM json_each($1) WHERE true
  ON CONFLICT (id) DO UPDATE SET start_at = excluded.start_at, words = excluded.words,
    home = excluded.home, away = excluded.away`
const FILE_WORDS = `INSERT OR REPLACE INTO event_words (rowid, words) SELECT ${jsonCells(2)} FROM json_each($1)`

const KEEP_CELLS = `INSERT INTO truth (key, cell, as_of) SELECT ${jsonCells(2)}, $2 FROM json_each($1) WHERE true
  ON CONFLICT (key) DO UPDATE SET cell = excluded.cell, as_of = excluded.as_of`

export const SQLITE_SQL = ledgerSql({
  among: (column, value) => `${column} IN (SELECT value FROM json_each(${value}))`,
  list: (texts) => JSON.stringify(texts),
  rowsOf: (...types) => `SELECT ${jsonCells(types.length)} FROM json_each($1) WHERE true`,
  values: (rows) => [JSON.stringify(rows)],
  file: (events) => {
    if (events.length === 0) return []
    const filed = events.map(([id, info]) => {
      const { away, home, path, sport, startAtSeconds } = info
      return [id, path, sport, startAtSeconds, eventWords(info), teamKey(home), teamKey(away)]
    })
    const words = events.map(([id, info]) => [id, sportWord(info.sport) + eventWords(info)])
    return [
      { text: FILE_EVENTS, values: [JSON.stringify(filed)] },
      { text: FILE_WORDS, values: [JSON.stringify(words)] },
    ]
  },
  keepCells: (cells, size) =>
    cells.length === 0 ? [] : [{ text: KEEP_CELLS, values: [JSON.stringify(cells), size] }],
})

/** Most words that replace a beginning in a search; a beginning of more words, or of none, is searched as a prefix. */
const BEGINNING_WORDS_MAX = 200

/** Finds the indexed words with a beginning, up to one more than the limit. */
function openVocabulary(database: DatabaseSync): (beginning: string) => readonly string[] {
  database.exec(
    "CREATE VIRTUAL TABLE temp.event_vocabulary USING fts5vocab('main', 'event_words', 'instance')",
  )
  const ask = askOn(database)
  const nextFrom = (beginning: string): string | undefined => {
    const terms: readonly (readonly [string])[] = ask(
      'SELECT term FROM event_vocabulary WHERE term >= $1 LIMIT 1',
      [beginning],
    )
    return terms[0]?.[0]
  }
  return (beginning) => {
    const words: string[] = []
    let word = nextFrom(beginning)
    while (word?.startsWith(beginning) === true && words.length <= BEGINNING_WORDS_MAX) {
      words.push(word)
      // Past all events of this word: words have no control characters.
      word = nextFrom(`${word}\u0001`)
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
      const longer = guardedNow(() => wordsOf(word))
      if (longer.length === 0 || longer.length > BEGINNING_WORDS_MAX) return `"${word}"*`
      return `("${longer.join('" OR "')}")`
    },
    and: ' AND ',
    lackedParts: "SELECT 1 FROM json_each($3) AS part WHERE instr(words || ' ', part.value) = 0",
  }
}

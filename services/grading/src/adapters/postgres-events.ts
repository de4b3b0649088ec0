/** A ledger's events in PostgreSQL's SQL: how they are filed, and found by words and teams. */
import { POSTGRES_IMPORTS } from '@tallystick/journal-store'
import { eventWords } from '../domain/markets/find-events.ts'
import { teamKey } from '../domain/markets/team-names.ts'
import { type SearchDialect, sportWord } from './event-search.ts'
import { ledgerSql } from './ledger-sql.ts'

/** PostgreSQL indexes words of at most 2,046 bytes; longer ones are filed and searched by their beginning. */
const WORD_LETTERS_MAX = 500

const filedWord = (word: string): string => word.slice(0, WORD_LETTERS_MAX)

/** Files new events, and those whose day or names changed; its values are columns. */
export const FILE_EVENTS = `INSERT INTO grading.events (id, path, sport, start_at, words, search, home, away)
  SELECT id, path, sport, start_at, words, array_to_tsvector(array_remove(string_to_array(filed, ' '), '')), home, away
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
      AS event (id, path, sport, start_at, words, filed, home, away)
  ON CONFLICT (id) DO UPDATE SET start_at = excluded.start_at, words = excluded.words, search = excluded.search,
    home = excluded.home, away = excluded.away`

/** The words that find an event, as FILE_EVENTS takes them. */
export const filedText = (sport: string, words: string): string =>
  [sportWord(sport), ...words.split(' ').map(filedWord)].join(' ')

const KEEP_CELLS = `INSERT INTO truth (key, cell, as_of)
  SELECT key, cell, $3 FROM unnest($1::text[], $2::text[]) AS changed (key, cell)
  ON CONFLICT (key) DO UPDATE SET cell = excluded.cell, as_of = excluded.as_of`

const columns = (rows: readonly (readonly unknown[])[]): readonly unknown[][] =>
  (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]))

export const POSTGRES_SQL = ledgerSql({
  imports: POSTGRES_IMPORTS,
  among: (column, value) => `${column} = ANY(${value})`,
  list: (texts) => texts,
  unnestRows: (...types) =>
    `SELECT * FROM unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')})`,
  values: columns,
  file: (events) => {
    if (events.length === 0) return []
    const rows = events.map(([id, info]) => {
      const { away, home, path, sport, startAtSeconds } = info
      const words = eventWords(info)
      const filed = filedText(sport, words)
      return [id, path, sport, startAtSeconds, words, filed, teamKey(home), teamKey(away)]
    })
    return [{ text: FILE_EVENTS, values: columns(rows) }]
  },
  keepCells: (cells, size) =>
    cells.length === 0 ? [] : [{ text: KEEP_CELLS, values: [...columns(cells), size] }],
})

export const POSTGRES_SEARCH: SearchDialect = {
  among: POSTGRES_SQL.among,
  list: POSTGRES_SQL.list,
  // Words first, whatever the planner thinks: it cannot know how rare they are.
  byWords: `WITH found AS MATERIALIZED (SELECT id, path, sport, start_at FROM events WHERE search @@ $1::tsquery)
    SELECT * FROM found ORDER BY id DESC`,
  matched: (word, isBeginning) => `'${filedWord(word)}'${isBeginning ? ':*' : ''}`,
  and: ' & ',
  lackedParts: "SELECT FROM unnest($3::text[]) AS part WHERE strpos(words || ' ', part) = 0",
}

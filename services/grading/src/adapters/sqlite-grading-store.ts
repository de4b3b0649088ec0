/**
 * The grading store on SQLite: how its file is opened, and where it is read. Several processes may have it open: each write first
 * brings memory up to date inside its transaction, and so does each read after another process wrote. The rest is ledger-store.ts.
 */
import type { DatabaseSync } from 'node:sqlite'
import { askOn, openSqliteStore, SQLITE_IMPORTS, type StoreOwner } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import { eventWords } from '../domain/markets/find-events.ts'
import { teamKey } from '../domain/markets/team-names.ts'
import { type SearchDialect, sportWord } from './event-search.ts'
import { LedgerMemory } from './ledger-memory.ts'
import { ledgerSql } from './ledger-sql.ts'
import { createLedgerStore } from './ledger-store.ts'
import { guardedNow, LEDGER } from './sqlite-database.ts'

const jsonCells = (count: number): string =>
  Array.from({ length: count }, (_, at) => `value ->> ${at}`).join(', ')

const FILE_EVENT = `INSERT INTO events (id, path, sport, start_at, words, home, away)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (id) DO UPDATE SET start_at = excluded.start_at, words = excluded.words,
    home = excluded.home, away = excluded.away`
const FILE_WORDS = 'INSERT OR REPLACE INTO event_words (rowid, words) VALUES ($1, $2)'

const KEEP_CELLS = `INSERT INTO truth (key, cell, as_of) SELECT ${jsonCells(2)}, $2 FROM json_each($1) WHERE true
  ON CONFLICT (key) DO UPDATE SET cell = excluded.cell, as_of = excluded.as_of`

export const SQLITE_SQL = ledgerSql({
  imports: SQLITE_IMPORTS,
  among: (column, value) => `${column} IN (SELECT value FROM json_each(${value}))`,
  list: (texts) => JSON.stringify(texts),
  unnestRows: (...types) => `SELECT ${jsonCells(types.length)} FROM json_each($1) WHERE true`,
  values: (rows) => [JSON.stringify(rows)],
  // One by one: SQLite would read a JSON array anew for each of its cells.
  file: (events) =>
    events.flatMap(([id, info]) => {
      const { away, home, path, sport, startAtSeconds } = info
      const words = eventWords(info)
      const filed = [id, path, sport, startAtSeconds, words, teamKey(home), teamKey(away)]
      return [
        { text: FILE_EVENT, values: filed },
        { text: FILE_WORDS, values: [id, sportWord(sport) + words] },
      ]
    }),
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
  const vocabulary = openVocabulary(database)
  return {
    among: SQLITE_SQL.among,
    list: SQLITE_SQL.list,
    byWords: `SELECT id, path, sport, start_at FROM event_words CROSS JOIN events ON id = event_words.rowid
      WHERE event_words MATCH $1 ORDER BY event_words.rowid DESC`,
    // A beginning is searched as the words it begins: for words the index stops at the newest events, a prefix gathers all.
    matched: (word, isBeginning) => {
      if (!isBeginning) return `"${word}"`
      const longer = guardedNow(() => vocabulary(word))
      if (longer.length === 0 || longer.length > BEGINNING_WORDS_MAX) return `"${word}"*`
      return `("${longer.join('" OR "')}")`
    },
    and: ' AND ',
    lackedParts: "SELECT 1 FROM json_each($3) AS part WHERE instr(words || ' ', part.value) = 0",
  }
}

/** Observations in one write, below 15 ms: requests are served during an import, and other processes write. */
const OBSERVATIONS_PER_WRITE = 75
/**
 * The same when nobody waits for this process: each commit rewrites the same index pages. A match costs an import 0.12 ms of
 * CPU in all, so such a write ends within about a tenth of a second. Slices of a payload are combined to about this many
 * observations: two slices of a wide table.
 */
const OBSERVATIONS_PER_IMPORT_WRITE = 1_000
const OBSERVATIONS_GATHERED = 700

/**
 * Bytes logged before they move into the file. Each commit of an import rewrites the same index pages; a service's
 * requests would wait while so many bytes move.
 */
const LOG_BYTES = 4_194_304
const IMPORT_LOG_BYTES = 33_554_432

export type LedgerOpening = {
  readonly clock: Clock
  /** `unchecked` opens even what the last checkpoint refuses, so that it can be verified. */
  readonly checkpoint?: 'checked' | 'unchecked'
  /** Opened only to be filled: nobody waits for its answers. */
  readonly isImport?: boolean
  /** Receives errors from the background. */
  readonly onProblem?: (error: unknown) => void
}

export type SqliteGradingStoreOptions = StoreOwner &
  LedgerOpening & {
    /** How long a write waits for another process's, milliseconds. */
    readonly busyTimeoutMs?: number
  }

/**
 * Opens the store. Rejects with GradingStoreUnavailable for a file that cannot be opened or is another program's, and for a
 * ledger that does not extend its last signed checkpoint.
 */
export async function openSqliteGradingStore(
  options: SqliteGradingStoreOptions,
): Promise<GradingStore> {
  const { busyTimeoutMs = LEDGER.busyTimeoutMs, clock, isImport = false } = options
  const memory = new LedgerMemory(SQLITE_SQL)
  const store = await openSqliteStore(
    { ...LEDGER, busyTimeoutMs },
    { ...options, memory: memory.groups },
  )
  const { database, reading, rows } = store
  try {
    guardedNow(() => {
      const pageBytes = Number(Object.values(database.prepare('PRAGMA page_size').get() ?? {})[0])
      const logBytes = isImport ? IMPORT_LOG_BYTES : LOG_BYTES
      database.exec(`PRAGMA wal_autocheckpoint = ${logBytes / pageBytes}`)
    })
    await memory.load(rows)
    let seenMs: number | undefined
    return createLedgerStore({
      store,
      source: { rows, sql: SQLITE_SQL },
      memory,
      search: guardedNow(() => sqliteSearch(reading)),
      observationsGathered: isImport ? OBSERVATIONS_GATHERED : 0,
      observationsPerWrite: isImport ? OBSERVATIONS_PER_IMPORT_WRITE : OBSERVATIONS_PER_WRITE,
      /** At most once a millisecond: asking SQLite costs more than a grade. */
      freshen: async () => {
        const now = clock.unixMs()
        if (now === seenMs) return
        seenMs = now
        await store.catchUp()
        if (store.journals.ledger.size !== memory.truth.asOfSeq) await memory.takeUp(rows)
      },
    })
  } catch (error) {
    await store.close()
    throw error
  }
}

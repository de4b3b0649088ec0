/** Opening the ledger's file: its schema, brought up to date at the start. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { applyMigrations } from './apply-migrations.ts'

/** How long a statement waits for another process's transaction, milliseconds: an import commits several times a second. */
const BUSY_TIMEOUT_MS = 5_000

/** "TalG". */
const APPLICATION_ID = 0x54616c47

const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY, -- place in the ledger, from 0
  event INTEGER, -- whom it is about; null for commitments
  text TEXT NOT NULL, -- RFC 8785 JSON, the text that is hashed
  hash BLOB NOT NULL -- RFC 9162 leaf hash
) STRICT;
CREATE INDEX entries_by_event ON entries (event, seq) WHERE event IS NOT NULL;
CREATE TABLE tree_nodes ( -- roots of whole subtrees of 256 leaves, for short proofs
  place INTEGER PRIMARY KEY,
  hash BLOB NOT NULL
) STRICT;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  sport TEXT NOT NULL,
  start_at INTEGER NOT NULL,
  words TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_start ON events (start_at);
CREATE TABLE picks (
  receipt TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL UNIQUE,
  event_path TEXT NOT NULL,
  payer TEXT NOT NULL,
  opening TEXT NOT NULL,
  options TEXT NOT NULL,
  seq INTEGER UNIQUE
) STRICT;
CREATE INDEX picks_by_event ON picks (event_path, seq);
CREATE TABLE truth (
  key TEXT PRIMARY KEY,
  cell TEXT NOT NULL
) STRICT;
CREATE TABLE payloads (
  raw_sha256 TEXT PRIMARY KEY,
  feed TEXT NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;`,
  // Words of sport, league and teams by event: without it every look-up by name reads every event.
  `
CREATE VIRTUAL TABLE event_words USING fts5 (
  words, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
INSERT INTO event_words (rowid, words) SELECT id, 'sport' || replace(replace(sport, '_', ''), '-', '') || words FROM events;`,
  'CREATE INDEX events_by_sport ON events (sport, start_at);',
]

/** What an error says, for the operator who opened a file. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** Opens the ledger's file, making it where there is none. Throws GradingStoreUnavailable. */
export function openGradingDatabase(path: string, busyTimeoutMs = BUSY_TIMEOUT_MS): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    // Every acknowledged write is on the disk: WAL with a full fsync at each commit.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    applyMigrations(database, { applicationId: APPLICATION_ID, migrations: MIGRATIONS })
    return database
  } catch (error) {
    database?.close()
    throw new GradingStoreUnavailable(`${path} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** A query whose rows are arrays of the shape `Row`, which node:sqlite builds twice as fast as objects. */
export type Query<Row> = {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): readonly Row[]
}

/** Prepares a query. */
export function prepareQuery<Row>(database: DatabaseSync, sql: string): Query<Row> {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return {
    get: (...values) => statement.get(...values) as unknown as Row | undefined,
    all: (...values) => statement.all(...values) as unknown as readonly Row[],
  }
}

/** What SQLite throws, as the port's one error; anything else as it is. */
function asUnavailable(error: unknown): unknown {
  return error instanceof Error && 'errcode' in error
    ? new GradingStoreUnavailable(`the ledger cannot be read: ${error.message}`, { cause: error })
    : error
}

/** Runs a step on the database, turning what SQLite throws into GradingStoreUnavailable. */
export function reading<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw asUnavailable(error)
  }
}

/** The same for what gives turns of the event loop to others. */
export async function readingInTurns<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw asUnavailable(error)
  }
}

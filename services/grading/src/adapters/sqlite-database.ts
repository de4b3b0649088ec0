/**
 * The two files of SQLite: the ledger and, beside it, the reservations. Their schemas, and how they are opened and read.
 * Each transaction is fsynced (WAL, synchronous = FULL), so that an acknowledged write is on the disk (G4).
 */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

/** A kind of file of ours. */
type DatabaseKind = {
  /** Four letters in ASCII, so that another program's database is not taken for one of ours. */
  readonly applicationId: number
  /** Each takes the schema one version further; `user_version` counts those that were applied. */
  readonly migrations: readonly string[]
}

type Connection = Pick<DatabaseSync, 'exec' | 'prepare'>

const numberOf = (database: Connection, pragma: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])

/** How many migrations the file has. Throws where it is not of this kind, or newer than this program. */
function appliedOf(database: Connection, { applicationId, migrations }: DatabaseKind): number {
  const isEmpty = numberOf(database, 'schema_version') === 0
  if (!isEmpty && numberOf(database, 'application_id') !== applicationId)
    throw new Error('this is a database of another program')
  const applied = numberOf(database, 'user_version')
  if (applied > migrations.length)
    throw new Error(`its schema ${applied} is newer than this program`)
  return applied
}

/**
 * Brings a file's schema up to date, making it in an empty file; several processes may do so at once. Throws where the file
 * is another program's or newer; the connection is to be closed then, which takes back what was begun.
 */
export function applyMigrations(database: Connection, kind: DatabaseKind): void {
  const { applicationId, migrations } = kind
  // The usual case takes no lock.
  if (appliedOf(database, kind) === migrations.length) return
  database.exec('BEGIN IMMEDIATE')
  // Asked again: another process may have been first.
  for (const migration of migrations.slice(appliedOf(database, kind))) database.exec(migration)
  database.exec(`PRAGMA application_id = ${applicationId}`)
  database.exec(`PRAGMA user_version = ${migrations.length}`)
  database.exec('COMMIT')
}

/** How long a statement waits for another process's transaction, milliseconds: an import commits several times a second. */
const LEDGER_BUSY_MS = 5_000

const LEDGER: DatabaseKind = {
  applicationId: 0x54616c47, // TalG
  migrations: [
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
  ],
}

/** The same for transactions of single rows. */
const RESERVATIONS_BUSY_MS = 2_000

const RESERVATIONS: DatabaseKind = {
  applicationId: 0x54616c50, // TalP
  migrations: [
    `
CREATE TABLE reservations (
  payment_id TEXT PRIMARY KEY,
  payer TEXT NOT NULL, -- network and account
  fingerprint TEXT NOT NULL,
  idempotency_key TEXT,
  keeps_answer INTEGER NOT NULL CHECK (keeps_answer IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at REAL NOT NULL, -- Unix seconds
  body TEXT NOT NULL, -- payment and subject, JSON; the amount as text
  request TEXT, -- while there is no answer
  answer TEXT,
  answered_by TEXT, -- payment_id of the row whose answer this one was given
  is_delivered INTEGER NOT NULL DEFAULT 0 CHECK (is_delivered IN (0, 1))
) STRICT;
CREATE INDEX reservations_open ON reservations (payment_id) WHERE state <> 'answered';
CREATE INDEX reservations_by_expiry ON reservations (expires_at) WHERE state = 'answered';
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint) WHERE keeps_answer = 1 AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON reservations (payer, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON reservations (answered_by) WHERE answered_by IS NOT NULL;`,
  ],
}

function openDatabase(
  path: string,
  { kind, busyTimeoutMs }: { readonly kind: DatabaseKind; readonly busyTimeoutMs: number },
): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    applyMigrations(database, kind)
    return database
  } catch (error) {
    database?.close()
    const message = error instanceof Error ? error.message : String(error)
    throw new GradingStoreUnavailable(`${path} cannot be opened: ${message}`, { cause: error })
  }
}

/** Opens the ledger's file, making it where there is none. Throws GradingStoreUnavailable. */
export const openGradingDatabase = (path: string, busyTimeoutMs = LEDGER_BUSY_MS): DatabaseSync =>
  openDatabase(path, { kind: LEDGER, busyTimeoutMs })

/** Opens the reservations beside a ledger, in `<path>.payments`. Throws GradingStoreUnavailable. */
export const openReservationDatabase = (databasePath: string): DatabaseSync =>
  openDatabase(isOnDisk(databasePath) ? `${databasePath}.payments` : databasePath, {
    kind: RESERVATIONS,
    busyTimeoutMs: RESERVATIONS_BUSY_MS,
  })

/** Whether a ledger has a file, and others beside it; `:memory:` has none. */
export const isOnDisk = (databasePath: string): boolean => databasePath !== ':memory:'

/** A query whose rows are arrays of the shape `Row`, which node:sqlite builds twice as fast as objects. */
type Query<Row> = {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): readonly Row[]
}

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

/** The same for a step that lets others run in between. */
export async function readingAsync<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    throw asUnavailable(error)
  }
}

/** Resolves in the next iteration of the event loop: what others wait for comes first. */
export const nextIteration = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

// Rows beside the records: sessions, audit rows, revoked tokens, who read what, and webhook subscriptions. On SQLite they
// are in a second file, on PostgreSQL in the schema of the records.
import { DatabaseSync } from 'node:sqlite'
import {
  makePrivateFile,
  messageOf,
  type SqlConnection,
  SqliteConnection,
} from '@tallystick/journal-store'
import { RecordStoreUnavailable } from '../domain/record-store.ts'

/** How long a statement waits for a command's, which takes some milliseconds; the service is blocked meanwhile. */
const BUSY_TIMEOUT_MS = 500

const TABLES = `
CREATE TABLE IF NOT EXISTS audit_rows (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected')),
  reason TEXT NOT NULL,
  via TEXT NOT NULL,
  actor TEXT,
  uri TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS audit_rows_rejected ON audit_rows (sequence) WHERE outcome = 'rejected';
CREATE TABLE IF NOT EXISTS mcp_sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  sub TEXT NOT NULL,
  scopes TEXT NOT NULL,
  log_level TEXT,
  created_at_ms INTEGER NOT NULL,
  carried_user INTEGER NOT NULL,
  carried_assistant INTEGER NOT NULL,
  carried_told INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS mcp_subscriptions (
  session INTEGER NOT NULL,
  uri TEXT NOT NULL,
  since INTEGER NOT NULL, -- the place from which on it is told
  PRIMARY KEY (session, uri)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mcp_event_key (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  key BLOB NOT NULL -- seals event ids
) STRICT;
CREATE TABLE IF NOT EXISTS mcp_unheard (
  uri TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mcp_judged (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  place INTEGER NOT NULL -- before it every correction is heard, or in mcp_unheard
) STRICT;
CREATE TABLE IF NOT EXISTS revoked_tokens (
  jti TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS read_rows (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  way TEXT NOT NULL,
  outcome TEXT NOT NULL,
  uri TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS read_rows_by_uri ON read_rows (uri, sequence);
CREATE INDEX IF NOT EXISTS read_rows_by_time ON read_rows (at);
CREATE TABLE IF NOT EXISTS event_subscriptions (
  id TEXT PRIMARY KEY,
  refresh TEXT NOT NULL,
  sub TEXT NOT NULL,
  scopes TEXT NOT NULL, -- JSON
  jti TEXT,
  patient TEXT NOT NULL,
  domain TEXT,
  receiver TEXT NOT NULL, -- URL and secrets, sealed
  done_to INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  is_active INTEGER NOT NULL,
  last_delivery_ms INTEGER,
  last_error TEXT,
  failed_since_ms INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS event_subscriptions_by_sub ON event_subscriptions (sub);
CREATE TABLE IF NOT EXISTS event_receivers (
  receiver TEXT PRIMARY KEY, -- hash of principal, program, URL and secret
  until_ms INTEGER NOT NULL
) STRICT;
-- Only the fence is used: holder and until_ms are of the lease that it once was, and older programs still write them.
CREATE TABLE IF NOT EXISTS event_lease (
  holder TEXT NOT NULL,
  fence INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
INSERT INTO event_lease SELECT '', 0, 0 WHERE NOT EXISTS (SELECT 1 FROM event_lease);`

/** Of the sessions' tables. Sessions kept under another one are dropped: their clients open new ones. */
const SESSION_SCHEMA = 2
export const SESSION_TABLES = [
  'mcp_sessions',
  'mcp_subscriptions',
  'mcp_unheard',
  'mcp_judged',
] as const

/** Rows on either engine; every failure is RecordStoreUnavailable. */
export type SideRows = SqlConnection & {
  readonly engine: 'sqlite' | 'postgres'
  /** Text that others send, as a cell: bytes on PostgreSQL, since it may hold a NUL. */
  readonly textCell: (text: string) => string | Uint8Array
}

class SqliteSideRows extends SqliteConnection implements SideRows {
  readonly engine = 'sqlite'
  readonly textCell = (text: string): string => text
}

function prepareTables(database: DatabaseSync): void {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  // Erased and rotated rows must not stay readable in the file.
  database.exec('PRAGMA secure_delete = ON')
  database.exec('CREATE TABLE IF NOT EXISTS mcp_schema (version INTEGER NOT NULL) STRICT')
  const known = database.prepare('SELECT version FROM mcp_schema').get()?.['version']
  if (known !== undefined && known !== SESSION_SCHEMA)
    for (const table of SESSION_TABLES) database.exec(`DROP TABLE IF EXISTS ${table}`)
  database.exec(TABLES)
  if (known !== SESSION_SCHEMA)
    database.exec(`DELETE FROM mcp_schema; INSERT INTO mcp_schema VALUES (${SESSION_SCHEMA})`)
}

/** SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGED: ReadonlySet<unknown> = new Set([11, 26])

/** What to do about a damaged file. An empty one in its place would make revoked tokens good again, so nobody makes it unasked. */
function repairOf(error: unknown, path: string): string {
  const isDamaged =
    error instanceof Error && 'errcode' in error && DAMAGED.has(Number(error.errcode) & 0xff)
  return isDamaged
    ? `. The file is damaged; it holds revoked tokens, sessions, event subscriptions, and rows of refused writes and reads. Put it back from a backup of the disk; or give those up: replace TOKEN_SECRET, so that no token from before is good, move ${path}, ${path}-wal and ${path}-shm away, start, and revoke tokens of TRUSTED_ISSUERS again with care revoke`
    : ''
}

/** Opens rows in a file, and creates it unless it is only read. Throws RecordStoreUnavailable. */
export function openSqliteSideRows(path: string, to: 'read' | 'write' = 'write'): SideRows {
  let database: DatabaseSync | undefined
  try {
    if (to === 'write') makePrivateFile(path)
    database = new DatabaseSync(path, { readOnly: to === 'read', timeout: BUSY_TIMEOUT_MS })
    if (to === 'write') prepareTables(database)
    return new SqliteSideRows(database, RecordStoreUnavailable)
  } catch (cause) {
    database?.close()
    throw new RecordStoreUnavailable(`${path}: ${messageOf(cause)}${repairOf(cause, path)}`, {
      cause,
    })
  }
}

async function orUnavailable<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked
  } catch (cause) {
    const reason = `the rows beside the records: ${messageOf(cause)}`
    throw new RecordStoreUnavailable(reason, { cause })
  }
}

/** The same in the schema of the records; the caller ends the connection. */
export const postgresSideRows = (store: {
  readonly read: SqlConnection['read']
  readonly writeRows: SqlConnection['transaction']
}): SideRows => ({
  engine: 'postgres',
  read: (text, values) => orUnavailable(store.read(text, values)),
  transaction: (run, durability) => orUnavailable(store.writeRows(run, durability)),
  end: async () => undefined,
  textCell: (text) => Buffer.from(text),
})

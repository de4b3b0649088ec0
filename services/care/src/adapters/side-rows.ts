// Rows that stand beside the records: sessions, audit rows, tokens that were revoked, who read what, and who is told
// by webhook. On SQLite they are in a second file, on PostgreSQL in the schema of the records.
import { DatabaseSync } from 'node:sqlite'
import {
  makePrivateFile,
  messageOf,
  type SqlConnection,
  SqliteConnection,
} from '@tallystick/journal-store'
import { AuditTrailUnavailable } from './batched-audit-trail.ts'

/** How long a statement waits for another process's, milliseconds. */
const BUSY_TIMEOUT_MS = 2_000

const TABLES = `
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
  receiver TEXT PRIMARY KEY, -- hash of principal and URL
  until_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS event_lease (
  holder TEXT NOT NULL,
  fence INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
INSERT INTO event_lease SELECT '', 0, 0 WHERE NOT EXISTS (SELECT 1 FROM event_lease);`

/** Rows on either engine. */
export type SideRows = SqlConnection & {
  /** Text that others send, as a cell: bytes on PostgreSQL, since it may hold a NUL. */
  readonly textCell: (text: string) => string | Uint8Array
  /** What was overwritten does not stay readable in the file. PostgreSQL has dead rows until they are vacuumed. */
  purge(): Promise<void>
}

class SqliteSideRows extends SqliteConnection implements SideRows {
  readonly textCell = (text: string): string => text

  async purge(): Promise<void> {
    await this.read('PRAGMA wal_checkpoint(TRUNCATE)')
  }
}

type SqliteOpening = {
  /** Makes the tables that are asked for, where there are none. */
  readonly prepare?: (database: DatabaseSync) => void
  readonly busyTimeoutMs?: number
  readonly Unavailable?: new (message: string, options?: ErrorOptions) => Error
}

const prepareTables = (database: DatabaseSync): void => database.exec(TABLES)

/** Opens rows in a file, making it where there is none. Throws AuditTrailUnavailable, or what it is told to. */
export function openSqliteSideRows(
  path: string,
  {
    busyTimeoutMs = BUSY_TIMEOUT_MS,
    prepare = prepareTables,
    Unavailable = AuditTrailUnavailable,
  }: SqliteOpening = {},
): SideRows {
  let database: DatabaseSync | undefined
  try {
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    prepare(database)
    return new SqliteSideRows(database, Unavailable)
  } catch (cause) {
    database?.close()
    throw new Unavailable(`${path}: ${messageOf(cause)}`, { cause })
  }
}

/** Opens a file that is there, to read beside a running service. Throws AuditTrailUnavailable. */
export function openSqliteSideReader(path: string): SideRows {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    return new SqliteSideRows(database, AuditTrailUnavailable)
  } catch (cause) {
    throw new AuditTrailUnavailable(`${path}: ${messageOf(cause)}`, { cause })
  }
}

async function orUnavailable<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked
  } catch (cause) {
    throw new AuditTrailUnavailable(`the rows beside the records: ${messageOf(cause)}`, { cause })
  }
}

/** The same in the schema of the records; whoever connected to it ends that. They reject with AuditTrailUnavailable. */
export const postgresSideRows = (store: {
  readonly read: SqlConnection['read']
  readonly writeRows: SqlConnection['transaction']
}): SideRows => ({
  read: (text, values) => orUnavailable(store.read(text, values)),
  transaction: (run, durability) => orUnavailable(store.writeRows(run, durability)),
  end: async () => undefined,
  textCell: (text) => Buffer.from(text),
  purge: async () => undefined,
})

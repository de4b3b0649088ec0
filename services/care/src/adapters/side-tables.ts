// Rows that stand beside the records: tokens that were revoked, and who read what. On SQLite they are in the second file, with
// the audit rows; on PostgreSQL in the schema of the records.
import { DatabaseSync } from 'node:sqlite'
import { makePrivateFile, messageOf } from '@tallystick/journal-store'
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
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
CREATE INDEX IF NOT EXISTS read_rows_by_time ON read_rows (at);`

type Cell = string | number | null
type Row = Readonly<Record<string, unknown>>

/** Statements on either engine; `?` stands for a value. */
export type SideTables = {
  read(sql: string, values?: readonly Cell[]): Promise<readonly Row[]>
  /** Runs a statement for each list of values, in one transaction; it outlives the process, and power loss a little later. */
  write(sql: string, rows: readonly (readonly Cell[])[]): Promise<void>
  close(): void
}

const unavailable = (place: string, cause: unknown): AuditTrailUnavailable =>
  new AuditTrailUnavailable(`${place}: ${messageOf(cause)}`, { cause })

/** Opens them in a file, making the tables where there are none. Throws AuditTrailUnavailable. */
export function openSqliteSideTables(path: string): SideTables {
  let database: DatabaseSync
  try {
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${TABLES}`)
  } catch (error) {
    throw unavailable(path, error)
  }
  return {
    read: async (sql, values = []) => {
      try {
        return database.prepare(sql).all(...values)
      } catch (error) {
        throw unavailable(path, error)
      }
    },
    write: async (sql, rows) => {
      try {
        database.exec('BEGIN IMMEDIATE')
        const statement = database.prepare(sql)
        for (const row of rows) statement.run(...row)
        database.exec('COMMIT')
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw unavailable(path, error)
      }
    },
    close: () => database.close(),
  }
}

/** `$1`, `$2`, … for each `?`, in the schema of the records. */
function postgresText(sql: string): string {
  let count = 0
  return sql
    .replaceAll('?', () => {
      count += 1
      return `$${count}`
    })
    .replaceAll(/\b(revoked_tokens|read_rows)\b/g, 'care.$1')
}

/** The same in a database; `transaction` runs statements together. */
export function postgresSideTables(of: {
  readonly read: PostgresQuery
  readonly transaction: (run: (query: PostgresQuery) => Promise<unknown>) => Promise<unknown>
}): SideTables {
  const place = 'the side tables'
  return {
    read: async (sql, values = []) => {
      try {
        return await of.read(postgresText(sql), values)
      } catch (error) {
        throw unavailable(place, error)
      }
    },
    write: async (sql, rows) => {
      const text = postgresText(sql)
      try {
        await of.transaction((query) => Promise.all(rows.map((row) => query(text, row))))
      } catch (error) {
        throw unavailable(place, error)
      }
    },
    close: () => undefined,
  }
}

// Audit rows in the store's second file.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { makePrivateFile, messageOf } from '@tallystick/journal-store'
import type { AuditTrail } from '../domain/publish-record.ts'
import type { AuditRow, KeptAuditRow } from '../wire/write.ts'
import {
  type AuditQuery,
  type AuditRows,
  type AuditTrailOptions,
  AuditTrailUnavailable,
  BatchedAuditTrail,
  keptRow,
  REFUSALS_KEPT_MAX,
  REFUSALS_SLACK,
} from './batched-audit-trail.ts'

/** How long a statement waits for another process's, milliseconds. */
const BUSY_TIMEOUT_MS = 2_000

const SCHEMA = `
CREATE TABLE IF NOT EXISTS audit_rows (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected')),
  reason TEXT NOT NULL,
  via TEXT NOT NULL,
  actor TEXT,
  uri TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS audit_rows_rejected ON audit_rows (sequence) WHERE outcome = 'rejected';`

type SqliteAuditTrailOptions = AuditTrailOptions & {
  /** The sessions' file of the store (`sessionsPath`). */
  readonly path: string
  /** Bound on kept refusals; `REFUSALS_KEPT_MAX` unless a test says otherwise. */
  readonly refusalsKeptMax?: number
}

/** Opens the trail, making it where there is none. Throws AuditTrailUnavailable. */
export const openSqliteAuditTrail = (options: SqliteAuditTrailOptions): AuditTrail =>
  new BatchedAuditTrail(new SqliteAuditRows(options), options)

/** Opens the trail to read beside a running service. Throws AuditTrailUnavailable. */
export function readSqliteAuditRows(path: string, query: AuditQuery): readonly KeptAuditRow[] {
  return asUnavailable(path, () => {
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    try {
      return readRows(database, query)
    } finally {
      database.close()
    }
  })
}

function readRows(database: DatabaseSync, query: AuditQuery): readonly KeptAuditRow[] {
  const { limit, before = Number.MAX_SAFE_INTEGER } = query
  return database
    .prepare(
      'SELECT sequence, at, outcome, reason, via, actor, uri FROM audit_rows WHERE sequence < ? ORDER BY sequence DESC LIMIT ?',
    )
    .all(before, limit)
    .map(keptRow)
}

function asUnavailable<Result>(path: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw new AuditTrailUnavailable(`${path}: ${messageOf(error)}`, { cause: error })
  }
}

class SqliteAuditRows implements AuditRows {
  readonly #path: string
  readonly #keptMax: number
  readonly #database: DatabaseSync
  readonly #insert: ReturnType<DatabaseSync['prepare']>
  readonly #rotate: ReturnType<DatabaseSync['prepare']>
  #refusalsKept: number

  constructor({ path, refusalsKeptMax = REFUSALS_KEPT_MAX }: SqliteAuditTrailOptions) {
    this.#path = path
    this.#keptMax = refusalsKeptMax
    this.#database = asUnavailable(path, () => {
      makePrivateFile(path)
      const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${SCHEMA}`)
      return database
    })
    this.#insert = this.#database.prepare(
      'INSERT INTO audit_rows (at, outcome, reason, via, actor, uri) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#rotate = this.#database.prepare(
      "DELETE FROM audit_rows WHERE outcome = 'rejected' AND sequence IN (SELECT sequence FROM audit_rows WHERE outcome = 'rejected' ORDER BY sequence LIMIT ?)",
    )
    const counted = this.#database
      .prepare("SELECT count(*) AS kept FROM audit_rows WHERE outcome = 'rejected'")
      .get()
    this.#refusalsKept = Number(counted?.['kept'])
  }

  add(rows: readonly AuditRow[], durability: 'synced' | 'relaxed'): void {
    const database = this.#database
    const refused = rows.filter(({ outcome }) => outcome === 'rejected').length
    try {
      if (durability === 'relaxed') database.exec('PRAGMA synchronous = NORMAL')
      database.exec('BEGIN IMMEDIATE')
      for (const row of rows) this.#insert.run(...valuesOf(row))
      const kept = this.#rotateRefusals(this.#refusalsKept + refused)
      database.exec('COMMIT')
      this.#refusalsKept = kept
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    } finally {
      if (durability === 'relaxed') database.exec('PRAGMA synchronous = FULL')
    }
  }

  read(query: AuditQuery): readonly KeptAuditRow[] {
    return asUnavailable(this.#path, () => readRows(this.#database, query))
  }

  close(): void {
    this.#database.close()
  }

  #rotateRefusals(count: number): number {
    if (count <= this.#keptMax + Math.min(REFUSALS_SLACK, this.#keptMax)) return count
    this.#rotate.run(count - this.#keptMax)
    return this.#keptMax
  }
}

const valuesOf = (row: AuditRow): SQLInputValue[] => [
  row.at,
  row.outcome,
  row.reason,
  row.via,
  row.actor,
  row.uri ?? null,
]

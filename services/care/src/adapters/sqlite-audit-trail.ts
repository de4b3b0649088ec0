// Audit rows in the store's second file. A row of an accepted write is durable before it is acknowledged. Refusals, which
// anyone can cause, are kept in groups without an fsync of their own, and only so many of them: a flood of refused requests
// costs neither the disk's time nor its space.

import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { makePrivateFile, messageOf } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { AuditTrail } from '../domain/publish-record.ts'
import type { AuditRow, KeptAuditRow } from '../wire/write.ts'

/** How long a statement waits for another process's, milliseconds. */
const BUSY_TIMEOUT_MS = 2_000
/** Rows of refused writes that are kept, the newest; some 15 MB. */
const REFUSALS_KEPT_MAX = 100_000
/** How many above that may gather before the oldest are taken out, so that not every commit pays for it. */
const REFUSALS_SLACK = 1_000
/** Refusals that wait in memory before they are written at once. */
const REFUSALS_WAITING_MAX = 256
/** Longest that a refusal waits, milliseconds: what a power loss or a kill may take. */
export const REFUSAL_FLUSH_MS = 1_000

/** The audit rows cannot be written or read. */
export class AuditTrailUnavailable extends Error {
  override readonly name = 'AuditTrailUnavailable'
}

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

type SqliteAuditTrailOptions = {
  /** The sessions' file of the store (`sessionsPath`). */
  readonly path: string
  readonly clock: Clock
  /** Told when refusals could not be written; they are dropped. */
  readonly onProblem?: ((error: unknown) => void) | undefined
  /** Told of every row. */
  readonly onRow?: ((row: AuditRow) => void) | undefined
  /** Bound on kept refusals; `REFUSALS_KEPT_MAX` unless a test says otherwise. */
  readonly refusalsKeptMax?: number
}

type AuditQuery = Parameters<AuditTrail['read']>[0]

type Waiting = {
  readonly row: AuditRow
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Opens the trail, making it where there is none. Throws AuditTrailUnavailable. */
export function openSqliteAuditTrail(options: SqliteAuditTrailOptions): AuditTrail {
  return new SqliteAuditTrail(options)
}

/** Opens the trail to read beside a running service. Throws AuditTrailUnavailable. */
export function readAuditRows(path: string, query: AuditQuery): readonly KeptAuditRow[] {
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
    .map(({ uri, ...row }) => ({ ...row, ...(uri === null ? {} : { uri }) }) as KeptAuditRow)
}

function asUnavailable<Result>(path: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw new AuditTrailUnavailable(`${path}: ${messageOf(error)}`, { cause: error })
  }
}

class SqliteAuditTrail implements AuditTrail {
  readonly #options: SqliteAuditTrailOptions
  readonly #database: DatabaseSync
  readonly #insert: ReturnType<DatabaseSync['prepare']>
  readonly #rotate: ReturnType<DatabaseSync['prepare']>
  #accepted: Waiting[] = []
  #refused: AuditRow[] = []
  #refusalsKept: number
  #cancelTimer: (() => void) | undefined
  #isFlushDue = false
  #isClosed = false

  constructor(options: SqliteAuditTrailOptions) {
    this.#options = options
    this.#database = asUnavailable(options.path, () => {
      makePrivateFile(options.path)
      const database = new DatabaseSync(options.path, { timeout: BUSY_TIMEOUT_MS })
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
    this.#refusalsKept = Number(counted?.kept)
  }

  async add(row: AuditRow): Promise<void> {
    this.#options.onRow?.(row)
    if (this.#isClosed) throw new AuditTrailUnavailable('the audit trail is closed')
    if (row.outcome === 'accepted') {
      await new Promise<void>((resolve, reject) => {
        this.#accepted.push({ row, resolve, reject })
        this.#flushSoon()
      })
      return
    }
    this.#refused.push(row)
    if (this.#refused.length >= REFUSALS_WAITING_MAX) this.#flush()
    else
      this.#cancelTimer ??= this.#options.clock.after(REFUSAL_FLUSH_MS, () => {
        this.#flush()
      })
  }

  async read(query: AuditQuery): Promise<readonly KeptAuditRow[]> {
    this.#flush()
    return asUnavailable(this.#options.path, () => readRows(this.#database, query))
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#flush()
    this.#isClosed = true
    this.#database.close()
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(() => {
      this.#isFlushDue = false
      if (!this.#isClosed) this.#flush()
    })
  }

  /** Refusals that wait go along with accepted rows; alone they are written without an fsync. */
  #flush(): void {
    const accepted = this.#accepted
    const refused = this.#refused
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (accepted.length + refused.length === 0) return
    this.#accepted = []
    this.#refused = []
    const database = this.#database
    try {
      if (accepted.length === 0) database.exec('PRAGMA synchronous = NORMAL')
      database.exec('BEGIN IMMEDIATE')
      for (const row of [...refused, ...accepted.map((waiting) => waiting.row)])
        this.#insert.run(...valuesOf(row))
      const kept = this.#rotateRefusals(this.#refusalsKept + refused.length)
      database.exec('COMMIT')
      this.#refusalsKept = kept
      for (const { resolve } of accepted) resolve()
    } catch (cause) {
      this.#fail({ accepted, refused }, cause)
    } finally {
      if (accepted.length === 0) database.exec('PRAGMA synchronous = FULL')
    }
  }

  #rotateRefusals(count: number): number {
    const most = this.#options.refusalsKeptMax ?? REFUSALS_KEPT_MAX
    if (count <= most + Math.min(REFUSALS_SLACK, most)) return count
    this.#rotate.run(count - most)
    return most
  }

  #fail(
    lost: { readonly accepted: readonly Waiting[]; readonly refused: readonly AuditRow[] },
    cause: unknown,
  ): void {
    const error = new AuditTrailUnavailable(`nothing was written: ${messageOf(cause)}`, { cause })
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    for (const { reject } of lost.accepted) reject(error)
    if (lost.refused.length > 0) this.#options.onProblem?.(error)
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

// Audit rows, on either engine. On PostgreSQL the service's role adds rows, and takes out rows of refused writes alone.
import { randomUUID } from 'node:crypto'
import type { AuditTrail } from '../domain/publish-record.ts'
import type { AuditRow, KeptAuditRow } from '../wire/write.ts'
import {
  type AuditQuery,
  type AuditRows,
  type AuditTrailOptions,
  BatchedAuditTrail,
  keptRow,
  REFUSALS_KEPT_MAX,
  REFUSALS_SLACK,
} from './batched-audit-trail.ts'
import { openSqliteSideRows, type SideRows } from './side-rows.ts'

const SQLITE_TABLE = `
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

type Statement = readonly [text: string, values: readonly unknown[]]

const cellsOf = ({ at, outcome, reason, via, actor, uri }: AuditRow, { textCell }: SideRows) =>
  [at, outcome, reason, via, actor === null ? null : textCell(actor), uri ?? null] as const

const addOnSqlite = (added: readonly AuditRow[], rows: SideRows): readonly Statement[] =>
  added.map((row) => [
    'INSERT INTO audit_rows (at, outcome, reason, via, actor, uri) VALUES ($1, $2, $3, $4, $5, $6)',
    cellsOf(row, rows),
  ])

const ADD_ON_POSTGRES = `INSERT INTO audit_rows (row_id, at, outcome, reason, via, actor, uri)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[])
  ON CONFLICT (row_id) DO NOTHING`

/** One statement for all rows. After a lost answer it may run again, and adds none twice. */
const addOnPostgres: typeof addOnSqlite = (added, rows) => {
  const cells = added.map((row) => [randomUUID(), ...cellsOf(row, rows)])
  const columns = [0, 1, 2, 3, 4, 5, 6].map((column) => cells.map((row) => row[column]))
  return [[ADD_ON_POSTGRES, columns]]
}

const COUNT = "SELECT count(*) AS kept FROM audit_rows WHERE outcome = 'rejected'"
const ROTATE = `DELETE FROM audit_rows WHERE outcome = 'rejected' AND sequence IN
  (SELECT sequence FROM audit_rows WHERE outcome = 'rejected' ORDER BY sequence LIMIT $1)`

/** Rows, newest first. Rejects with AuditTrailUnavailable. */
export async function readAuditRows(
  { read }: Pick<SideRows, 'read'>,
  { limit, before = Number.MAX_SAFE_INTEGER }: AuditQuery,
): Promise<readonly KeptAuditRow[]> {
  const sql = `SELECT sequence, at, outcome, reason, via, actor, uri FROM audit_rows
    WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2`
  return (await read(sql, [before, limit])).map(keptRow)
}

type TrailOptions = AuditTrailOptions & {
  /** Bound on kept refusals; `REFUSALS_KEPT_MAX` unless a test says otherwise. */
  readonly refusalsKeptMax?: number
}

function auditRows(
  rows: SideRows,
  add: typeof addOnSqlite,
  { refusalsKeptMax: keptMax = REFUSALS_KEPT_MAX }: TrailOptions,
): AuditRows {
  /** Refusals that this process has added since it last counted. */
  let addedRefusals = REFUSALS_SLACK
  return {
    add: async (added, durability) => {
      const statements = add(added, rows)
      const refusals = addedRefusals + added.filter(({ outcome }) => outcome === 'rejected').length
      const isDue = refusals >= Math.min(REFUSALS_SLACK, keptMax)
      await rows.transaction(async (query) => {
        await Promise.all(statements.map(([text, values]) => query(text, values)))
        if (!isDue) return
        const [counted] = await query<{ readonly kept: number }>(COUNT)
        const above = (counted?.kept ?? 0) - keptMax
        if (above > 0) await query(ROTATE, [above])
      }, durability)
      addedRefusals = isDue ? 0 : refusals
    },
    read: (query) => readAuditRows(rows, query),
    close: () => rows.end(),
  }
}

/** Opens the trail in the sessions' file of the store (`sessionsPath`), making it where there is none. Throws AuditTrailUnavailable. */
export function openSqliteAuditTrail(
  options: TrailOptions & { readonly path: string },
): AuditTrail {
  const rows = openSqliteSideRows(options.path, {
    prepare: (database) => database.exec(SQLITE_TABLE),
  })
  return new BatchedAuditTrail(auditRows(rows, addOnSqlite, options), options)
}

/** Opens the trail in the schema of the records; the rows outlive it. */
export const openPostgresAuditTrail = (
  options: TrailOptions & { readonly rows: SideRows },
): AuditTrail => new BatchedAuditTrail(auditRows(options.rows, addOnPostgres, options), options)

// Audit rows in the schema of the records. Their role adds rows, and takes out rows of refused writes alone.
import { randomUUID } from 'node:crypto'
import type { PostgresJournalStore, PostgresQuery } from '@tallystick/journal-store/postgres'
import type { AuditTrail } from '../domain/publish-record.ts'
import type { Audience } from '../wire/records.ts'
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

const ADD = `INSERT INTO care.audit_rows (row_id, at, outcome, reason, via, actor, uri)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[])
  ON CONFLICT (row_id) DO NOTHING`
const COUNT = "SELECT count(*) AS kept FROM care.audit_rows WHERE outcome = 'rejected'"
const ROTATE = `DELETE FROM care.audit_rows WHERE sequence IN
  (SELECT sequence FROM care.audit_rows WHERE outcome = 'rejected' ORDER BY sequence LIMIT $1)`

type Store = Pick<PostgresJournalStore<Audience>, 'read' | 'writeRows'>

type PostgresAuditTrailOptions = AuditTrailOptions & {
  /** The store of the records; it outlives the trail. */
  readonly store: Store
  /** Bound on kept refusals; `REFUSALS_KEPT_MAX` unless a test says otherwise. */
  readonly refusalsKeptMax?: number
}

/** Opens the trail. */
export const openPostgresAuditTrail = (options: PostgresAuditTrailOptions): AuditTrail =>
  new BatchedAuditTrail(new PostgresAuditRows(options), options)

/** Rows, newest first. Rejects with AuditTrailUnavailable. */
export async function readPostgresAuditRows(
  read: PostgresQuery,
  query: AuditQuery,
): Promise<readonly KeptAuditRow[]> {
  const { limit, before = Number.MAX_SAFE_INTEGER } = query
  const sql = `SELECT sequence, at, outcome, reason, via, actor, uri FROM care.audit_rows
    WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2`
  try {
    return (await read(sql, [before, limit])).map(keptRow)
  } catch (cause) {
    throw new AuditTrailUnavailable('the audit rows cannot be read', { cause })
  }
}

class PostgresAuditRows implements AuditRows {
  readonly #store: Store
  readonly #keptMax: number
  /** Refusals that this process has added since it last counted. */
  #addedRefusals = REFUSALS_SLACK

  constructor({ refusalsKeptMax = REFUSALS_KEPT_MAX, store }: PostgresAuditTrailOptions) {
    this.#store = store
    this.#keptMax = refusalsKeptMax
  }

  async add(rows: readonly AuditRow[], durability: 'synced' | 'relaxed'): Promise<void> {
    const values = [
      rows.map(() => randomUUID()),
      rows.map(({ at }) => at),
      rows.map(({ outcome }) => outcome),
      rows.map(({ reason }) => reason),
      rows.map(({ via }) => via),
      rows.map(({ actor }) => (actor === null ? null : Buffer.from(actor))),
      rows.map(({ uri }) => uri ?? null),
    ]
    await this.#store.writeRows((query) => query(ADD, values), durability)
    this.#addedRefusals += rows.filter(({ outcome }) => outcome === 'rejected').length
    if (this.#addedRefusals >= Math.min(REFUSALS_SLACK, this.#keptMax)) await this.#rotate()
  }

  read(query: AuditQuery): Promise<readonly KeptAuditRow[]> {
    return readPostgresAuditRows(this.#store.read, query)
  }

  close(): void {}

  async #rotate(): Promise<void> {
    this.#addedRefusals = 0
    await this.#store.writeRows(async (query) => {
      const [counted] = await query<{ readonly kept: number }>(COUNT)
      const above = (counted?.kept ?? 0) - this.#keptMax
      if (above > 0) await query(ROTATE, [above])
    }, 'relaxed')
  }
}

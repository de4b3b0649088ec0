// The audit trail, on either engine. An accepted write's row is durable before the write is acknowledged. Anyone can cause
// refusals, so they are written in groups that wait for no disk, and their number is bounded: a flood of refused requests costs
// the disk neither time nor space. On PostgreSQL the service's role may add rows, but delete only rows of refused writes.
import { randomUUID } from 'node:crypto'
import { sharedRuns } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { AuditTrail } from '../../domain/publish-record.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import type { AuditRow, KeptAuditRow } from '../../wire/write.ts'
import type { SideRows } from './side-rows.ts'

/** How many rows of refused writes are kept, the newest; some 15 MB. */
const REFUSALS_KEPT_MAX = 100_000
/** How many more may gather before the oldest are deleted, so that not every commit pays for it. */
const REFUSALS_SLACK = 1_000
/** Rows that may wait in memory; at this many they are written at once. */
const ROWS_WAITING_MAX = 256
/** Longest that a refusal waits, milliseconds: a power loss or a kill may lose this much. */
export const REFUSAL_FLUSH_MS = 1_000

const toCells = ({ at, outcome, reason, via, actor, uri }: AuditRow, { textCell }: SideRows) =>
  [at, outcome, reason, via, actor === null ? null : textCell(actor), uri ?? null] as const

type Statement = readonly [text: string, values: readonly unknown[]]

const ADD_ON_POSTGRES = `INSERT INTO audit_rows (row_id, at, outcome, reason, via, actor, uri)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[])
  ON CONFLICT (row_id) DO NOTHING`

/** What adds rows, in their order. */
function insertStatements(added: readonly AuditRow[], rows: SideRows): readonly Statement[] {
  const cells = added.map((row) => toCells(row, rows))
  if (rows.engine === 'sqlite')
    return cells.map((values) => [
      'INSERT INTO audit_rows (at, outcome, reason, via, actor, uri) VALUES ($1, $2, $3, $4, $5, $6)',
      values,
    ])
  // One statement for all rows. After a lost answer it may run again, but adds no row twice.
  const named = cells.map((row) => [randomUUID(), ...row])
  return [[ADD_ON_POSTGRES, [0, 1, 2, 3, 4, 5, 6].map((at) => named.map((row) => row[at]))]]
}

/** Deletes the oldest refusals above a bound. */
const ROTATE = `DELETE FROM audit_rows WHERE outcome = 'rejected' AND sequence <=
  (SELECT sequence FROM audit_rows WHERE outcome = 'rejected' ORDER BY sequence DESC LIMIT 1 OFFSET $1)`

/** A kept row's columns; bytes are text. */
function keptRow(columns: Readonly<Record<string, unknown>>): KeptAuditRow {
  const { actor, uri, ...row } = columns
  const shown = {
    ...row,
    actor: actor instanceof Uint8Array ? Buffer.from(actor).toString() : actor,
  }
  return { ...shown, ...(uri === null ? {} : { uri }) } as KeptAuditRow
}

/** Rows, newest first, of those with a sequence below `before`. Rejects with RecordStoreUnavailable. */
export async function readAuditRows(
  { read }: Pick<SideRows, 'read'>,
  query: { readonly limit: number; readonly before?: number | undefined },
): Promise<readonly KeptAuditRow[]> {
  const { limit, before = Number.MAX_SAFE_INTEGER } = query
  const sql = `SELECT sequence, at, outcome, reason, via, actor, uri FROM audit_rows
    WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2`
  return (await read(sql, [before, limit])).map(keptRow)
}

export type AuditTrailOptions = {
  readonly clock: Clock
  /** Called when refusals could not be written; they are dropped. */
  readonly onProblem?: ((error: unknown) => void) | undefined
  readonly onRow?: ((row: AuditRow) => void) | undefined
  /** Bound on kept refusals; `REFUSALS_KEPT_MAX` unless a test says otherwise. */
  readonly refusalsKeptMax?: number
}

export function openAuditTrail(rows: SideRows, options: AuditTrailOptions): AuditTrail {
  const { clock, onProblem, onRow, refusalsKeptMax: keptMax = REFUSALS_KEPT_MAX } = options
  let waiting: AuditRow[] = []
  let cancelTimer: (() => void) | undefined
  let isClosed = false
  /** Refusals that this process added since it last deleted the oldest. */
  let sinceRotation = REFUSALS_SLACK

  const write = async (added: readonly AuditRow[]): Promise<void> => {
    const statements = insertStatements(added, rows)
    const refused = added.filter(({ outcome }) => outcome === 'rejected').length
    const isDue = sinceRotation + refused >= Math.min(REFUSALS_SLACK, keptMax)
    try {
      await rows.transaction(
        async (query) => {
          await Promise.all(statements.map((each) => query(...each)))
          if (isDue) await query(ROTATE, [keptMax])
        },
        refused === added.length ? 'relaxed' : 'synced',
      )
    } catch (error) {
      if (refused > 0) onProblem?.(error)
      throw error
    }
    sinceRotation = isDue ? 0 : sinceRotation + refused
  }
  const flush = sharedRuns(async () => {
    cancelTimer?.()
    cancelTimer = undefined
    const added = waiting
    waiting = []
    if (added.length > 0) await write(added)
  })
  /** For refusals, which nobody waits for. */
  const flushSoon = (): Promise<void> => flush().catch(() => undefined)

  return {
    async add(row) {
      onRow?.(row)
      if (isClosed) throw new RecordStoreUnavailable('the audit trail is closed')
      waiting.push(row)
      if (row.outcome === 'accepted') await flush()
      else if (waiting.length >= ROWS_WAITING_MAX) void flushSoon()
      else cancelTimer ??= clock.after(REFUSAL_FLUSH_MS, () => void flushSoon())
    },
    async close() {
      isClosed = true
      await flushSoon()
    },
  }
}

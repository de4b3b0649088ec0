/** Counting the truth table from the ledger's own entries: for verifying it, and once where an earlier version counted by other rules. */
import type { DatabaseSync } from 'node:sqlite'
import { SqliteConnection, type SqlQuery } from '@tallystick/journal-store'
import { eventContribution } from '../domain/event-contribution.ts'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import {
  emptyTruth,
  type MutableTruth,
  TRUTH_RULES,
  TRUTH_RULES_KEY,
  writeCell,
} from '../domain/truth-table.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import { type LedgerSource, sqliteLedgerSource } from './ledger-source.ts'
import {
  byKey,
  committedOf,
  type EntryColumns,
  entryRow,
  foldEvent,
  PICK_COLUMNS,
  type PickColumns,
  pickRow,
} from './stored-rows.ts'

/** Entries, events or picks in a slice: some 10 ms. */
export const PER_SLICE = 500

/** The truth table as the ledger comes to it, in slices of events. */
export async function countTruth({
  names: { hash, seq },
  pause,
  read,
}: LedgerSource): Promise<MutableTruth> {
  const events = `SELECT id, path FROM events WHERE id > $1 ORDER BY id LIMIT ${PER_SLICE}`
  const entries = `SELECT event, ${seq} AS seq, text, ${hash} AS hash FROM entries
    WHERE event > $1 AND event <= $2 ORDER BY event, ${seq}`
  const picks = `SELECT events.id AS event, ${PICK_COLUMNS} FROM events JOIN picks ON event_path = path
    WHERE events.id > $1 AND events.id <= $2 AND seq IS NOT NULL ORDER BY events.id, seq`
  const tally = new TruthTally()
  for (let last = 0; ; ) {
    const slice = await read<{ readonly id: number }>(events, [last])
    const range = [last, slice.at(-1)?.id ?? last]
    const [entriesOf, picksOf] = await Promise.all([
      read<EntryColumns & { readonly event: number }>(entries, range),
      read<PickColumns & { readonly event: number }>(picks, range),
    ]).then(([found, kept]) => [byKey(found, eventOf), byKey(kept, eventOf)] as const)
    for (const { id } of slice) {
      const state = foldEvent((entriesOf.get(id) ?? []).map(entryRow))
      const committed = committedOf((picksOf.get(id) ?? []).map(pickRow))
      if (state !== undefined) tally.add(eventContribution(state, committed), 1)
      last = id
    }
    if (slice.length < PER_SLICE) break
    await pause()
  }
  const truth = emptyTruth()
  tally.mergeInto(truth)
  return truth
}

const eventOf = ({ event }: { readonly event: number }): number => event

/** Whether the table was counted by other rules than today's. */
export async function isOutdated(read: SqlQuery): Promise<boolean> {
  const [rules] = await read<{ readonly cell: string }>('SELECT cell FROM truth WHERE key = $1', [
    TRUTH_RULES_KEY,
  ])
  return rules?.cell !== TRUTH_RULES
}

/**
 * The cells of an outdated table by today's rules, null for one that is gone; none where another process was first. Some 100 µs an
 * event, within a write.
 */
export async function recountedCells(
  source: LedgerSource,
): Promise<ReadonlyMap<string, string | null>> {
  if (!(await isOutdated(source.read))) return new Map()
  const truth = await countTruth(source)
  const stored = await source.read<{ readonly key: string }>('SELECT key FROM truth')
  const cells = new Map<string, string | null>(stored.map(({ key }) => [key, null]))
  for (const [key, cell] of [...truth.bands, ...truth.lines]) cells.set(key, writeCell(cell))
  return cells.set(TRUTH_RULES_KEY, TRUTH_RULES)
}

/** Counts the table of a ledger on SQLite again where it is outdated, and says so; nothing else uses the connection yet. */
export async function recountSqliteLedger(database: DatabaseSync): Promise<boolean> {
  const connection = new SqliteConnection(database, GradingStoreUnavailable)
  if (!(await isOutdated(connection.read))) return false
  await connection.transaction(async (query) => {
    const source = { ...sqliteLedgerSource(database), read: query, pause: async () => undefined }
    const cells = await recountedCells(source)
    if (cells.size > 0) await query('DELETE FROM truth')
    for (const [key, cell] of cells)
      if (cell !== null) await query('INSERT INTO truth (key, cell) VALUES ($1, $2)', [key, cell])
  })
  return true
}

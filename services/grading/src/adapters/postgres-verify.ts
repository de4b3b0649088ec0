/** Verifying the ledger on PostgreSQL: what is read, in slices between which others read and write. */
import { createCompactRange } from '@tallystick/hashchain'
import { type CheckpointReading, verifyJournal } from '@tallystick/journal-store'
import { type PostgresQuery, readHeads } from '@tallystick/journal-store/postgres'
import type { LedgerVerdict } from '../domain/grading-store.ts'
import { byKey, type EntryObject, entryRow, readCommitted } from './postgres-events.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'
import {
  type CommittedRow,
  checkFiled,
  type FiledRow,
  PER_SLICE,
  verifyLedger,
} from './verify-ledger.ts'

type FiledObject = EntryObject & { readonly path: string | null }

const FILED = `SELECT at, leaf_hash, text, path FROM grading.entries LEFT JOIN grading.events ON id = event
  WHERE at >= $1 ORDER BY at LIMIT $2`
const NODE = 'SELECT hash FROM grading.entries_nodes WHERE place = $1'
const EVENTS = `SELECT id, path FROM grading.events WHERE id > $1 ORDER BY id LIMIT ${PER_SLICE}`
const OF_EVENTS =
  'SELECT event, at, text, leaf_hash FROM grading.entries WHERE event = ANY($1) ORDER BY at'
const COMMITTED = `SELECT seq, opening, text FROM grading.picks LEFT JOIN grading.entries ON at = seq
  WHERE seq > $1 ORDER BY seq LIMIT ${PER_SLICE}`
const CELLS = 'SELECT key, cell FROM grading.truth WHERE cell IS NOT NULL'

async function eventsAfter(read: PostgresQuery, last: number) {
  const events = await read<{ id: number; path: string }>(EVENTS, [last])
  const [rows, picks] = await Promise.all([
    read<EntryObject & { event: number }>(OF_EVENTS, [events.map(({ id }) => id)]),
    readCommitted(
      read,
      events.map(({ path }) => path),
    ),
  ])
  const entries = byKey(rows, ({ event }) => event)
  return events.map(({ id, path }) => ({
    id,
    entries: (entries.get(id) ?? []).map(entryRow),
    picks: picks.get(path) ?? [],
  }))
}

/** Others run while an answer is waited for. */
const pause = async (): Promise<void> => undefined

/**
 * Verifies everything, against a checkpoint that was read before the call; names the first entry that does not hold, where
 * one can be named. Rejects with GradingStoreUnavailable.
 */
export function verifyPostgresLedger(
  read: PostgresQuery,
  checkpoint: CheckpointReading,
): Promise<LedgerVerdict> {
  return verifyLedger({
    verifyEntries: () =>
      verifyJournal({
        checkpoint,
        rows: async (from, limit) =>
          (await read<FiledObject>(FILED, [from, limit])).map(
            ({ at, leaf_hash: hash, path, text }): FiledRow => [at, hash, text.toString(), path],
          ),
        node: async (place) => (await read<{ hash: Buffer }>(NODE, [place]))[0]?.hash,
        check: checkFiled,
        rowsPerSlice: PER_SLICE,
        pause,
      }),
    head: async () =>
      (await readHeads({ kind: POSTGRES_LEDGER, read })).get('ledger') ?? createCompactRange(),
    eventsAfter: (last) => eventsAfter(read, last),
    picksAfter: async (last) =>
      (await read<{ seq: number; opening: string; text: Buffer | null }>(COMMITTED, [last])).map(
        ({ opening, seq, text }): CommittedRow => [seq, opening, text?.toString() ?? null],
      ),
    cells: async () =>
      (await read<{ key: string; cell: string }>(CELLS)).map(({ cell, key }) => [key, cell]),
    pause,
  })
}

/** Verifying the ledger on SQLite: what is read, in slices between which requests are served. */
import type { DatabaseSync } from 'node:sqlite'
import {
  type CheckpointReading,
  openNodeReader,
  prepareQuery,
  readStoredHead,
  verifyJournal,
} from '@tallystick/journal-store'
import type { LedgerVerdict } from '../domain/grading-store.ts'
import { guarded, nextIteration } from './sqlite-database.ts'
import { openEventEntries } from './sqlite-events.ts'
import { openPickTable } from './sqlite-ledger.ts'
import {
  type CommittedRow,
  checkFiled,
  type FiledRow,
  PER_SLICE,
  verifyLedger,
} from './verify-ledger.ts'

function verifyAll(database: DatabaseSync, checkpoint: CheckpointReading): Promise<LedgerVerdict> {
  const events = prepareQuery<readonly [id: number, path: string]>(
    database,
    `SELECT id, path FROM events WHERE id > ? ORDER BY id LIMIT ${PER_SLICE}`,
  )
  const entries = openEventEntries(database)
  const picks = openPickTable(database)
  const committed = prepareQuery<CommittedRow>(
    database,
    `SELECT picks.seq, opening, text FROM picks LEFT JOIN entries ON entries.seq = picks.seq
      WHERE picks.seq > ? ORDER BY picks.seq LIMIT ${PER_SLICE}`,
  )
  const filed = prepareQuery<FiledRow>(
    database,
    `SELECT seq, hash, text, path FROM entries LEFT JOIN events ON events.id = event
      WHERE seq >= ? ORDER BY seq LIMIT ?`,
  )
  const cells = prepareQuery<readonly [string, string]>(database, 'SELECT key, cell FROM truth')
  return verifyLedger({
    verifyEntries: () =>
      verifyJournal({
        checkpoint,
        rows: (from, limit) => filed.all(from, limit),
        node: openNodeReader(database),
        check: checkFiled,
        rowsPerSlice: PER_SLICE,
        pause: nextIteration,
      }),
    head: () => readStoredHead(database),
    eventsAfter: (last) =>
      events
        .all(last)
        .map(([id, path]) => ({ id, entries: entries.all(id), picks: picks.committedOn(path) })),
    picksAfter: (last) => committed.all(last),
    cells: () => cells.all(),
    pause: nextIteration,
  })
}

/**
 * Verifies everything, against a checkpoint that was read before the call; names the first entry that does not hold, where
 * one can be named. Rejects with GradingStoreUnavailable.
 */
export const verifySqliteLedger = guarded(verifyAll)

/**
 * Verifying the ledger: every text is hashed again and compared with its leaf, the tree with its stored head, nodes and
 * signed checkpoint, every committed pick with its commitment, the index of events with the entries, and the truth table with one
 * that is counted again. Work is cut into slices, and requests are served between them.
 */
import type { DatabaseSync } from 'node:sqlite'
import {
  type CheckpointReading,
  prepareQuery,
  readStoredHead,
  verifyJournal,
} from '@tallystick/journal-store'
import { commitmentOf } from '../domain/committed-pick.ts'
import { eventContribution } from '../domain/event-contribution.ts'
import type { LedgerVerdict } from '../domain/grading-store.ts'
import type { LedgerEntry } from '../domain/ledger-entry.ts'
import { applyEvent, emptyTruth, readCell, sameTruth } from '../domain/truth-table.ts'
import { guarded, nextIteration } from './sqlite-database.ts'
import { foldEvent, openEventEntries } from './sqlite-events.ts'
import { openPickTable } from './sqlite-ledger.ts'

/** Entries or events in a slice: some 10 ms. */
const PER_SLICE = 500

/** [seq, hash, text, path of the event that it is filed under] */
type CheckedRow = readonly [number, Uint8Array, string, string | null]

type Broken = Extract<LedgerVerdict, { kind: 'broken' }>

const broken = (problem: string, seq?: number): Broken => ({ kind: 'broken', problem, seq })

function parsed(text: string): LedgerEntry | undefined {
  try {
    return JSON.parse(text) as LedgerEntry
  } catch {
    return undefined
  }
}

function checkEntry([, , text, path]: CheckedRow): string | undefined {
  const entry = parsed(text)
  if (entry === undefined) return 'its text is not JSON'
  const belongs = entry.type === 'pick' ? null : entry.event.path
  return belongs === path ? undefined : 'the index of events does not lead to it'
}

/** First pass: entries in order, against leaves, nodes and signed checkpoint. */
const checkEntries = (database: DatabaseSync, checkpoint: CheckpointReading) =>
  verifyJournal({
    database,
    checkpoint,
    rows: prepareQuery<CheckedRow>(
      database,
      `SELECT seq, hash, text, path FROM entries LEFT JOIN events ON events.id = event
        WHERE seq >= ? ORDER BY seq LIMIT ?`,
    ),
    check: checkEntry,
    rowsPerSlice: PER_SLICE,
    pause: nextIteration,
  })

/** Second pass: folds all events and counts the truth table again. */
async function checkTruth(database: DatabaseSync): Promise<Broken | undefined> {
  const events = prepareQuery<readonly [number]>(
    database,
    `SELECT id FROM events WHERE id > ? ORDER BY id LIMIT ${PER_SLICE}`,
  )
  const entries = openEventEntries(database)
  const picks = openPickTable(database)
  const counted = emptyTruth()
  for (let last = 0; ; ) {
    const slice = events.all(last)
    for (const [id] of slice) {
      const state = foldEvent(entries.all(id))
      if (state === undefined) continue
      const rows = eventContribution(state, picks.committedOn(state.info.path))
      if (rows.length > 0) applyEvent(counted, rows, 1)
      last = id
    }
    if (slice.length < PER_SLICE) break
    last = slice.at(-1)?.[0] ?? last
    await nextIteration()
  }
  const stored = emptyTruth()
  const cells = prepareQuery<readonly [string, string]>(database, 'SELECT key, cell FROM truth')
  for (const [key, cell] of cells.all()) readCell(stored, key, cell)
  return sameTruth(stored, counted)
    ? undefined
    : broken('the truth table is not what the ledger comes to')
}

async function checkPicks(database: DatabaseSync): Promise<Broken | undefined> {
  const picks = openPickTable(database)
  const entry = prepareQuery<readonly [string]>(database, 'SELECT text FROM entries WHERE seq = ?')
  for (let last = -1; ; ) {
    const slice = picks.committedAfter(last, PER_SLICE)
    for (const { seq, opening } of slice) {
      const text = entry.get(seq)?.[0]
      const found = text === undefined ? undefined : parsed(text)
      if (found?.type !== 'pick' || found.commitment !== commitmentOf(opening))
        return broken('its pick does not open its commitment', seq)
      last = seq
    }
    if (slice.length < PER_SLICE) return undefined
    await nextIteration()
  }
}

async function verifyAll(
  database: DatabaseSync,
  checkpoint: CheckpointReading,
): Promise<LedgerVerdict> {
  const entries = await checkEntries(database, checkpoint)
  if (entries.kind === 'broken') return broken(entries.problem, entries.index)
  const head = readStoredHead(database)
  // Entries that came while this ran are beyond what was read; the head is compared where nothing came.
  if (head.size === entries.size && Buffer.compare(head.rootHash(), entries.rootHash) !== 0)
    return broken('the entries do not hash to the stored head')
  if (head.size < entries.size) return broken('there are entries beyond the stored head', head.size)
  const problem = (await checkPicks(database)) ?? (await checkTruth(database))
  return problem ?? { kind: 'intact', entries: entries.size, rootHash: entries.rootHash }
}

/**
 * Verifies everything, against a checkpoint that was read before the call; names the first entry that does not hold, where
 * one can be named. Rejects with GradingStoreUnavailable.
 */
export const verifyLedger = guarded(verifyAll)

/**
 * Verifying the ledger: every text is hashed again and compared with its leaf, the tree with its stored head, nodes and
 * signed checkpoint, every committed pick with its commitment, the index of events with the entries, and the truth table with one
 * that is counted again. Work is cut into slices, and requests are served between them.
 */
import type { DatabaseSync } from 'node:sqlite'
import { createCompactRange, leafHash, rootOf } from '@tallystick/hashchain'
import { commitmentOf } from '../domain/committed-pick.ts'
import { eventContribution } from '../domain/event-contribution.ts'
import type { LedgerVerdict } from '../domain/grading-store.ts'
import type { LedgerEntry } from '../domain/ledger-entry.ts'
import { applyEvent, emptyTruth, readCell, sameTruth } from '../domain/truth-table.ts'
import type { CheckpointReading } from './checkpoint-file.ts'
import { nextIteration, prepareQuery, readingAsync } from './sqlite-database.ts'
import { foldEvent, openEventEntries } from './sqlite-events.ts'
import { LEAVES_PER_NODE, openLedgerTree, openPickTable } from './sqlite-ledger.ts'

/** Entries or events in a slice: some 10 ms. */
const PER_SLICE = 500

/** [seq, text, hash, path of the event that it is filed under] */
type CheckedRow = readonly [number, string, Uint8Array, string | null]

type Broken = Extract<LedgerVerdict, { kind: 'broken' }>

const broken = (problem: string, seq?: number): Broken => ({ kind: 'broken', problem, seq })

function parsed(text: string): LedgerEntry | undefined {
  try {
    return JSON.parse(text) as LedgerEntry
  } catch {
    return undefined
  }
}

function checkRow([seq, text, hash, path]: CheckedRow, expected: number): Broken | undefined {
  if (seq !== expected) return broken('the entry is gone', expected)
  if (Buffer.compare(leafHash(Buffer.from(text)), hash) !== 0)
    return broken('its text does not hash to its leaf', seq)
  const entry = parsed(text)
  if (entry === undefined) return broken('its text is not JSON', seq)
  const belongs = entry.type === 'pick' ? null : entry.event.path
  return belongs === path ? undefined : broken('the index of events does not lead to it', seq)
}

/** First pass: entries in order, against leaves, nodes, stored head and signed checkpoint. */
async function checkEntries(
  database: DatabaseSync,
  checkpoint: CheckpointReading,
): Promise<Broken | { readonly size: number; readonly rootHash: Uint8Array }> {
  const rows = prepareQuery<CheckedRow>(
    database,
    `SELECT seq, text, hash, path FROM entries LEFT JOIN events ON events.id = event
      WHERE seq >= ? ORDER BY seq LIMIT ${PER_SLICE}`,
  )
  const node = prepareQuery<readonly [Uint8Array]>(
    database,
    'SELECT hash FROM tree_nodes WHERE place = ?',
  )
  const range = createCompactRange()
  if (checkpoint.kind === 'refused') return broken('the checkpoint file is not signed by this key')
  let leaves: Uint8Array[] = []
  for (;;) {
    const slice = rows.all(range.size)
    for (const row of slice) {
      const problem = checkRow(row, range.size)
      if (problem !== undefined) return problem
      range.append(row[2])
      leaves.push(row[2])
      if (leaves.length === LEAVES_PER_NODE) {
        const place = range.size / LEAVES_PER_NODE - 1
        const stored = node.get(place)?.[0]
        if (stored === undefined || Buffer.compare(stored, rootOf(leaves)) !== 0)
          return broken(
            `a leaf of this and the ${LEAVES_PER_NODE - 1} entries before it was altered`,
            row[0],
          )
        leaves = []
      }
      if (checkpoint.kind === 'checkpoint' && checkpoint.checkpoint.size === range.size) {
        if (Buffer.compare(checkpoint.checkpoint.rootHash, range.rootHash()) !== 0)
          return broken('the entries do not hash to the signed checkpoint')
      }
    }
    if (slice.length < PER_SLICE) break
    await nextIteration()
  }
  if (checkpoint.kind === 'checkpoint' && checkpoint.checkpoint.size > range.size)
    return broken(
      `entries at the end are gone: the signed checkpoint counts ${checkpoint.checkpoint.size}`,
      range.size,
    )
  return { size: range.size, rootHash: range.rootHash() }
}

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
  if ('kind' in entries) return entries
  const head = openLedgerTree(database)
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
export const verifyLedger = (
  database: DatabaseSync,
  checkpoint: CheckpointReading,
): Promise<LedgerVerdict> => readingAsync(() => verifyAll(database, checkpoint))

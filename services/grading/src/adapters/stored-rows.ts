/** What stored rows mean to the domain, on every engine: entries, the events they fold into, and picks. */
import { applyEntry } from '../domain/closes/apply-entry.ts'
import type { EventState } from '../domain/closes/event-state.ts'
import type { StoredEntry, StoredPick } from '../domain/closes/grading-store.ts'
import { type EventLedgerEntry, type LedgerEntry, toHex } from '../domain/closes/ledger-entry.ts'
import type { CommittedPick, PickOpening } from '../domain/closes/pick-opening.ts'
import type { RecordReference } from '../domain/closes/price-log.ts'
import { eventPathIn } from '../domain/markets/markets.ts'

/** Entries read at once. */
const ENTRIES_PER_READ = 1_000

/** PostgreSQL returns the text as bytes. */
export type EntryRow = readonly [seq: number, text: string | Buffer, hash: Uint8Array]

/** A row that begins with these columns. */
type Begun<Row extends readonly unknown[]> = readonly [...Row, ...more: unknown[]]

const rowReference = ([seq, , hash]: Begun<EntryRow>): RecordReference => ({
  seq,
  hash: toHex(hash),
})

export function readEntry(row: EntryRow): StoredEntry {
  const text = String(row[1])
  return { ...rowReference(row), text, entry: JSON.parse(text) as LedgerEntry }
}

/** Entries from (inclusive) to (exclusive), in order, a page at a time. */
export async function* entriesBetween(
  { from, to }: { readonly from: number; readonly to: number },
  read: (from: number, to: number) => Promise<readonly EntryRow[]>,
): AsyncGenerator<StoredEntry> {
  for (let first = from; first < to; first += ENTRIES_PER_READ) {
    const rows = await read(first, Math.min(first + ENTRIES_PER_READ, to))
    if (rows.length === 0) return
    yield* rows.map(readEntry)
  }
}

/** Folds an event's entries onto its known state; undefined if it has neither. */
export function foldEvent(
  rows: readonly Begun<EntryRow>[],
  known?: EventState,
): EventState | undefined {
  let state = known
  for (const row of rows)
    state = applyEntry(state, JSON.parse(String(row[1])) as EventLedgerEntry, rowReference(row))
  return state
}

/** The columns of PickRow, in order. */
export const PICK_COLUMNS = 'receipt, payment_id, payer, opening, options, seq'

export type PickRow = readonly [
  receipt: string,
  paymentId: string,
  payer: string,
  opening: string,
  options: string,
  seq: number | null,
]

export const readPick = ([
  receipt,
  paymentId,
  payer,
  opening,
  options,
  seq,
]: Begun<PickRow>): StoredPick => ({
  receipt,
  paymentId,
  payer,
  opening: JSON.parse(opening) as PickOpening,
  options: JSON.parse(options) as StoredPick['options'],
  ...(seq === null ? {} : { seq }),
})

export const readCommitted = (
  rows: readonly Begun<PickRow>[],
): readonly (StoredPick & CommittedPick)[] =>
  rows.flatMap((row) => (row[5] === null ? [] : [{ ...readPick(row), seq: row[5] }]))

export const pickCells = (pick: StoredPick): readonly [...PickRow, eventPath: string] => [
  pick.receipt,
  pick.paymentId,
  pick.payer,
  JSON.stringify(pick.opening),
  JSON.stringify(pick.options),
  pick.seq ?? null,
  eventPathIn(pick.opening.market),
]

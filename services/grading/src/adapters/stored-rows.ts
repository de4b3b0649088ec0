/** What stored rows are to the domain, alike for every engine: entries, the events that they fold into, picks. */
import { canonicalJson, leafHash } from '@tallystick/hashchain'
import { applyEntry } from '../domain/apply-entry.ts'
import type { CommittedPick, PickOpening } from '../domain/committed-pick.ts'
import type { EventState, RecordReference } from '../domain/event-state.ts'
import type { StoredEntry, StoredPick } from '../domain/grading-store.ts'
import type { EventLedgerEntry, LedgerEntry } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'

/** Entries read at once. */
const ENTRIES_PER_READ = 1_000

export type EntryRow = readonly [seq: number, text: string, hash: Uint8Array]

/** A hash in lower-case hex, without a copy of its bytes. */
const hexOf = ({ buffer, byteLength, byteOffset }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('hex')

/** An entry's columns, as statements of both engines select them; its text is bytes on PostgreSQL. */
export type EntryColumns = {
  readonly seq: number
  readonly text: string | Buffer
  readonly hash: Uint8Array
}

export const entryRow = ({ hash, seq, text }: EntryColumns): EntryRow => [seq, String(text), hash]

/** The rows of one key each, in their order. */
export function byKey<Row, Key>(
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
): ReadonlyMap<Key, readonly Row[]> {
  const groups = new Map<Key, Row[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group === undefined) groups.set(keyOf(row), [row])
    else group.push(row)
  }
  return groups
}

const referenceOf = ([seq, , hash]: EntryRow): RecordReference => ({
  seq,
  hash: hexOf(hash),
})

export const entryOf = (row: EntryRow): StoredEntry => ({
  ...referenceOf(row),
  text: row[1],
  entry: JSON.parse(row[1]) as LedgerEntry,
})

/** Entries from (inclusive) to (exclusive), in order, a page at a time. */
export async function* entriesBetween(
  { from, to }: { readonly from: number; readonly to: number },
  read: (from: number, to: number) => readonly EntryRow[] | Promise<readonly EntryRow[]>,
): AsyncGenerator<StoredEntry> {
  for (let first = from; first < to; first += ENTRIES_PER_READ) {
    const rows = await read(first, Math.min(first + ENTRIES_PER_READ, to))
    if (rows.length === 0) return
    yield* rows.map(entryOf)
  }
}

/** What the entries about an event make of it, after what is known of it; undefined where there are none. */
export function foldEvent(rows: readonly EntryRow[], known?: EventState): EventState | undefined {
  let state = known
  for (const row of rows)
    state = applyEntry(state, JSON.parse(row[1]) as EventLedgerEntry, referenceOf(row))
  return state
}

type Appendable = {
  readonly size: number
  append(leafHash: Uint8Array, cells: readonly [event: number | null, text: string]): number
}

/** Appends an entry as RFC 8785 JSON, about an event or none, within a write. */
export function appendEntry(
  ledger: Appendable,
  { entry, event }: { readonly entry: LedgerEntry; readonly event: number | null },
): RecordReference {
  const text = canonicalJson(entry)
  const hash = leafHash(text)
  const seq = ledger.append(hash, [event, text])
  return { seq, hash: hexOf(hash) }
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

/** The same as an object. */
export type PickColumns = Readonly<
  Record<'receipt' | 'payment_id' | 'payer' | 'opening' | 'options', string>
> & {
  readonly seq: number | null
}

export const pickRow = (row: PickColumns): PickRow => [
  row.receipt,
  row.payment_id,
  row.payer,
  row.opening,
  row.options,
  row.seq,
]

export const pickOf = ([
  receipt,
  paymentId,
  payer,
  opening,
  options,
  seq,
]: PickRow): StoredPick => ({
  receipt,
  paymentId,
  payer,
  opening: JSON.parse(opening) as PickOpening,
  options: JSON.parse(options) as StoredPick['options'],
  ...(seq === null ? {} : { seq }),
})

/** The committed ones of some picks. */
export const committedOf = (rows: readonly PickRow[]): readonly (StoredPick & CommittedPick)[] =>
  rows.flatMap((row) => (row[5] === null ? [] : [{ ...pickOf(row), seq: row[5] }]))

/** A pick's row, and the event that it is on. */
export const pickCells = (pick: StoredPick): readonly [eventPath: string, ...row: PickRow] => [
  eventPathOf(pick.opening.market),
  pick.receipt,
  pick.paymentId,
  pick.payer,
  JSON.stringify(pick.opening),
  JSON.stringify(pick.options),
  pick.seq ?? null,
]

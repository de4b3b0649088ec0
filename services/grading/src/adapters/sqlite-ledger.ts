/**
 * The tables of the ledger on SQLite: entries with their Merkle tree, paid picks, and the truth table. Appending keeps a
 * compact range, stored with every commit, and the roots of whole subtrees of 256 leaves, so that a proof in a ledger of a
 * million entries reads some thousand hashes.
 */
import type { DatabaseSync } from 'node:sqlite'
import {
  type CompactRange,
  canonicalJson,
  createCompactRange,
  emptyRootHash,
  leafHash,
  nodeHash,
  rootOf,
} from '@tallystick/hashchain'
import type { PickOpening } from '../domain/committed-pick.ts'
import type { StoredEntry, StoredPick } from '../domain/grading-store.ts'
import type { LedgerEntry } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'
import { emptyTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { prepareQuery, reading } from './sqlite-database.ts'

/** Leaves under one stored node. */
export const LEAVES_PER_NODE = 256

type TreeState = { readonly size: number; readonly peaks: readonly string[] }

/** The largest power of two below `size`, at least 2: where RFC 9162 divides a tree. */
function splitPoint(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

function readState(database: DatabaseSync): CompactRange {
  const row = database.prepare("SELECT value FROM meta WHERE name = 'tree'").get()
  if (row === undefined) return createCompactRange()
  const state = JSON.parse(String(row['value'])) as TreeState
  return createCompactRange({
    size: state.size,
    peaks: state.peaks.map((peak) => Buffer.from(peak, 'hex')),
  })
}

/** Roots of parts of the stored tree. */
function openRanges(database: DatabaseSync) {
  const leaves = prepareQuery<readonly [Uint8Array]>(
    database,
    'SELECT hash FROM entries WHERE seq >= ? AND seq < ? ORDER BY seq',
  )
  const nodes = prepareQuery<readonly [Uint8Array]>(
    database,
    'SELECT hash FROM tree_nodes WHERE place >= ? AND place < ? ORDER BY place',
  )
  const leavesOf = (from: number, to: number): readonly Uint8Array[] =>
    leaves.all(from, to).map(([hash]) => hash)

  /** Root over leaves `from` to `to`, which is a subtree of the tree: it begins at a multiple of its size. */
  function rangeRoot(from: number, to: number): Uint8Array {
    const size = to - from
    if (size === 0) return emptyRootHash()
    if (size < LEAVES_PER_NODE) return rootOf(leavesOf(from, to))
    if (size % LEAVES_PER_NODE === 0) {
      const stored = nodes.all(from / LEAVES_PER_NODE, to / LEAVES_PER_NODE)
      return rootOf(stored.map(([hash]) => hash))
    }
    const middle = from + splitPoint(size)
    return nodeHash({ left: rangeRoot(from, middle), right: rangeRoot(middle, to) })
  }

  return { leavesOf, rangeRoot }
}

export type LedgerTree = ReturnType<typeof openLedgerTree>

/** The tree of one connection. */
export function openLedgerTree(database: DatabaseSync) {
  const insert = database.prepare(
    'INSERT INTO entries (seq, event, text, hash) VALUES (?, ?, ?, ?)',
  )
  const insertNode = database.prepare('INSERT INTO tree_nodes (place, hash) VALUES (?, ?)')
  const save = database.prepare(
    "INSERT INTO meta (name, value) VALUES ('tree', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  )
  const { leavesOf, rangeRoot } = openRanges(database)
  let range = readState(database)

  return {
    get size(): number {
      return range.size
    },
    rootHash: (): Uint8Array => range.rootHash(),
    /** Appends an entry as RFC 8785 JSON, about an event or none, within the caller's transaction. */
    append: ({ entry, event }: { readonly entry: LedgerEntry; readonly event: number | null }) => {
      const text = canonicalJson(entry)
      const seq = range.size
      const hash = leafHash(Buffer.from(text))
      insert.run(seq, event, text, hash)
      range.append(hash)
      if (range.size % LEAVES_PER_NODE === 0) {
        const place = range.size / LEAVES_PER_NODE - 1
        const from = place * LEAVES_PER_NODE
        insertNode.run(place, rootOf(leavesOf(from, range.size)))
      }
      return { seq, hash: Buffer.from(hash).toString('hex') }
    },
    /** Stores the state, within the caller's transaction. */
    save: (): void => {
      const { size, peaks } = range.state()
      save.run(
        JSON.stringify({ size, peaks: peaks.map((peak) => Buffer.from(peak).toString('hex')) }),
      )
    },
    /** Goes back to what is stored: after a rollback, or another process's write. */
    reload: (): void => {
      range = readState(database)
    },
    /** Root of the first `size` leaves, 32 bytes. */
    rootAt: (size: number): Uint8Array => rangeRoot(0, size),
    inclusionProof: (seq: number, size: number): readonly Uint8Array[] => {
      if (!Number.isSafeInteger(seq) || seq < 0 || seq >= size || size > range.size)
        throw new RangeError('an inclusion proof needs an entry below the size')
      const path: Uint8Array[] = []
      let [from, to] = [0, size]
      while (to - from > 1) {
        const middle = from + splitPoint(to - from)
        if (seq < middle) {
          path.push(rangeRoot(middle, to))
          to = middle
        } else {
          path.push(rangeRoot(from, middle))
          from = middle
        }
      }
      return path.toReversed()
    },
  }
}

/** Entries read at once. */
const ENTRIES_PER_READ = 1_000

/** [seq, text, hash] */
type EntryRow = readonly [number, string, Uint8Array]

const entryOf = ([seq, text, hash]: EntryRow): StoredEntry => ({
  seq,
  text,
  hash: Buffer.from(hash).toString('hex'),
  entry: JSON.parse(text) as LedgerEntry,
})

/** The entries of one connection. */
export function openEntryReader(database: DatabaseSync) {
  const columns = 'SELECT seq, text, hash FROM entries'
  const one = prepareQuery<EntryRow>(database, `${columns} WHERE seq = ?`)
  const range = prepareQuery<EntryRow>(
    database,
    `${columns} WHERE seq >= ? AND seq < ? ORDER BY seq`,
  )
  return {
    one: (seq: number): StoredEntry | undefined => {
      const row = one.get(seq)
      return row === undefined ? undefined : entryOf(row)
    },
    /** From (inclusive) to (exclusive), in order. Throws GradingStoreUnavailable. */
    async *range({ from, to }: { readonly from: number; readonly to: number }) {
      for (let first = from; first < to; first += ENTRIES_PER_READ) {
        const end = Math.min(first + ENTRIES_PER_READ, to)
        const rows = reading(() => range.all(first, end))
        if (rows.length === 0) return
        yield* rows.map(entryOf)
      }
    },
  }
}

/** [receipt, payment_id, payer, opening, options, seq] */
type PickRow = readonly [string, string, string, string, string, number | null]

const pickOf = ([receipt, paymentId, payer, opening, options, seq]: PickRow): StoredPick => ({
  receipt,
  paymentId,
  payer,
  opening: JSON.parse(opening) as PickOpening,
  options: JSON.parse(options) as StoredPick['options'],
  ...(seq === null ? {} : { seq }),
})

const one = (row: PickRow | undefined): StoredPick | undefined =>
  row === undefined ? undefined : pickOf(row)
const committed = (rows: readonly PickRow[]) =>
  rows.flatMap((row) => (row[5] === null ? [] : [{ ...pickOf(row), seq: row[5] }]))

/** The picks of one connection; committed ones are in the order of the ledger. */
export function openPickTable(database: DatabaseSync) {
  const columns = 'receipt, payment_id, payer, opening, options, seq'
  const select = (where: string) =>
    prepareQuery<PickRow>(database, `SELECT ${columns} FROM picks WHERE ${where}`)
  const [byReceipt, byPayment, bySeq] = [
    select('receipt = ?'),
    select('payment_id = ?'),
    select('seq = ?'),
  ]
  const onEvent = select('event_path = ? AND seq IS NOT NULL ORDER BY seq')
  const after = select('seq > ? ORDER BY seq LIMIT ?')
  const insert = database.prepare(
    `INSERT INTO picks (event_path, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const counted = prepareQuery<readonly [number]>(database, 'SELECT count(*) FROM picks')
  return {
    byReceipt: (receipt: string) => one(byReceipt.get(receipt)),
    byPayment: (paymentId: string) => one(byPayment.get(paymentId)),
    bySeq: (seq: number) => one(bySeq.get(seq)),
    committedOn: (path: string) => committed(onEvent.all(path)),
    insert: ({ receipt, paymentId, payer, opening, options, seq }: StoredPick): void => {
      insert.run(
        eventPathOf(opening.market),
        receipt,
        paymentId,
        payer,
        JSON.stringify(opening),
        JSON.stringify(options),
        seq ?? null,
      )
    },
    /** So many committed picks after a place in the ledger. */
    committedAfter: (seq: number, limit: number) => committed(after.all(seq, limit)),
    count: (): number => counted.get()?.[0] ?? 0,
  }
}

/** The truth table of one connection, which counts `size` entries: kept in memory, written with every commit. */
export function openTruthTable(database: DatabaseSync, size: () => number) {
  const all = prepareQuery<readonly [string, string]>(database, 'SELECT key, cell FROM truth')
  const put = database.prepare(
    'INSERT INTO truth (key, cell) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET cell = excluded.cell',
  )
  const remove = database.prepare('DELETE FROM truth WHERE key = ?')
  const truth = emptyTruth()
  const reload = (): void => {
    truth.bands.clear()
    truth.lines.clear()
    for (const [key, cell] of all.all()) readCell(truth, key, cell)
    truth.asOfSeq = size()
  }
  reload()
  return {
    truth,
    /** Writes the cells of these keys as they are now, within the caller's transaction. */
    save: (keys: ReadonlySet<string>): void => {
      for (const key of keys) {
        const cell = truth.bands.get(key) ?? truth.lines.get(key)
        if (cell === undefined) remove.run(key)
        else put.run(key, writeCell(cell))
      }
      truth.asOfSeq = size()
    },
    /** Goes back to what is stored. */
    reload,
  }
}

/** The tables of the ledger on SQLite: entries, paid picks, and the truth table. */
import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson, leafHash } from '@tallystick/hashchain'
import { prepareQuery, type SqliteJournal } from '@tallystick/journal-store'
import type { PickOpening } from '../domain/committed-pick.ts'
import type { StoredEntry, StoredPick } from '../domain/grading-store.ts'
import type { LedgerEntry } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'
import { emptyTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { reading } from './sqlite-database.ts'

/** Appends an entry as RFC 8785 JSON, about an event or none, within a write. */
export function appendEntry(
  ledger: SqliteJournal,
  { entry, event }: { readonly entry: LedgerEntry; readonly event: number | null },
) {
  const text = canonicalJson(entry)
  const hash = leafHash(Buffer.from(text))
  const seq = ledger.append(hash, [event, text])
  return { seq, hash: Buffer.from(hash).toString('hex') }
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

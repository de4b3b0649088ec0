/** The tables of the ledger on SQLite: entries, paid picks, and the truth table. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import type { StoredEntry, StoredPick } from '../domain/grading-store.ts'
import { AUDIT_TEXT } from '../domain/kept-pick.ts'
import { emptyTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { reading } from './sqlite-database.ts'
import {
  committedOf,
  type EntryRow,
  entriesBetween,
  entryOf,
  PICK_COLUMNS,
  type PickRow,
  pickCells,
  pickOf,
} from './stored-rows.ts'

/** The entries of one connection. */
export function openEntryReader(database: DatabaseSync) {
  const columns = 'SELECT seq, text, hash FROM entries'
  const one = prepareQuery<EntryRow>(database, `${columns} WHERE seq = ?`)
  const between = prepareQuery<EntryRow>(
    database,
    `${columns} WHERE seq >= ? AND seq < ? ORDER BY seq`,
  )
  return {
    one: (seq: number): StoredEntry | undefined => {
      const row = one.get(seq)
      return row === undefined ? undefined : entryOf(row)
    },
    /** From (inclusive) to (exclusive), in order. Throws GradingStoreUnavailable. */
    range: (range: { readonly from: number; readonly to: number }) =>
      entriesBetween(range, (from, to) => reading(() => between.all(from, to))),
  }
}

const one = (row: PickRow | undefined): StoredPick | undefined =>
  row === undefined ? undefined : pickOf(row)

/** The picks of one connection; committed ones are in the order of the ledger. */
export function openPickTable(database: DatabaseSync) {
  const select = (where: string) =>
    prepareQuery<PickRow>(database, `SELECT ${PICK_COLUMNS} FROM picks WHERE ${where}`)
  const [byReceipt, byPayment, bySeq] = [
    select('receipt = ?'),
    select('payment_id = ?'),
    select('seq = ?'),
  ]
  const onEvent = select('event_path = ? AND seq > ? ORDER BY seq')
  const insert = database.prepare(
    `INSERT INTO picks (event_path, ${PICK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const counted = prepareQuery<readonly [number]>(
    database,
    `SELECT count(*) FROM picks WHERE event_path <> '${AUDIT_TEXT}'`,
  )
  return {
    byReceipt: (receipt: string) => one(byReceipt.get(receipt)),
    byPayment: (paymentId: string) => one(byPayment.get(paymentId)),
    bySeq: (seq: number) => one(bySeq.get(seq)),
    committedOn: (path: string, afterSeq = -1) => committedOf(onEvent.all(path, afterSeq)),
    insert: (pick: StoredPick): void => {
      insert.run(...pickCells(pick))
    },
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

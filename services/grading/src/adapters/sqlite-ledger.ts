/** Tables that a write of the ledger on SQLite reads and changes: paid picks, and the truth table. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import type { StoredPick } from '../domain/grading-store.ts'
import { emptyTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { committedOf, PICK_COLUMNS, type PickRow, pickCells, pickOf } from './stored-rows.ts'

/** The picks of one connection; committed ones are in the order of the ledger. */
export function openPickTable(database: DatabaseSync) {
  const select = (where: string) =>
    prepareQuery<PickRow>(database, `SELECT ${PICK_COLUMNS} FROM picks WHERE ${where}`)
  const byPayment = select('payment_id = ?')
  const onEvent = select('event_path = ? AND seq > ? ORDER BY seq')
  const insert = database.prepare(
    `INSERT INTO picks (event_path, ${PICK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  return {
    byPayment: (paymentId: string): StoredPick | undefined => {
      const row = byPayment.get(paymentId)
      return row && pickOf(row)
    },
    committedOn: (path: string, afterSeq = -1) => committedOf(onEvent.all(path, afterSeq)),
    insert: (pick: StoredPick): void => {
      insert.run(...pickCells(pick))
    },
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

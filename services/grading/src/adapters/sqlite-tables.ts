/** The tables of paid picks and of the truth table. */
import type { DatabaseSync } from 'node:sqlite'
import type { PickOpening } from '../domain/committed-pick.ts'
import type { StoredPick } from '../domain/grading-store.ts'
import { eventPathOf } from '../domain/markets.ts'
import { emptyTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { prepareQuery } from './sqlite-database.ts'

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

/** Picks under their receipts. */
import type { DatabaseSync } from 'node:sqlite'
import type { PickOpening } from '../domain/commitment.ts'
import { eventPathOf } from '../domain/event-path-of.ts'
import type { StoredPick } from '../domain/grading-store.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

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

/** The picks of one connection. */
export type PickShelf = {
  byReceipt(receipt: string): StoredPick | undefined
  byPayment(paymentId: string): StoredPick | undefined
  bySeq(seq: number): StoredPick | undefined
  /** Committed picks on an event, in the order of the ledger. */
  committedOn(path: string): readonly (StoredPick & { readonly seq: number })[]
  insert(pick: StoredPick): void
  /** So many committed picks after a place in the ledger, in its order. */
  committedAfter(
    seq: number,
    limit: number,
  ): readonly { readonly seq: number; readonly opening: PickOpening }[]
  count(): number
}

/** Opens the picks of a connection. */
export function openPickShelf(database: DatabaseSync): PickShelf {
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
    byReceipt: (receipt) => one(byReceipt.get(receipt)),
    byPayment: (paymentId) => one(byPayment.get(paymentId)),
    bySeq: (seq) => one(bySeq.get(seq)),
    committedOn: (path) => committed(onEvent.all(path)),
    insert: ({ receipt, paymentId, payer, opening, options, seq }) => {
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
    committedAfter: (seq, limit) => committed(after.all(seq, limit)),
    count: () => counted.get()?.[0] ?? 0,
  }
}

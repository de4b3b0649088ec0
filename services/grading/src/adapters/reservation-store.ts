/**
 * Reservations of payments on disk (G4): each step is committed with an fsync before it is answered, so that a payment
 * settled by a process that died is found open by the next. It has a file of its own beside the ledger's, so that an
 * import's transactions never hold up a payment.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import {
  payerKeyOf,
  type Reservation,
  type ReservationStore,
  type ReserveOutcome,
  type SiblingVerdict,
  weighSiblings,
} from '@tallystick/x402'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { openReservationDatabase, reading } from './sqlite-database.ts'
import {
  FORGOTTEN_PER_WRITE,
  GIVEN_MAX,
  OPEN_MAX,
  RESERVATION_CELLS,
  type ReservationRow,
  reservationCells,
  reservationColumns,
  reservationOf,
} from './stored-reservation.ts'

/** By what rows are looked up while calls are served; each has its index. */
export const RESERVATION_LOOKUPS = {
  find: "payment_id = ? AND (state <> 'answered' OR expires_at > ?)",
  byKey: 'payer = ? AND idempotency_key = ? ORDER BY rowid DESC LIMIT 1',
  byFingerprint:
    'payer = ? AND fingerprint = ? AND keeps_answer = 1 AND answered_by IS NULL ORDER BY rowid DESC LIMIT 1',
  countOpen: "state <> 'answered'",
  countGiven: 'answered_by = ?',
  over: "state = 'answered' AND expires_at <= ?",
} as const

function preparedStatements(database: DatabaseSync) {
  const columns = reservationColumns('reservations')
  const query = (where: string) => {
    const statement = database.prepare(`SELECT ${columns} FROM reservations AS one WHERE ${where}`)
    return {
      get: (...values: SQLInputValue[]) =>
        statement.get(...values) as unknown as ReservationRow | undefined,
      all: () => statement.all() as unknown as readonly ReservationRow[],
    }
  }
  const count = (where: string) =>
    prepareQuery<readonly [number]>(database, `SELECT count(*) FROM reservations WHERE ${where}`)
  const change = (sql: string) => database.prepare(sql)
  return {
    find: query(RESERVATION_LOOKUPS.find),
    // Once, at start: the whole table, in order.
    open: query("state <> 'answered' ORDER BY rowid"),
    byKey: query(RESERVATION_LOOKUPS.byKey),
    byFingerprint: query(RESERVATION_LOOKUPS.byFingerprint),
    countOpen: count(RESERVATION_LOOKUPS.countOpen),
    countGiven: count(RESERVATION_LOOKUPS.countGiven),
    insert: change(
      `INSERT INTO reservations (${RESERVATION_CELLS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    markSettled: change(
      "UPDATE reservations SET state = 'settled' WHERE payment_id = ? AND state = 'reserved'",
    ),
    keepAnswer: change(
      "UPDATE reservations SET state = 'answered', answer = ?, expires_at = ?, request = NULL WHERE payment_id = ? AND state <> 'answered'",
    ),
    markDelivered: change(
      "UPDATE reservations SET is_delivered = 1 WHERE state = 'answered' AND payment_id = (SELECT coalesce(answered_by, payment_id) FROM reservations WHERE payment_id = ?)",
    ),
    release: change("DELETE FROM reservations WHERE payment_id = ? AND state <> 'answered'"),
    forget: change(
      `DELETE FROM reservations WHERE rowid IN (SELECT rowid FROM reservations WHERE ${RESERVATION_LOOKUPS.over} LIMIT ${FORGOTTEN_PER_WRITE})`,
    ),
    forgetOne: change(
      `DELETE FROM reservations WHERE payment_id = ? AND ${RESERVATION_LOOKUPS.over}`,
    ),
  }
}

/** The table, as the steps of a reservation see it. */
function reservationTable(database: DatabaseSync) {
  const run = preparedStatements(database)
  return {
    ...run,
    insert(reservation: Reservation): void {
      run.insert.run(...reservationCells(reservation))
    },
    /** What the payer's earlier payments mean for this one. */
    weigh(reservation: Reservation): SiblingVerdict {
      const { fingerprint, idempotencyKey, keepsAnswer } = reservation
      if (keepsAnswer === undefined) return { kind: 'none' }
      const payer = payerKeyOf(reservation)
      const byKey = idempotencyKey === undefined ? undefined : run.byKey.get(payer, idempotencyKey)
      const byFingerprint = run.byFingerprint.get(payer, fingerprint)
      return weighSiblings(reservation, {
        sameKey: byKey && reservationOf(byKey),
        sameFingerprint: byFingerprint && reservationOf(byFingerprint),
      })
    },
  }
}

/** A reservation store that closes its file. */
type SqliteReservationStore = ReservationStore & { close(): void }

/** Opens the reservations beside a ledger. Throws GradingStoreUnavailable. */
export function openSqliteReservationStore(options: {
  /** Path of the ledger's database; reservations are in `<path>.payments`. */
  readonly databasePath: string
  readonly clock: Clock
  readonly openMax?: number
  readonly givenMax?: number
}): SqliteReservationStore {
  const { clock, givenMax = GIVEN_MAX, openMax = OPEN_MAX } = options
  const database = openReservationDatabase(options.databasePath)
  const table = reservationTable(database)
  const nowSeconds = (): number => clock.unixMs() / 1_000

  async function write<Result>(step: () => Result): Promise<Result> {
    try {
      database.exec('BEGIN IMMEDIATE')
      const result = step()
      database.exec('COMMIT')
      return result
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw new GradingStoreUnavailable('a reservation could not be written', { cause: error })
    }
  }

  /** Remembers a payment with the answer that it is given. */
  function give(asked: Reservation, sibling: Reservation): ReserveOutcome {
    const { answer = '', answeredBy = sibling.paymentId, expiresAtSeconds } = sibling
    if ((table.countGiven.get(answeredBy)?.[0] ?? 0) >= givenMax) return { kind: 'full' }
    const { request: _, ...rest } = asked
    table.insert({ ...rest, state: 'answered', answeredBy, expiresAtSeconds })
    return { kind: 'kept', answer }
  }

  function reserve(reservation: Reservation): ReserveOutcome {
    const { paymentId } = reservation
    const held = table.find.get(paymentId, nowSeconds())
    if (held !== undefined) return { kind: 'held', reservation: reservationOf(held) }
    table.forgetOne.run(paymentId, nowSeconds())
    table.forget.run(nowSeconds())
    const verdict = table.weigh(reservation)
    if (verdict.kind === 'kept') return give(reservation, verdict.sibling)
    if (verdict.kind !== 'none') return verdict
    if ((table.countOpen.get()?.[0] ?? 0) >= openMax) return { kind: 'full' }
    table.insert(reservation)
    return { kind: 'reserved' }
  }

  const changing = (run: () => unknown): Promise<void> =>
    write(() => {
      run()
    })
  return {
    reserve: (reservation) => write(() => reserve(reservation)),
    markSettled: (paymentId) => changing(() => table.markSettled.run(paymentId)),
    keepAnswer: (paymentId, { answer, expiresAtSeconds }) =>
      changing(() => table.keepAnswer.run(answer, expiresAtSeconds, paymentId)),
    markDelivered: (paymentId) => changing(() => table.markDelivered.run(paymentId)),
    release: (paymentId) => changing(() => table.release.run(paymentId)),
    get: async (paymentId) => {
      const row = reading(() => table.find.get(paymentId, nowSeconds()))
      return row === undefined ? undefined : reservationOf(row)
    },
    open: async () => reading(() => table.open.all()).map(reservationOf),
    close: () => {
      database.close()
    },
  }
}

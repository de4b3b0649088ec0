/**
 * Reservations of payments on disk (G4): each step is committed with an fsync before it is answered, so that a payment
 * settled by a process that died is found open by the next. It has a file of its own beside the ledger's, so that an
 * import's transactions never hold up a payment.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '@tallystick/service-kit'
import type { Reservation, ReservationStore } from '@tallystick/x402'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

/** "TalP" in ASCII. */
const APPLICATION_ID = 0x54616c50
/** How long a statement waits for another process's, milliseconds: transactions here are single rows. */
const BUSY_TIMEOUT_MS = 2_000
/** More than a gate lets fly at once, so that the gate's own limit is met first. */
const OPEN_MAX = 20_000
/** Old answers taken out with each new one, so that no transaction gets long. */
const FORGOTTEN_PER_WRITE = 100

const SCHEMA = `
CREATE TABLE reservations (
  payment_id TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at REAL NOT NULL, -- Unix seconds
  body TEXT NOT NULL, -- everything else, JSON; the amount as text
  answer TEXT
) STRICT;
CREATE INDEX reservations_by_state ON reservations (state, expires_at);`

/** [state, expires_at, body, answer] */
type Row = readonly [Reservation['state'], number, string, string | null]

type Body = Omit<Reservation, 'state' | 'answer' | 'expiresAtSeconds' | 'payment'> & {
  readonly payment: Omit<Reservation['payment'], 'amount'> & { readonly amount: string }
}

function bodyOf({ paymentId, payment, fingerprint, subject }: Reservation): string {
  const body: Body = {
    paymentId,
    payment: { ...payment, amount: String(payment.amount) },
    fingerprint,
    subject,
  }
  return JSON.stringify(body)
}

function reservationOf([state, expiresAtSeconds, text, answer]: Row): Reservation {
  const { payment, ...rest } = JSON.parse(text) as Body
  return {
    ...rest,
    payment: { ...payment, amount: BigInt(payment.amount) },
    state,
    expiresAtSeconds,
    ...(answer === null ? {} : { answer }),
  }
}

function openDatabase(path: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    const { user_version: version } = database.prepare('PRAGMA user_version').get() ?? {}
    if (Number(version) === 0)
      database.exec(
        `BEGIN IMMEDIATE; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1; COMMIT`,
      )
    return database
  } catch (error) {
    database?.close()
    throw new GradingStoreUnavailable(`${path} cannot be opened`, { cause: error })
  }
}

function prepare(database: DatabaseSync) {
  const columns = 'state, expires_at, body, answer'
  return {
    find: prepareQuery<Row>(
      database,
      `SELECT ${columns} FROM reservations WHERE payment_id = ? AND (state <> 'answered' OR expires_at > ?)`,
    ),
    open: prepareQuery<Row>(
      database,
      `SELECT ${columns} FROM reservations WHERE state <> 'answered' ORDER BY rowid`,
    ),
    countOpen: prepareQuery<readonly [number]>(
      database,
      "SELECT count(*) FROM reservations WHERE state <> 'answered'",
    ),
    insert: database.prepare(
      "INSERT INTO reservations (payment_id, state, expires_at, body) VALUES (?, 'reserved', ?, ?)",
    ),
    advance: database.prepare(
      "UPDATE reservations SET state = ?, answer = ? WHERE payment_id = ? AND state <> 'answered'",
    ),
    release: database.prepare(
      "DELETE FROM reservations WHERE payment_id = ? AND state <> 'answered'",
    ),
    forget: database.prepare(
      `DELETE FROM reservations WHERE rowid IN (SELECT rowid FROM reservations WHERE state = 'answered' AND expires_at <= ? LIMIT ${FORGOTTEN_PER_WRITE})`,
    ),
    forgetOne: database.prepare(
      "DELETE FROM reservations WHERE payment_id = ? AND state = 'answered' AND expires_at <= ?",
    ),
  }
}

/** A reservation store that closes its file. */
export type SqliteReservationStore = ReservationStore & { close(): void }

/** Opens the reservations beside a ledger. Throws GradingStoreUnavailable. */
export function openSqliteReservationStore(options: {
  /** Path of the ledger's database; reservations are in `<path>.payments`. */
  readonly databasePath: string
  readonly clock: Clock
  readonly openMax?: number
}): SqliteReservationStore {
  const { clock, openMax = OPEN_MAX } = options
  const database = openDatabase(`${options.databasePath}.payments`)
  const run = prepare(database)
  const nowSeconds = (): number => clock.unixMs() / 1_000

  function write<Result>(step: () => Result): Result {
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

  return {
    reserve: async (reservation) =>
      write(() => {
        const { paymentId, expiresAtSeconds, state } = reservation
        const held = run.find.get(paymentId, nowSeconds())
        if (held !== undefined) return { kind: 'held', reservation: reservationOf(held) }
        if ((run.countOpen.get()?.[0] ?? 0) >= openMax) return { kind: 'full' }
        run.forgetOne.run(paymentId, nowSeconds())
        run.forget.run(nowSeconds())
        run.insert.run(paymentId, expiresAtSeconds, bodyOf(reservation))
        if (state !== 'reserved') run.advance.run(state, reservation.answer ?? null, paymentId)
        return { kind: 'reserved' }
      }),
    advance: async (paymentId, state, answer) =>
      write(() => {
        run.advance.run(state, answer ?? null, paymentId)
      }),
    release: async (paymentId) =>
      write(() => {
        run.release.run(paymentId)
      }),
    get: async (paymentId) => {
      const row = run.find.get(paymentId, nowSeconds())
      return row === undefined ? undefined : reservationOf(row)
    },
    open: async () => run.open.all().map(reservationOf),
    close: () => {
      database.close()
    },
  }
}

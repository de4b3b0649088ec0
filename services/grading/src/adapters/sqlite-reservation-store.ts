/**
 * Reservations of payments on disk (G4): each step is committed with an fsync before it is answered, so that a payment
 * settled by a process that died is found open by the next. It has a file of its own beside the ledger's, so that an
 * import's transactions never hold up a payment.
 */
import { DatabaseSync } from 'node:sqlite'
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
import { prepareQuery } from './sqlite-grading-database.ts'

/** "TalP" in ASCII. */
const APPLICATION_ID = 0x54616c50
/** How long a statement waits for another process's, milliseconds: transactions here are single rows. */
const BUSY_TIMEOUT_MS = 2_000
/** More than a gate lets fly at once, so that the gate's own limit is met first. */
const OPEN_MAX = 20_000
/** Old answers taken out with each new one, so that no transaction gets long. */
const FORGOTTEN_PER_WRITE = 100
/** Payments that one answer is given to, unpaid, each a row of under 1 kB that costs its payer nothing; more are turned away. */
const GIVEN_MAX = 1_000

const SCHEMA = `
CREATE TABLE reservations (
  payment_id TEXT PRIMARY KEY,
  payer TEXT NOT NULL, -- network and account
  fingerprint TEXT NOT NULL,
  idempotency_key TEXT,
  keeps_answer INTEGER NOT NULL CHECK (keeps_answer IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at REAL NOT NULL, -- Unix seconds
  body TEXT NOT NULL, -- payment and subject, JSON; the amount as text
  request TEXT, -- while there is no answer
  answer TEXT,
  answered_by TEXT, -- payment_id of the row whose answer this one was given
  is_delivered INTEGER NOT NULL DEFAULT 0 CHECK (is_delivered IN (0, 1))
) STRICT;
CREATE INDEX reservations_by_state ON reservations (state, expires_at);
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint) WHERE keeps_answer = 1 AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON reservations (payer, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON reservations (answered_by) WHERE answered_by IS NOT NULL;`

const COLUMNS =
  'payment_id, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by, is_delivered, coalesce(answer, (SELECT answer FROM reservations AS origin WHERE origin.payment_id = one.answered_by))'

/** The columns of COLUMNS, in order. */
type Row = readonly [
  paymentId: string,
  fingerprint: string,
  idempotencyKey: string | null,
  keepsAnswer: 0 | 1,
  state: Reservation['state'],
  expiresAtSeconds: number,
  body: string,
  request: string | null,
  answeredBy: string | null,
  isDelivered: 0 | 1,
  answer: string | null,
]

type Body = {
  readonly payment: Omit<Reservation['payment'], 'amount'> & { readonly amount: string }
  readonly subject: string
}

function bodyOf({ payment, subject }: Reservation): string {
  const body: Body = { payment: { ...payment, amount: String(payment.amount) }, subject }
  return JSON.stringify(body)
}

function reservationOf(row: Row): Reservation {
  const [paymentId, fingerprint, idempotencyKey, keepsAnswer, state, expiresAtSeconds] = row
  const [, , , , , , text, request, answeredBy, isDelivered, answer] = row
  const { payment, subject } = JSON.parse(text) as Body
  return {
    paymentId,
    payment: { ...payment, amount: BigInt(payment.amount) },
    fingerprint,
    subject,
    state,
    expiresAtSeconds,
    ...(keepsAnswer === 0 ? {} : { keepsAnswer: true }),
    ...(idempotencyKey === null ? {} : { idempotencyKey }),
    ...(request === null ? {} : { request }),
    ...(answer === null ? {} : { answer }),
    ...(answeredBy === null ? {} : { answeredBy }),
    ...(isDelivered === 0 ? {} : { isDelivered: true }),
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
  const query = (where: string) =>
    prepareQuery<Row>(database, `SELECT ${COLUMNS} FROM reservations AS one WHERE ${where}`)
  const count = (where: string) =>
    prepareQuery<readonly [number]>(database, `SELECT count(*) FROM reservations WHERE ${where}`)
  const change = (sql: string) => database.prepare(sql)
  return {
    find: query("payment_id = ? AND (state <> 'answered' OR expires_at > ?)"),
    open: query("state <> 'answered' ORDER BY rowid"),
    byKey: query('payer = ? AND idempotency_key = ? ORDER BY rowid DESC LIMIT 1'),
    byFingerprint: query(
      'payer = ? AND fingerprint = ? AND keeps_answer = 1 AND answered_by IS NULL ORDER BY rowid DESC LIMIT 1',
    ),
    countOpen: count("state <> 'answered'"),
    countGiven: count('answered_by = ?'),
    insert: change(
      'INSERT INTO reservations (payment_id, payer, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
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
      `DELETE FROM reservations WHERE rowid IN (SELECT rowid FROM reservations WHERE state = 'answered' AND expires_at <= ? LIMIT ${FORGOTTEN_PER_WRITE})`,
    ),
    forgetOne: change(
      "DELETE FROM reservations WHERE payment_id = ? AND state = 'answered' AND expires_at <= ?",
    ),
  }
}

/** The table, as the steps of a reservation see it. */
function reservationTable(database: DatabaseSync) {
  const run = prepare(database)
  return {
    ...run,
    insert(reservation: Reservation): void {
      const { answeredBy, expiresAtSeconds, fingerprint, idempotencyKey } = reservation
      const { keepsAnswer, paymentId, request, state } = reservation
      run.insert.run(
        paymentId,
        payerKeyOf(reservation),
        fingerprint,
        idempotencyKey ?? null,
        keepsAnswer === undefined ? 0 : 1,
        state,
        expiresAtSeconds,
        bodyOf(reservation),
        request ?? null,
        answeredBy ?? null,
      )
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

type ReservationTable = ReturnType<typeof reservationTable>

/** Remembers a payment with the answer that it is given. */
function give(table: ReservationTable, asked: Reservation, sibling: Reservation): ReserveOutcome {
  const { answer = '', answeredBy = sibling.paymentId, expiresAtSeconds } = sibling
  if ((table.countGiven.get(answeredBy)?.[0] ?? 0) >= GIVEN_MAX) return { kind: 'full' }
  const { request: _, ...rest } = asked
  table.insert({ ...rest, state: 'answered', answeredBy, expiresAtSeconds })
  return { kind: 'kept', answer }
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

  function reserve(reservation: Reservation): ReserveOutcome {
    const { paymentId } = reservation
    const held = table.find.get(paymentId, nowSeconds())
    if (held !== undefined) return { kind: 'held', reservation: reservationOf(held) }
    table.forgetOne.run(paymentId, nowSeconds())
    table.forget.run(nowSeconds())
    const verdict = table.weigh(reservation)
    if (verdict.kind === 'kept') return give(table, reservation, verdict.sibling)
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
      const row = table.find.get(paymentId, nowSeconds())
      return row === undefined ? undefined : reservationOf(row)
    },
    open: async () => table.open.all().map(reservationOf),
    close: () => {
      database.close()
    },
  }
}

/** What the steps of a reservation ask for, on either engine, and the rows that answer. */
import type { Reservation } from '@tallystick/x402'

/** Columns that every engine has. */
const COLUMNS =
  'payment_id, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by, is_delivered, attempt, guesses'

/** Selects a ReservationRow from `reservations AS one`; a shared answer comes from the row that first had it. */
const RESERVATION_COLUMNS = `${COLUMNS}, coalesce(answer, (SELECT answer FROM reservations AS origin WHERE origin.payment_id = one.answered_by)) AS answer`

/** The same without its answer, which may be megabytes. */
const WEIGHED_COLUMNS = `${COLUMNS}, NULL AS answer`

/** A row of RESERVATION_COLUMNS; flags are 0 or 1 in SQLite. */
export type ReservationRow = {
  readonly payment_id: string
  readonly fingerprint: string
  readonly idempotency_key: string | null
  readonly keeps_answer: boolean | number
  readonly state: Reservation['state']
  /** Unix seconds. */
  readonly expires_at: number
  readonly body: string
  readonly request: string | null
  readonly answered_by: string | null
  readonly is_delivered: boolean | number
  readonly answer: string | null
  readonly guesses: string | null
  readonly is_elsewhere?: boolean | number
}

/** The columns of a new row's cells, in order. */
const RESERVATION_CELLS =
  'payment_id, payer, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by'

/** Old answers removed with each new one, so that no transaction grows long. */
const FORGOTTEN_PER_WRITE = 100
/** Of one payer at other processes: more are never allowed (X16). */
const UNSETTLED_MAX = 1_000

/** Where the engines' SQL differs. */
export type Dialect = {
  /** The column that orders one payer's rows. */
  readonly serial: string
  /** Ends the search for old answers: skips those that another process is removing. */
  readonly skipLocked: string
  /** Ends a look at a row that the step then changes. */
  readonly forUpdate: string
  /** Whether the process of the column `owner` has ended; of a file's, whoever is not this one. */
  readonly isEnded: string
  /** Whether a column is one of the texts of $1, which `list` made. */
  readonly among: (column: string) => string
  readonly list: (texts: readonly string[]) => unknown
}

/** A process is taken for dead after three heartbeats, seconds: its payments are another's within 8 s. */
const SILENT_SECONDS_MAX = 6

export const SQLITE_DIALECT: Dialect = {
  serial: 'rowid',
  skipLocked: '',
  forUpdate: '',
  isEnded: 'true',
  among: (column) => `${column} IN (SELECT value FROM json_each($1))`,
  list: JSON.stringify,
}
export const POSTGRES_DIALECT: Dialect = {
  serial: 'serial',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  forUpdate: 'FOR UPDATE',
  isEnded: `NOT EXISTS (SELECT FROM processes WHERE id = owner
    AND seen_at > clock_timestamp() - interval '${SILENT_SECONDS_MAX} s')`,
  among: (column) => `${column} = ANY($1)`,
  list: (texts) => texts,
}

/** Limits: how many reservations may be open, and how many payments may share one answer. */
export type Limits = { readonly openMax: number; readonly givenMax: number }

/** Counts only up to a limit, which is part of the text: SQLite would replan for every bound value. */
const count = (where: string, max: number): string =>
  `SELECT count(*) AS n FROM (SELECT 1 FROM reservations WHERE ${where} LIMIT ${max}) AS found`

/** Every look-up made while serving calls has an index. */
export function reservationStatements(
  { among, forUpdate, isEnded, serial, skipLocked }: Dialect,
  { givenMax, openMax }: Limits,
) {
  const select = `SELECT ${RESERVATION_COLUMNS} FROM reservations AS one WHERE`
  const weighed = `SELECT ${WEIGHED_COLUMNS} FROM reservations AS one WHERE`
  const latest = `ORDER BY ${serial} DESC LIMIT 1`
  const isOver = "state = 'answered' AND expires_at <= $2"
  return {
    find: `SELECT ${RESERVATION_COLUMNS}, state <> 'answered' AND owner <> $3 AND NOT (${isEnded}) AS is_elsewhere
      FROM reservations AS one WHERE payment_id = $1 AND (state <> 'answered' OR expires_at > $2)`,
    byPayment: `${select} payment_id = $1`,
    byKey: `${weighed} payer = $1 AND idempotency_key = $2 ${latest}`,
    byFingerprint: `${weighed} payer = $1 AND fingerprint = $2 AND keeps_answer AND answered_by IS NULL ${latest}`,
    takeAll: `UPDATE reservations SET owner = $1 WHERE payment_id IN (SELECT payment_id FROM reservations
      WHERE state <> 'answered' AND owner <> $1 AND ${isEnded} ${skipLocked})`,
    allOwn: `${select} state <> 'answered' AND owner = $1 ORDER BY ${serial}`,
    takeOver: `UPDATE reservations SET owner = $2
      WHERE payment_id = $1 AND state <> 'answered' AND owner <> $2 AND ${isEnded}`,
    owner: 'SELECT owner FROM reservations WHERE payment_id = $1',
    elsewhere: `SELECT payment_id FROM reservations
      WHERE ${among('payment_id')} AND state <> 'answered' AND owner <> $2 AND NOT (${isEnded})`,
    /** Payments of a payer that other living processes have, and have not settled. */
    unsettledElsewhere: `SELECT body FROM reservations
      WHERE payer = $1 AND state = 'reserved' AND owner <> $2 AND NOT (${isEnded}) LIMIT ${UNSETTLED_MAX}`,
    countOpen: count("state <> 'answered'", openMax),
    countGiven: count('answered_by = $1', givenMax),
    insert: `INSERT INTO reservations (${RESERVATION_CELLS}, attempt, owner) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    markSettled:
      "UPDATE reservations SET state = 'settled' WHERE payment_id = $1 AND state = 'reserved' AND owner = $2",
    keepAnswer: `UPDATE reservations SET state = 'answered', answer = $3, expires_at = $4, request = NULL
      WHERE payment_id = $1 AND state <> 'answered' AND owner = $2`,
    markDelivered: `UPDATE reservations SET is_delivered = true WHERE state = 'answered' AND payment_id =
      (SELECT coalesce(answered_by, payment_id) FROM reservations WHERE payment_id = $1)`,
    guesses: `SELECT guesses FROM reservations WHERE payment_id = $1 ${forUpdate}`,
    noteGuess: 'UPDATE reservations SET guesses = $2 WHERE payment_id = $1',
    findAttempt:
      "SELECT attempt FROM reservations WHERE payment_id = $1 AND state <> 'answered' AND owner = $2",
    release:
      "DELETE FROM reservations WHERE payment_id = $1 AND state <> 'answered' AND attempt = $2",
    // An old answer under this payment's id, and some others.
    forget: `DELETE FROM reservations WHERE ${isOver} AND (payment_id = $1 OR payment_id IN
      (SELECT payment_id FROM reservations WHERE ${isOver} LIMIT ${FORGOTTEN_PER_WRITE} ${skipLocked}))`,
  }
}

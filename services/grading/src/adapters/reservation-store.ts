/**
 * Reservations of payments (G4), on either engine. Each step is its own transaction, on disk before it is answered: if a
 * process dies after settling a payment, the next process finds that payment open. The store is apart from the ledger, so an
 * import never delays a payment. Two payments of one payer are weighed one after the other, in whichever process.
 */
import { randomUUID } from 'node:crypto'
import { SqliteConnection, type SqlQuery } from '@tallystick/journal-store'
import type { PostgresDoor } from '@tallystick/journal-store/postgres'
import type { Clock } from '@tallystick/service-kit'
import {
  payerKeyOf,
  type Reservation,
  type ReservationStore,
  type ReserveOutcome,
  weighSiblings,
} from '@tallystick/x402'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import { openReservationDatabase } from './sqlite-database.ts'

/** Where the engines' SQL differs. */
type Dialect = {
  /** The column that orders one payer's rows. */
  readonly serial: string
  /** Ends the search for old answers: skips those that another process is removing. */
  readonly skipLocked: string
}

export const SQLITE_DIALECT: Dialect = { serial: 'rowid', skipLocked: '' }
const POSTGRES_DIALECT: Dialect = { serial: 'serial', skipLocked: 'FOR UPDATE SKIP LOCKED' }

/** Limits: how many reservations may be open, and how many payments may share one answer. */
type Limits = { readonly openMax: number; readonly givenMax: number }

/** Counts only up to a limit, which is part of the text: SQLite would replan for every bound value. */
const count = (where: string, max: number): string =>
  `SELECT count(*) AS n FROM (SELECT 1 FROM reservations WHERE ${where} LIMIT ${max}) AS found`

/** Every look-up made while serving calls has an index. */
export function reservationStatements(
  { serial, skipLocked }: Dialect,
  { givenMax, openMax }: Limits,
) {
  const select = `SELECT ${RESERVATION_COLUMNS} FROM reservations AS one WHERE`
  const weighed = `SELECT ${WEIGHED_COLUMNS} FROM reservations AS one WHERE`
  const latest = `ORDER BY ${serial} DESC LIMIT 1`
  const isOver = "state = 'answered' AND expires_at <= $2"
  return {
    find: `${select} payment_id = $1 AND (state <> 'answered' OR expires_at > $2)`,
    byPayment: `${select} payment_id = $1`,
    byKey: `${weighed} payer = $1 AND idempotency_key = $2 ${latest}`,
    byFingerprint: `${weighed} payer = $1 AND fingerprint = $2 AND keeps_answer AND answered_by IS NULL ${latest}`,
    allOpen: `${select} state <> 'answered' ORDER BY ${serial}`,
    countOpen: count("state <> 'answered'", openMax),
    countGiven: count('answered_by = $1', givenMax),
    insert: `INSERT INTO reservations (${RESERVATION_CELLS}, attempt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    markSettled:
      "UPDATE reservations SET state = 'settled' WHERE payment_id = $1 AND state = 'reserved'",
    keepAnswer: `UPDATE reservations SET state = 'answered', answer = $2, expires_at = $3, request = NULL
      WHERE payment_id = $1 AND state <> 'answered'`,
    markDelivered: `UPDATE reservations SET is_delivered = true WHERE state = 'answered' AND payment_id =
      (SELECT coalesce(answered_by, payment_id) FROM reservations WHERE payment_id = $1)`,
    attemptOf: "SELECT attempt FROM reservations WHERE payment_id = $1 AND state <> 'answered'",
    release:
      "DELETE FROM reservations WHERE payment_id = $1 AND state <> 'answered' AND attempt = $2",
    // An old answer under this payment's id, and some others.
    forget: `DELETE FROM reservations WHERE ${isOver} AND (payment_id = $1 OR payment_id IN
      (SELECT payment_id FROM reservations WHERE ${isOver} LIMIT ${FORGOTTEN_PER_WRITE} ${skipLocked}))`,
  }
}

/** The engine as the steps see it. */
type Engine = {
  readonly dialect: Dialect
  /** Runs statements about a payment in a transaction, after earlier steps of the same payment. */
  readonly step: <Result>(
    paymentId: string,
    run: (query: SqlQuery) => Promise<Result>,
    what?: 'reads',
  ) => Promise<Result>
  /** Within a step: others that weigh the same payer, in any process, wait until the step ends. */
  holdPayer(query: SqlQuery, payer: string): Promise<unknown>
  /** Rows as the running steps leave them. */
  readonly readSettled: SqlQuery
  close(): Promise<void>
}

type Row = ReservationRow & { readonly attempt: string }

type Reserving = {
  readonly wanted: Reservation
  /** Names the call: a repeated step has the same name, and so finds its own row. */
  readonly attempt: string
  readonly nowSeconds: number
}

const findRow = async (query: SqlQuery, text: string, values: readonly unknown[]) => {
  const [row] = await query<Row>(text, values)
  return row && { attempt: row.attempt, reservation: reservationOf(row) }
}

const counted = async (query: SqlQuery, text: string, values: readonly unknown[] = []) =>
  (await query<{ readonly n: number }>(text, values))[0]?.n ?? 0

/** Steps of more than one statement. */
function stepsOf({ dialect, holdPayer }: Pick<Engine, 'dialect' | 'holdPayer'>, limits: Limits) {
  const say = reservationStatements(dialect, limits)

  /** What the payer's latest payments mean for this payment. */
  async function weigh(query: SqlQuery, wanted: Reservation) {
    const { fingerprint, idempotencyKey, keepsAnswer } = wanted
    if (keepsAnswer === undefined) return { kind: 'none' as const }
    const payer = payerKeyOf(wanted)
    const [sameKey, sameFingerprint] = await Promise.all([
      idempotencyKey === undefined ? undefined : findRow(query, say.byKey, [payer, idempotencyKey]),
      findRow(query, say.byFingerprint, [payer, fingerprint]),
    ])
    return weighSiblings(wanted, {
      sameKey: sameKey?.reservation,
      sameFingerprint: sameFingerprint?.reservation,
    })
  }

  async function reserve(
    query: SqlQuery,
    { attempt, nowSeconds, wanted }: Reserving,
  ): Promise<ReserveOutcome> {
    const insert = async (reservation: Reservation): Promise<void> => {
      await Promise.all([
        query(say.forget, [wanted.paymentId, nowSeconds]),
        query(say.insert, [...reservationCells(reservation), attempt]),
      ])
    }
    const [, found, verdict] = await Promise.all([
      holdPayer(query, payerKeyOf(wanted)),
      findRow(query, say.find, [wanted.paymentId, nowSeconds]),
      weigh(query, wanted),
    ])
    if (found !== undefined) {
      const { reservation } = found
      if (found.attempt !== attempt) return { kind: 'held', reservation }
      return reservation.state === 'answered'
        ? { kind: 'kept', answer: reservation.answer ?? '' }
        : { kind: 'reserved' }
    }
    if (verdict.kind === 'kept') {
      const { expiresAtSeconds, paymentId } = verdict.sibling
      const { answeredBy = paymentId } = verdict.sibling
      if ((await counted(query, say.countGiven, [answeredBy])) >= limits.givenMax)
        return { kind: 'full' }
      const { request: _, ...rest } = wanted
      const sibling = await findRow(query, say.byPayment, [paymentId])
      await insert({ ...rest, state: 'answered', answeredBy, expiresAtSeconds })
      return { kind: 'kept', answer: sibling?.reservation.answer ?? '' }
    }
    if (verdict.kind !== 'none') return verdict
    if ((await counted(query, say.countOpen)) >= limits.openMax) return { kind: 'full' }
    await insert(wanted)
    return { kind: 'reserved' }
  }

  /** A repeated release must not remove what another process reserved since. */
  function release(paymentId: string) {
    let found: string | undefined
    return async (query: SqlQuery): Promise<void> => {
      found ??= (await query<{ attempt: string }>(say.attemptOf, [paymentId]))[0]?.attempt
      if (found !== undefined) await query(say.release, [paymentId, found])
    }
  }
  return { say, reserve, release }
}

export type OpenReservationStore = ReservationStore & { close(): Promise<void> }

type Options = { readonly clock: Clock } & Partial<Limits>

function storeOf(
  engine: Engine,
  { clock, givenMax = GIVEN_MAX, openMax = OPEN_MAX }: Options,
): OpenReservationStore {
  const { say, release, reserve } = stepsOf(engine, { givenMax, openMax })
  const { step } = engine
  const nowSeconds = (): number => clock.unixMs() / 1_000
  const change = (paymentId: string, text: string, values: readonly unknown[] = []) =>
    step(paymentId, async (query) => {
      await query(text, [paymentId, ...values])
    })
  return {
    reserve: (wanted) => {
      const attempt = randomUUID()
      return step(wanted.paymentId, (query) =>
        reserve(query, { wanted, attempt, nowSeconds: nowSeconds() }),
      )
    },
    markSettled: (paymentId) => change(paymentId, say.markSettled),
    keepAnswer: (paymentId, { answer, expiresAtSeconds }) =>
      change(paymentId, say.keepAnswer, [answer, expiresAtSeconds]),
    markDelivered: (paymentId) => change(paymentId, say.markDelivered),
    release: (paymentId) => step(paymentId, release(paymentId)),
    get: async (paymentId) => {
      const look = (query: SqlQuery) => findRow(query, say.find, [paymentId, nowSeconds()])
      return (await step(paymentId, look, 'reads'))?.reservation
    },
    open: async () => (await engine.readSettled<Row>(say.allOpen)).map(reservationOf),
    close: () => engine.close(),
  }
}

/** Opens the reservations beside a ledger, in `<path>.payments`. Throws GradingStoreUnavailable, as its steps do. */
export function openSqliteReservationStore(
  options: Options & { readonly databasePath: string },
): OpenReservationStore {
  const database = openReservationDatabase(options.databasePath)
  const connection = new SqliteConnection(database, GradingStoreUnavailable)
  const engine: Engine = {
    dialect: SQLITE_DIALECT,
    step: (_, run, what) => (what === 'reads' ? run(connection.read) : connection.transaction(run)),
    // A transaction locks the whole file.
    holdPayer: async () => undefined,
    readSettled: connection.read,
    close: () => connection.end(),
  }
  return storeOf(engine, options)
}

/** Payments whose steps run at the same time on PostgreSQL; each waits for a commit, and the server groups commits. */
const CONNECTIONS = 4

/**
 * A step may have read another's commit that no standby has yet. Our own commit returns only once a standby has it and
 * everything before it; this makes the step such a commit.
 */
const MAKE_OWN = "SELECT pg_logical_emit_message(true, 'grading', '')"

/** Opens the reservations in an existing schema. Its steps reject with GradingStoreUnavailable. */
export async function openPostgresReservationStore(
  options: Options & { readonly door: PostgresDoor },
): Promise<OpenReservationStore> {
  // A store in a file loads no driver.
  const { PostgresConnection } = await import('@tallystick/journal-store/postgres')
  const connect = () => new PostgresConnection(options.door, { schema: 'grading' })
  const first = connect()
  const connections = [first, ...Array.from({ length: CONNECTIONS - 1 }, connect)]
  const engine: Engine = {
    dialect: POSTGRES_DIALECT,
    /** Each payment keeps to one connection, so its steps run in order. */
    step: (paymentId, run) => {
      let place = 0
      for (const letter of paymentId) place = (place * 31 + (letter.codePointAt(0) ?? 0)) % 65_521
      const connection = connections[place % CONNECTIONS] ?? first
      return connection.transaction(async (query) => {
        const [result] = await Promise.all([run(query), query(MAKE_OWN)])
        return result
      })
    },
    holdPayer: (query, payer) =>
      query('SELECT pg_advisory_xact_lock(hashtextextended($1, 402))', [payer]),
    readSettled: async (text) => {
      // After the step that runs on each.
      await Promise.all(connections.map((each) => each.transaction(async () => undefined)))
      return first.transaction((query) => query(text))
    },
    close: async () => {
      await Promise.all(connections.map((each) => each.end()))
    },
  }
  return storeOf(engine, options)
}

/** More than a gate allows in flight, so that the gate's own limit applies first. */
const OPEN_MAX = 20_000
/** Old answers removed with each new one, so that no transaction grows long. */
const FORGOTTEN_PER_WRITE = 100
/** Most payments that may get one answer free, each a row under 1 kB; more are refused. */
const GIVEN_MAX = 1_000

const COLUMNS =
  'payment_id, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by, is_delivered, attempt'

/** Selects a ReservationRow from `reservations AS one`; a shared answer comes from the row that first had it. */
const RESERVATION_COLUMNS = `${COLUMNS}, coalesce(answer, (SELECT answer FROM reservations AS origin WHERE origin.payment_id = one.answered_by)) AS answer`

/** The same without its answer, which may be megabytes. */
const WEIGHED_COLUMNS = `${COLUMNS}, NULL AS answer`

/** A row of RESERVATION_COLUMNS; flags are 0 or 1 in SQLite. */
type ReservationRow = {
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
}

type Body = {
  readonly payment: Omit<Reservation['payment'], 'amount'> & { readonly amount: string }
  readonly subject: string
}

function bodyOf({ payment, subject }: Reservation): string {
  const body: Body = { payment: { ...payment, amount: String(payment.amount) }, subject }
  return JSON.stringify(body)
}

function reservationOf(row: ReservationRow): Reservation {
  const { payment, subject } = JSON.parse(row.body) as Body
  return {
    paymentId: row.payment_id,
    payment: { ...payment, amount: BigInt(payment.amount) },
    fingerprint: row.fingerprint,
    subject,
    state: row.state,
    expiresAtSeconds: row.expires_at,
    ...(row.keeps_answer ? { keepsAnswer: true } : {}),
    ...(row.idempotency_key === null ? {} : { idempotencyKey: row.idempotency_key }),
    ...(row.request === null ? {} : { request: row.request }),
    ...(row.answer === null ? {} : { answer: row.answer }),
    ...(row.answered_by === null ? {} : { answeredBy: row.answered_by }),
    ...(row.is_delivered ? { isDelivered: true } : {}),
  }
}

/** The columns of reservationCells, in order. */
const RESERVATION_CELLS =
  'payment_id, payer, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by'

const reservationCells = (reservation: Reservation) =>
  [
    reservation.paymentId,
    payerKeyOf(reservation),
    reservation.fingerprint,
    reservation.idempotencyKey ?? null,
    reservation.keepsAnswer === undefined ? 0 : 1,
    reservation.state,
    reservation.expiresAtSeconds,
    bodyOf(reservation),
    reservation.request ?? null,
    reservation.answeredBy ?? null,
  ] as const

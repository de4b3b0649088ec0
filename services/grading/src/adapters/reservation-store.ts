/**
 * Reservations of payments (G4), on either engine. Each step is its own transaction, on disk before it is answered: if a
 * process dies after settling a payment, the next process finds that payment open. The store is apart from the ledger, so an
 * import never delays a payment. Two payments of one payer are weighed one after the other, in whichever process.
 *
 * A row has its process's id. What only its owner may do asks for that id in the statement: a process that was stopped, and
 * whose payments were taken over, changes nothing when it wakes.
 */
import { randomUUID } from 'node:crypto'
import { type ProcessPlace, SqliteConnection, type SqlQuery } from '@tallystick/journal-store'
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
import {
  RESERVATION_CELLS,
  RESERVATION_COLUMNS,
  type ReservationRow,
  reservationCells,
  reservationOf,
  WEIGHED_COLUMNS,
} from './reservation-rows.ts'
import { openReservationDatabase } from './sqlite-database.ts'
import { watchOwners } from './watch-owners.ts'

/** Where the engines' SQL differs. */
type Dialect = {
  /** The column that orders one payer's rows. */
  readonly serial: string
  /** Ends the search for old answers: skips those that another process is removing. */
  readonly skipLocked: string
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
  isEnded: 'true',
  among: (column) => `${column} IN (SELECT value FROM json_each($1))`,
  list: JSON.stringify,
}
const POSTGRES_DIALECT: Dialect = {
  serial: 'serial',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  isEnded: `NOT EXISTS (SELECT FROM processes WHERE id = owner
    AND seen_at > clock_timestamp() - interval '${SILENT_SECONDS_MAX} s')`,
  among: (column) => `${column} = ANY($1)`,
  list: (texts) => texts,
}

/** Limits: how many reservations may be open, and how many payments may share one answer. */
type Limits = { readonly openMax: number; readonly givenMax: number }

/** Counts only up to a limit, which is part of the text: SQLite would replan for every bound value. */
const count = (where: string, max: number): string =>
  `SELECT count(*) AS n FROM (SELECT 1 FROM reservations WHERE ${where} LIMIT ${max}) AS found`

/** Every look-up made while serving calls has an index. */
export function reservationStatements(
  { among, isEnded, serial, skipLocked }: Dialect,
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
    countOpen: count("state <> 'answered'", openMax),
    countGiven: count('answered_by = $1', givenMax),
    insert: `INSERT INTO reservations (${RESERVATION_CELLS}, attempt, owner) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    markSettled:
      "UPDATE reservations SET state = 'settled' WHERE payment_id = $1 AND state = 'reserved' AND owner = $2",
    keepAnswer: `UPDATE reservations SET state = 'answered', answer = $3, expires_at = $4, request = NULL
      WHERE payment_id = $1 AND state <> 'answered' AND owner = $2`,
    markDelivered: `UPDATE reservations SET is_delivered = true WHERE state = 'answered' AND payment_id =
      (SELECT coalesce(answered_by, payment_id) FROM reservations WHERE payment_id = $1)`,
    attemptOf:
      "SELECT attempt FROM reservations WHERE payment_id = $1 AND state <> 'answered' AND owner = $2",
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
  /** Runs statements in a transaction, after the steps that run now. */
  readonly stepOfAll: <Result>(run: (query: SqlQuery) => Promise<Result>) => Promise<Result>
  /** Reads what is committed. */
  readonly read: SqlQuery
  /** Names this process; another one, once it was taken for dead. */
  readonly owner: () => string
  /** Resolves after so many milliseconds. */
  readonly pause: (ms: number) => Promise<void>
  close(): Promise<void>
}

type Row = ReservationRow & { readonly attempt: string }

type Reserving = {
  readonly wanted: Reservation
  readonly owner: string
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

/** Steps that only the owner may take. */
function ownSteps(say: ReturnType<typeof reservationStatements>) {
  /** A repeated release must not remove what another process reserved since. */
  function release(paymentId: string, owner: string) {
    let found: string | undefined
    return async (query: SqlQuery): Promise<void> => {
      found ??= (await query<{ attempt: string }>(say.attemptOf, [paymentId, owner]))[0]?.attempt
      if (found !== undefined) await query(say.release, [paymentId, found])
    }
  }

  /** Changes what this process owns; false if the payment is another's. */
  const changeOwn =
    (text: string, values: readonly [paymentId: string, owner: string, ...others: unknown[]]) =>
    async (query: SqlQuery): Promise<boolean> => {
      const [paymentId, owner] = values
      const [, [row]] = await Promise.all([
        query(text, values),
        query<{ readonly owner: string }>(say.owner, [paymentId]),
      ])
      return row === undefined || row.owner === owner
    }
  return { release, changeOwn }
}

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
    { attempt, nowSeconds, owner, wanted }: Reserving,
  ): Promise<ReserveOutcome> {
    const insert = async (reservation: Reservation): Promise<void> => {
      await Promise.all([
        query(say.forget, [wanted.paymentId, nowSeconds]),
        query(say.insert, [...reservationCells(reservation), attempt, owner]),
      ])
    }
    const [, , found, verdict] = await Promise.all([
      holdPayer(query, payerKeyOf(wanted)),
      query(say.takeOver, [wanted.paymentId, owner]),
      findRow(query, say.find, [wanted.paymentId, nowSeconds, owner]),
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

  return { say, reserve, ...ownSteps(say) }
}

export type OpenReservationStore = ReservationStore & { close(): Promise<void> }

type Options = { readonly clock: Clock } & Partial<Limits>

function storeOf(
  engine: Engine,
  { clock, givenMax = GIVEN_MAX, openMax = OPEN_MAX }: Options,
): OpenReservationStore {
  const { say, changeOwn, release, reserve } = stepsOf(engine, { givenMax, openMax })
  const { owner, read, step } = engine
  const nowSeconds = (): number => clock.unixMs() / 1_000
  const owners = watchOwners({
    pause: engine.pause,
    lookElsewhere: async (paymentIds) => {
      const rows = await read<{ payment_id: string }>(say.elsewhere, [
        engine.dialect.list(paymentIds),
        owner(),
      ])
      return new Set(rows.map((row) => row.payment_id))
    },
  })
  return {
    reserve: (wanted) => {
      const attempt = randomUUID()
      return step(wanted.paymentId, (query) =>
        reserve(query, { wanted, attempt, owner: owner(), nowSeconds: nowSeconds() }),
      )
    },
    markSettled: (paymentId) => step(paymentId, changeOwn(say.markSettled, [paymentId, owner()])),
    keepAnswer: (paymentId, { answer, expiresAtSeconds }) =>
      step(paymentId, changeOwn(say.keepAnswer, [paymentId, owner(), answer, expiresAtSeconds])),
    markDelivered: (paymentId) =>
      step(paymentId, async (query) => void (await query(say.markDelivered, [paymentId]))),
    release: (paymentId) => step(paymentId, release(paymentId, owner())),
    get: async (paymentId) => {
      const look = (query: SqlQuery) => findRow(query, say.find, [paymentId, nowSeconds(), owner()])
      return (await step(paymentId, look, 'reads'))?.reservation
    },
    open: async () => {
      const mine = owner()
      const open = await engine.stepOfAll(async (query) => {
        const [, own] = await Promise.all([
          query(say.takeAll, [mine]),
          query<Row>(say.allOwn, [mine]),
        ])
        return own
      })
      return open.map(reservationOf)
    },
    ownerEnded: (paymentId) => owners.ended(paymentId),
    close: async () => {
      owners.close()
      await engine.close()
    },
  }
}

/** Opens the reservations beside a ledger, in `<path>.payments`. Throws GradingStoreUnavailable, as its steps do. */
export function openSqliteReservationStore(
  options: Options & { readonly databasePath: string },
): OpenReservationStore {
  const database = openReservationDatabase(options.databasePath)
  const connection = new SqliteConnection(database, GradingStoreUnavailable)
  const owner = randomUUID()
  const engine: Engine = {
    dialect: SQLITE_DIALECT,
    step: (_, run, what) => (what === 'reads' ? run(connection.read) : connection.transaction(run)),
    // A transaction locks the whole file.
    holdPayer: async () => undefined,
    stepOfAll: (run) => connection.transaction(run),
    read: connection.read,
    owner: () => owner,
    // Nobody waits for an owner: whoever asks takes over.
    pause: async () => undefined,
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

async function runOwn<Result>(
  query: SqlQuery,
  run: (query: SqlQuery) => Promise<Result>,
): Promise<Result> {
  const [result] = await Promise.all([run(query), query(MAKE_OWN)])
  return result
}

/** Opens the reservations in an existing schema. Its steps reject with GradingStoreUnavailable. */
export async function openPostgresReservationStore(
  options: Options & { readonly door: PostgresDoor; readonly process: Pick<ProcessPlace, 'id'> },
): Promise<OpenReservationStore> {
  // A store in a file loads no driver.
  const { PostgresConnection } = await import('@tallystick/journal-store/postgres')
  const connect = () => new PostgresConnection(options.door, { schema: 'grading' })
  const first = connect()
  const connections = [first, ...Array.from({ length: CONNECTIONS - 1 }, connect)]
  const reading = connect()
  const engine: Engine = {
    dialect: POSTGRES_DIALECT,
    /** Each payment keeps to one connection, so its steps run in order. */
    step: (paymentId, run) => {
      let place = 0
      for (const letter of paymentId) place = (place * 31 + (letter.codePointAt(0) ?? 0)) % 65_521
      const connection = connections[place % CONNECTIONS] ?? first
      return connection.transaction((query) => runOwn(query, run))
    },
    holdPayer: (query, payer) =>
      query('SELECT pg_advisory_xact_lock(hashtextextended($1, 402))', [payer]),
    stepOfAll: async (run) => {
      // After the step that runs on each.
      await Promise.all(connections.map((each) => each.transaction(async () => undefined)))
      return first.transaction((query) => runOwn(query, run))
    },
    read: reading.read,
    owner: options.process.id,
    pause: options.door.pause,
    close: async () => {
      await Promise.all([...connections, reading].map((each) => each.end()))
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

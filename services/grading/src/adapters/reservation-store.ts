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
  addGuess,
  type Guesses,
  payerKey,
  type Reservation,
  type ReservationStore,
  type ReserveLimits,
  type ReserveOutcome,
  weighSiblings,
} from '@tallystick/x402'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import {
  type Dialect,
  type Limits,
  POSTGRES_DIALECT,
  type ReservationRow,
  reservationStatements,
  SQLITE_DIALECT,
} from './reservation-statements.ts'
import { openReservationDatabase } from './sqlite-database.ts'
import { watchOwners } from './watch-owners.ts'

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
  readonly reserveLimits: ReserveLimits | undefined
  readonly owner: string
  /** Names the call: a repeated step has the same name, and so finds its own row. */
  readonly attempt: string
  readonly nowSeconds: number
}

const findRow = async (query: SqlQuery, text: string, values: readonly unknown[]) => {
  const [row] = await query<Row>(text, values)
  return row && { attempt: row.attempt, reservation: readReservation(row) }
}

const counted = async (query: SqlQuery, text: string, values: readonly unknown[] = []) =>
  (await query<{ readonly n: number }>(text, values))[0]?.n ?? 0

/** Steps that only the owner may take. */
function ownSteps(say: ReturnType<typeof reservationStatements>) {
  /** A repeated release must not remove what another process reserved since. */
  function release(paymentId: string, owner: string) {
    let found: string | undefined
    return async (query: SqlQuery): Promise<void> => {
      found ??= (await query<{ attempt: string }>(say.findAttempt, [paymentId, owner]))[0]?.attempt
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
function buildSteps({ dialect, holdPayer }: Pick<Engine, 'dialect' | 'holdPayer'>, limits: Limits) {
  const say = reservationStatements(dialect, limits)

  /** What the payer's latest payments mean for this payment. */
  async function weigh(query: SqlQuery, wanted: Reservation) {
    const { fingerprint, idempotencyKey, keepsAnswer } = wanted
    if (keepsAnswer === undefined) return { kind: 'none' as const }
    const payer = payerKey(wanted)
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
    { attempt, nowSeconds, owner, reserveLimits, wanted }: Reserving,
  ): Promise<ReserveOutcome> {
    const insert = async (reservation: Reservation): Promise<void> => {
      await Promise.all([
        query(say.forget, [wanted.paymentId, nowSeconds]),
        query(say.insert, [...reservationCells(reservation), attempt, owner]),
      ])
    }
    const [, , found, verdict] = await Promise.all([
      holdPayer(query, payerKey(wanted)),
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
    const elsewhere =
      reserveLimits &&
      (await query<{ body: string }>(say.unsettledElsewhere, [payerKey(wanted), owner]))
    if (reserveLimits !== undefined && (elsewhere?.length ?? 0) > reserveLimits.elsewhereMax)
      return { kind: 'crowded' }
    await insert(wanted)
    const aheadElsewhere = sumAmounts(elsewhere ?? [], wanted.payment.asset)
    return aheadElsewhere === 0n ? { kind: 'reserved' } : { kind: 'reserved', aheadElsewhere }
  }

  return { say, reserve, ...ownSteps(say) }
}

export type OpenReservationStore = ReservationStore & { close(): Promise<void> }

type Options = { readonly clock: Clock } & Partial<Limits>

function buildStore(
  engine: Engine,
  { clock, givenMax = GIVEN_MAX, openMax = OPEN_MAX }: Options,
): OpenReservationStore {
  const { say, changeOwn, release, reserve } = buildSteps(engine, { givenMax, openMax })
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
    reserve: (wanted, reserveLimits) => {
      const attempt = randomUUID()
      const reserving = { wanted, attempt, reserveLimits }
      return step(wanted.paymentId, (query) =>
        reserve(query, { ...reserving, owner: owner(), nowSeconds: nowSeconds() }),
      )
    },
    markSettled: (paymentId) => step(paymentId, changeOwn(say.markSettled, [paymentId, owner()])),
    keepAnswer: (paymentId, { answer, expiresAtSeconds }) =>
      step(paymentId, changeOwn(say.keepAnswer, [paymentId, owner(), answer, expiresAtSeconds])),
    markDelivered: (paymentId) =>
      step(paymentId, async (query) => void (await query(say.markDelivered, [paymentId]))),
    noteGuess: (paymentId, network) =>
      step(paymentId, async (query) => {
        const [row] = await query<{ readonly guesses: string | null }>(say.guesses, [paymentId])
        if (row === undefined) return
        const before = row.guesses === null ? {} : readGuesses(row.guesses)
        await query(say.noteGuess, [paymentId, writeGuesses(addGuess(before, network))])
      }),
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
      return open.map(readReservation)
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
  return buildStore(engine, options)
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
  return { ...buildStore(engine, options), isShared: true }
}

/** More than a gate allows in flight, so that the gate's own limit applies first. */
const OPEN_MAX = 20_000
/** Most payments that may get one answer free, each a row under 1 kB; more are refused. */
const GIVEN_MAX = 1_000

type Body = {
  readonly payment: Omit<Reservation['payment'], 'amount'> & { readonly amount: string }
  readonly subject: string
}

function reservationBody({ payment, subject }: Reservation): string {
  const body: Body = { payment: { ...payment, amount: String(payment.amount) }, subject }
  return JSON.stringify(body)
}

/** What the payments of these rows take of an asset, in base units. */
const sumAmounts = (rows: readonly Pick<ReservationRow, 'body'>[], asset: string): bigint =>
  rows
    .map(({ body }) => (JSON.parse(body) as Body).payment)
    .reduce((sum, payment) => (payment.asset === asset ? sum + BigInt(payment.amount) : sum), 0n)

/** Pairs: an object's members would change their order. */
const readGuesses = (text: string): Guesses =>
  Object.fromEntries(JSON.parse(text) as readonly (readonly [string, number])[])

const writeGuesses = (guesses: Guesses): string => JSON.stringify(Object.entries(guesses))

function readReservation(row: ReservationRow): Reservation {
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
    ...(row.guesses === null ? {} : { guesses: readGuesses(row.guesses) }),
    ...(row.is_elsewhere ? { isElsewhere: true } : {}),
  }
}

const reservationCells = (reservation: Reservation) =>
  [
    reservation.paymentId,
    payerKey(reservation),
    reservation.fingerprint,
    reservation.idempotencyKey ?? null,
    reservation.keepsAnswer === undefined ? 0 : 1,
    reservation.state,
    reservation.expiresAtSeconds,
    reservationBody(reservation),
    reservation.request ?? null,
    reservation.answeredBy ?? null,
  ] as const

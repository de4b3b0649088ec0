/**
 * Reservations of payments on PostgreSQL (G4): each step is a transaction of its own, apart from the ledger's. What a call
 * asks about one payment happens on one connection, in the order in which it was asked; two payments of one payer are
 * weighed under a lock of that payer, on whichever connection or process. A step whose COMMIT was not answered is taken
 * again, and knows its own row by its attempt.
 */
import { randomUUID } from 'node:crypto'
import {
  PostgresConnection,
  type PostgresOptions,
  type PostgresQuery,
} from '@tallystick/journal-store/postgres'
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
  FORGOTTEN_PER_WRITE,
  GIVEN_MAX,
  OPEN_MAX,
  RESERVATION_CELLS,
  type ReservationRow,
  reservationCells,
  reservationColumns,
  reservationOf,
} from './stored-reservation.ts'

/** Payments whose steps run at the same time; each waits for a commit, which the server shares among them. */
const CONNECTIONS = 4

const TABLE = 'grading.reservations'
const COLUMNS = `${reservationColumns(TABLE)}, attempt`
const LIVE = "(state <> 'answered' OR expires_at > $2)"
/** The latest of one payer; `serial` is drawn under the payer's lock. */
const LATEST = 'ORDER BY serial DESC LIMIT 1'
const [BY_PAYMENT, BY_KEY, BY_FINGERPRINT] = [
  `SELECT ${COLUMNS} FROM ${TABLE} AS one WHERE payment_id = $1 AND ${LIVE}`,
  `SELECT ${COLUMNS} FROM ${TABLE} AS one WHERE payer = $1 AND idempotency_key = $2 ${LATEST}`,
  `SELECT ${COLUMNS} FROM ${TABLE} AS one WHERE payer = $1 AND fingerprint = $2 AND keeps_answer AND answered_by IS NULL ${LATEST}`,
]
const ALL_OPEN = `SELECT ${COLUMNS} FROM ${TABLE} AS one WHERE state <> 'answered' ORDER BY serial`

/** One statement: an old answer under the payment's own id, and some others. */
const FORGET = `DELETE FROM ${TABLE} WHERE state = 'answered' AND expires_at <= $2 AND (payment_id = $1 OR payment_id IN
  (SELECT payment_id FROM ${TABLE} WHERE state = 'answered' AND expires_at <= $2 LIMIT ${FORGOTTEN_PER_WRITE} FOR UPDATE SKIP LOCKED))`
const INSERT = `INSERT INTO ${TABLE} (${RESERVATION_CELLS}, attempt) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
const MARK_SETTLED = `UPDATE ${TABLE} SET state = 'settled' WHERE payment_id = $1 AND state = 'reserved'`
const KEEP_ANSWER = `UPDATE ${TABLE} SET state = 'answered', answer = $2, expires_at = $3, request = NULL
  WHERE payment_id = $1 AND state <> 'answered'`
const MARK_DELIVERED = `UPDATE ${TABLE} SET is_delivered = true WHERE state = 'answered' AND payment_id =
  (SELECT coalesce(answered_by, payment_id) FROM ${TABLE} WHERE payment_id = $1)`

/**
 * What was found may be another's commit that no standby has yet. A commit of one's own does not return before it has, and
 * with it everything before; this makes it one.
 */
const MAKE_OWN = "SELECT pg_logical_emit_message(true, 'grading', '')"

type Row = ReservationRow & { readonly attempt: string }

type Limits = { readonly openMax: number; readonly givenMax: number }

async function one(query: PostgresQuery, text: string, values: readonly unknown[]) {
  return (await query<Row>(text, values))[0]
}

async function isUnder(query: PostgresQuery, max: number, [where, ...values]: readonly string[]) {
  const text = `SELECT count(*) AS n FROM (SELECT FROM ${TABLE} WHERE ${where} LIMIT ${max}) AS found`
  const [row] = await query<{ readonly n: number }>(text, values)
  return row !== undefined && row.n < max
}

type Step = {
  readonly asked: Reservation
  /** Of the call: the same when the step is taken again. */
  readonly attempt: string
  readonly nowSeconds: number
  readonly limits: Limits
}

/** The latest payments of the payer that this one is weighed against. */
async function siblingsOf(query: PostgresQuery, asked: Reservation) {
  const { fingerprint, idempotencyKey, keepsAnswer } = asked
  if (keepsAnswer === undefined) return { sameKey: undefined, sameFingerprint: undefined }
  const payer = payerKeyOf(asked)
  const [sameKey, sameFingerprint] = await Promise.all([
    idempotencyKey === undefined ? undefined : one(query, BY_KEY, [payer, idempotencyKey]),
    one(query, BY_FINGERPRINT, [payer, fingerprint]),
  ])
  return {
    sameKey: sameKey && reservationOf(sameKey),
    sameFingerprint: sameFingerprint && reservationOf(sameFingerprint),
  }
}

async function reserveStep(query: PostgresQuery, step: Step): Promise<ReserveOutcome> {
  const { asked, attempt, limits, nowSeconds } = step
  const { paymentId } = asked
  const insert = async (reservation: Reservation): Promise<void> => {
    await Promise.all([
      query(FORGET, [paymentId, nowSeconds]),
      query(INSERT, [...reservationCells(reservation), attempt]),
    ])
  }
  const [, , found, siblings] = await Promise.all([
    query('SELECT pg_advisory_xact_lock(hashtextextended($1, 402))', [payerKeyOf(asked)]),
    query(MAKE_OWN),
    one(query, BY_PAYMENT, [paymentId, nowSeconds]),
    siblingsOf(query, asked),
  ])
  if (found !== undefined) {
    const reservation = reservationOf(found)
    if (found.attempt !== attempt) return { kind: 'held', reservation }
    return reservation.state === 'answered'
      ? { kind: 'kept', answer: reservation.answer ?? '' }
      : { kind: 'reserved' }
  }
  const verdict =
    asked.keepsAnswer === undefined ? { kind: 'none' as const } : weighSiblings(asked, siblings)
  if (verdict.kind === 'kept') {
    const {
      answer = '',
      answeredBy = verdict.sibling.paymentId,
      expiresAtSeconds,
    } = verdict.sibling
    if (!(await isUnder(query, limits.givenMax, ['answered_by = $1', answeredBy])))
      return { kind: 'full' }
    const { request: _, ...rest } = asked
    await insert({ ...rest, state: 'answered', answeredBy, expiresAtSeconds })
    return { kind: 'kept', answer }
  }
  if (verdict.kind !== 'none') return verdict
  if (!(await isUnder(query, limits.openMax, ["state <> 'answered'"]))) return { kind: 'full' }
  await insert(asked)
  return { kind: 'reserved' }
}

/** A release that is taken again must not take what another process has reserved since. */
function releaseStep(paymentId: string) {
  let found: string | undefined
  return async (query: PostgresQuery): Promise<void> => {
    const open = `FROM ${TABLE} WHERE payment_id = $1 AND state <> 'answered'`
    found ??= (await one(query, `SELECT attempt ${open}`, [paymentId]))?.attempt
    if (found !== undefined) await query(`DELETE ${open} AND attempt = $2`, [paymentId, found])
    await query(MAKE_OWN)
  }
}

type PostgresReservationStore = ReservationStore & { close(): Promise<void> }

/** Opens the reservations in a schema that is there. Its steps reject with GradingStoreUnavailable. */
export function openPostgresReservationStore(
  options: Omit<PostgresOptions, 'Unavailable'> & { readonly clock: Clock } & Partial<Limits>,
): PostgresReservationStore {
  const { clock, givenMax = GIVEN_MAX, openMax = OPEN_MAX } = options
  const connections = Array.from(
    { length: CONNECTIONS },
    () => new PostgresConnection({ ...options, Unavailable: GradingStoreUnavailable }),
  )
  const running = new Set<Promise<unknown>>()
  const nowSeconds = (): number => clock.unixMs() / 1_000

  /** Each payment has its connection, on which steps follow each other. */
  function step<Result>(
    paymentId: string,
    run: (query: PostgresQuery) => Promise<Result>,
  ): Promise<Result> {
    let place = 0
    for (const letter of paymentId) place = (place * 31 + (letter.codePointAt(0) ?? 0)) % 65_521
    const connection = connections[place % CONNECTIONS]
    if (connection === undefined) throw new Error('there is no such connection')
    const taken = connection.transaction(run)
    running.add(taken)
    const forget = (): void => void running.delete(taken)
    taken.then(forget, forget)
    return taken
  }
  const change = (paymentId: string, text: string, values: readonly unknown[] = []) =>
    step(paymentId, async (query) => {
      await Promise.all([query(text, [paymentId, ...values]), query(MAKE_OWN)])
    })

  return {
    reserve: (asked) => {
      const attempt = randomUUID()
      const limits = { givenMax, openMax }
      return step(asked.paymentId, (query) =>
        reserveStep(query, { asked, attempt, nowSeconds: nowSeconds(), limits }),
      )
    },
    markSettled: (paymentId) => change(paymentId, MARK_SETTLED),
    keepAnswer: (paymentId, { answer, expiresAtSeconds }) =>
      change(paymentId, KEEP_ANSWER, [answer, expiresAtSeconds]),
    markDelivered: (paymentId) => change(paymentId, MARK_DELIVERED),
    release: (paymentId) => step(paymentId, releaseStep(paymentId)),
    get: (paymentId) =>
      step(paymentId, async (query) => {
        const [row] = await Promise.all([
          one(query, BY_PAYMENT, [paymentId, nowSeconds()]),
          query(MAKE_OWN),
        ])
        return row && reservationOf(row)
      }),
    open: async () => {
      await Promise.allSettled(running)
      const [connection] = connections
      const rows = (await connection?.transaction((query) => query<Row>(ALL_OPEN))) ?? []
      return rows.map(reservationOf)
    },
    close: async () => {
      await Promise.all(connections.map((connection) => connection.end()))
    },
  }
}

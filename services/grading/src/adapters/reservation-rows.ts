/** Reservations as rows, on either engine. */
import { payerKeyOf, type Reservation } from '@tallystick/x402'

/** Columns that every engine has. */
const COLUMNS =
  'payment_id, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by, is_delivered, attempt'

/** Selects a ReservationRow from `reservations AS one`; a shared answer comes from the row that first had it. */
export const RESERVATION_COLUMNS = `${COLUMNS}, coalesce(answer, (SELECT answer FROM reservations AS origin WHERE origin.payment_id = one.answered_by)) AS answer`

/** The same without its answer, which may be megabytes. */
export const WEIGHED_COLUMNS = `${COLUMNS}, NULL AS answer`

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
  readonly is_elsewhere?: boolean | number
}

type Body = {
  readonly payment: Omit<Reservation['payment'], 'amount'> & { readonly amount: string }
  readonly subject: string
}

function bodyOf({ payment, subject }: Reservation): string {
  const body: Body = { payment: { ...payment, amount: String(payment.amount) }, subject }
  return JSON.stringify(body)
}

export function reservationOf(row: ReservationRow): Reservation {
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
    ...(row.is_elsewhere ? { isElsewhere: true } : {}),
  }
}

/** The columns of reservationCells, in order. */
export const RESERVATION_CELLS =
  'payment_id, payer, fingerprint, idempotency_key, keeps_answer, state, expires_at, body, request, answered_by'

export const reservationCells = (reservation: Reservation) =>
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

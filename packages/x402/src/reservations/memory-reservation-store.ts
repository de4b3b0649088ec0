import { type Clock, systemClock } from '../clock.ts'
import {
  payerKey,
  type Reservation,
  type ReservationStore,
  weighSiblings,
} from './reservation-store.ts'
import { addGuess } from './same-purchase.ts'

type Options = {
  readonly clock?: Clock | undefined
  /** Most answers kept; a few kB each. */
  readonly answeredMax?: number
  /** Most open reservations kept. */
  readonly openMax?: number
}

/** A busy hour of purchases. */
const ANSWERED_MAX = 10_000

/** More than a gate has in flight at once, so the gate reaches its own limit first. */
const OPEN_MAX = 20_000

/**
 * Reservations in this process's memory, bounded. Beyond the limit of answers, the least recently used one is forgotten,
 * and the same payment sent again is looked up on the ledger. Beyond the limit of open reservations, `reserve` says
 * `full` and nothing may be settled. Answers are forgotten once they expire. A payment whose answer is kept for its payer
 * is compared with all of them.
 */
export function createMemoryReservationStore(options: Options = {}): ReservationStore {
  const { openMax = OPEN_MAX } = options
  const memory = createHeldReservations(options)
  const { find, latest, openOne, putAnswered, reservations } = memory
  return {
    async reserve(reservation) {
      const known = find(reservation.paymentId)
      if (known !== undefined) return { kind: 'held', reservation: known }
      const { fingerprint, idempotencyKey: key } = reservation
      const verdict = weighSiblings(reservation, {
        sameKey: latest(reservation, (other) => key !== undefined && other.idempotencyKey === key),
        // A payment given another's answer was never settled for it.
        sameFingerprint: latest(
          reservation,
          (other) => other.answeredBy === undefined && other.fingerprint === fingerprint,
        ),
      })
      if (verdict.kind === 'kept') {
        const { answer = '', answeredBy, expiresAtSeconds, paymentId } = verdict.sibling
        const same = { answer, answeredBy: answeredBy ?? paymentId, expiresAtSeconds }
        putAnswered({ ...reservation, ...same, state: 'answered' })
        return { kind: 'kept', answer }
      }
      if (verdict.kind !== 'none') return verdict
      if (memory.openCount() >= openMax) return { kind: 'full' }
      reservations.set(reservation.paymentId, reservation)
      return { kind: 'reserved' }
    },
    async markSettled(paymentId) {
      const found = openOne(paymentId)
      if (found !== undefined) reservations.set(paymentId, { ...found, state: 'settled' })
      return true
    },
    async keepAnswer(paymentId, answered) {
      const found = openOne(paymentId)
      if (found !== undefined) putAnswered({ ...found, ...answered, state: 'answered' })
      return true
    },
    async markDelivered(paymentId) {
      const origin = reservations.get(reservations.get(paymentId)?.answeredBy ?? paymentId)
      if (origin?.state === 'answered')
        reservations.set(origin.paymentId, { ...origin, isDelivered: true })
    },
    async noteGuess(paymentId, network) {
      const found = reservations.get(paymentId)
      if (found !== undefined)
        reservations.set(paymentId, { ...found, guesses: addGuess(found.guesses, network) })
    },
    async release(paymentId) {
      if (openOne(paymentId) !== undefined) reservations.delete(paymentId)
    },
    async get(paymentId) {
      return find(paymentId)
    },
    async open() {
      return [...reservations.values()].filter(({ state }) => state !== 'answered')
    },
    ownerEnded: async () => undefined,
  }
}

function createHeldReservations({ answeredMax = ANSWERED_MAX, clock = systemClock }: Options) {
  /** Oldest first. */
  const reservations = new Map<string, Reservation>()
  /** Those of them that have an answer, in order of use. */
  const answered = new Set<string>()

  const isOver = ({ expiresAtSeconds, state }: Reservation): boolean =>
    state === 'answered' && expiresAtSeconds <= clock.unixMs() / 1_000

  function forget(paymentId: string): void {
    reservations.delete(paymentId)
    answered.delete(paymentId)
  }

  function find(paymentId: string): Reservation | undefined {
    const known = reservations.get(paymentId)
    if (known !== undefined && isOver(known)) {
      forget(paymentId)
      return undefined
    }
    if (answered.delete(paymentId)) answered.add(paymentId)
    return known
  }

  /** Also forgets answers, least recently used first, while that one is expired or there are too many. */
  function putAnswered(reservation: Reservation): void {
    const { request: _, ...rest } = reservation
    reservations.set(rest.paymentId, rest)
    answered.add(rest.paymentId)
    for (const paymentId of answered) {
      const old = reservations.get(paymentId)
      if (answered.size <= answeredMax && old !== undefined && !isOver(old)) break
      forget(paymentId)
    }
  }

  return {
    reservations,
    find,
    putAnswered,
    openCount: () => reservations.size - answered.size,
    openOne: (paymentId: string): Reservation | undefined =>
      answered.has(paymentId) ? undefined : reservations.get(paymentId),
    /** The payer's latest payment of those whose answers are kept. */
    latest: (reservation: Reservation, isSame: (other: Reservation) => boolean) =>
      reservation.keepsAnswer &&
      [...reservations.values()].findLast(
        (other) =>
          other.keepsAnswer &&
          isSame(other) &&
          !isOver(other) &&
          payerKey(other) === payerKey(reservation),
      ),
  }
}

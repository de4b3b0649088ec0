import type { Clock } from '../clock.ts'
import {
  payerKeyOf,
  type Reservation,
  type ReservationStore,
  weighSiblings,
} from './reservation-store.ts'

type Options = {
  readonly clock: Clock
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
 * `full` and nothing may be settled. Answers are forgotten once they expire.
 */
export function createMemoryReservationStore(options: Options): ReservationStore {
  const { openMax = OPEN_MAX } = options
  const open = new Map<string, Reservation>()
  const siblings = createSiblings()
  const answers = createAnswers(options, (gone) => siblings.remove(gone))
  const find = (paymentId: string | undefined): Reservation | undefined =>
    paymentId === undefined ? undefined : (open.get(paymentId) ?? answers.find(paymentId))

  /** Stores a payment with its sibling's answer. */
  function answerWith(sibling: Reservation, asked: Reservation): string {
    const { answer = '', answeredBy = sibling.paymentId, expiresAtSeconds } = sibling
    const given = { ...asked, state: 'answered', answer, answeredBy, expiresAtSeconds } as const
    siblings.add(given)
    answers.put(given)
    return answer
  }

  return {
    async reserve(reservation) {
      const held = find(reservation.paymentId)
      if (held !== undefined) return { kind: 'held', reservation: held }
      const { key, print } = namesOf(reservation)
      const verdict = weighSiblings(reservation, {
        sameKey: find(siblings.latest(key)),
        sameFingerprint: find(siblings.latest(print)),
      })
      if (verdict.kind === 'kept')
        return { kind: 'kept', answer: answerWith(verdict.sibling, reservation) }
      if (verdict.kind !== 'none') return verdict
      if (open.size >= openMax) return { kind: 'full' }
      open.set(reservation.paymentId, reservation)
      siblings.add(reservation)
      return { kind: 'reserved' }
    },
    async markSettled(paymentId) {
      const held = open.get(paymentId)
      if (held !== undefined) open.set(paymentId, { ...held, state: 'settled' })
    },
    async keepAnswer(paymentId, kept) {
      const held = open.get(paymentId)
      if (held !== undefined && open.delete(paymentId))
        answers.put({ ...held, ...kept, state: 'answered' })
    },
    async markDelivered(paymentId) {
      answers.markDelivered(paymentId)
    },
    async release(paymentId) {
      const held = open.get(paymentId)
      if (held !== undefined && open.delete(paymentId)) siblings.remove(held)
    },
    async get(paymentId) {
      return find(paymentId)
    },
    async open() {
      return [...open.values()]
    },
  }
}

/** A bounded number of answers in order of use; `hear` is called with each one forgotten. */
function createAnswers(
  { answeredMax = ANSWERED_MAX, clock }: Options,
  hear: (gone: Reservation) => void,
) {
  const answered = new Map<string, Reservation>()
  const isOver = ({ expiresAtSeconds }: Reservation): boolean =>
    expiresAtSeconds <= clock.unixMs() / 1_000

  function forget(reservation: Reservation): void {
    answered.delete(reservation.paymentId)
    hear(reservation)
  }

  return {
    /** Also forgets expired answers, from the oldest on, and the oldest while there are too many. */
    put(reservation: Reservation): void {
      const { request: _, ...kept } = reservation
      answered.set(kept.paymentId, kept)
      for (const old of answered.values()) {
        if (answered.size <= answeredMax && !isOver(old)) break
        forget(old)
      }
    },
    find(paymentId: string): Reservation | undefined {
      const reservation = answered.get(paymentId)
      if (reservation === undefined) return undefined
      if (isOver(reservation)) {
        forget(reservation)
        return undefined
      }
      answered.delete(paymentId)
      answered.set(paymentId, reservation)
      return reservation
    },
    markDelivered(paymentId: string): void {
      const origin = answered.get(answered.get(paymentId)?.answeredBy ?? paymentId)
      if (origin !== undefined) answered.set(origin.paymentId, { ...origin, isDelivered: true })
    },
  }
}

/** The payment ids of each payer by key and by fingerprint, oldest first. */
function createSiblings() {
  const idsByName = new Map<string, string[]>()
  return {
    latest: (name: string | undefined): string | undefined =>
      name === undefined ? undefined : idsByName.get(name)?.at(-1),
    add(reservation: Reservation): void {
      for (const name of namesIn(reservation)) {
        const ids = idsByName.get(name) ?? []
        ids.push(reservation.paymentId)
        idsByName.set(name, ids)
      }
    },
    remove(reservation: Reservation): void {
      for (const name of namesIn(reservation)) {
        const ids = idsByName.get(name) ?? []
        const index = ids.indexOf(reservation.paymentId)
        if (index >= 0) ids.splice(index, 1)
        if (ids.length === 0) idsByName.delete(name)
      }
    },
  }
}

function namesIn(reservation: Reservation): string[] {
  return Object.values(namesOf(reservation)).filter((name) => name !== undefined)
}

/** The names by which later payments find this one; a payment that got another's answer has no `print` of its own. */
function namesOf(reservation: Reservation) {
  const { answeredBy, fingerprint, idempotencyKey, keepsAnswer } = reservation
  if (keepsAnswer === undefined) return { key: undefined, print: undefined }
  const payer = payerKeyOf(reservation)
  return {
    key: idempotencyKey === undefined ? undefined : JSON.stringify(['key', payer, idempotencyKey]),
    print: answeredBy === undefined ? JSON.stringify(['print', payer, fingerprint]) : undefined,
  }
}

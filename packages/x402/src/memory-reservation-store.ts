import type { Clock } from './clock.ts'
import type { Reservation, ReservationStore } from './reservation-store.ts'
import { payerKeyOf, weighSiblings } from './weigh-siblings.ts'

export type MemoryReservationStoreOptions = {
  readonly clock: Clock
  /** Answers kept at most; a few kB each. */
  readonly answeredMax?: number
  /** Open reservations kept at most. */
  readonly openMax?: number
}

/** A busy hour of purchases; beyond it the oldest answer goes. */
const ANSWERED_MAX = 10_000

/** More than a gate lets fly at once, so that the gate's own limit is met first. */
const OPEN_MAX = 20_000

/**
 * Reservations in this process's memory, bounded. When answers are full, the one used longest ago is forgotten: the
 * same payment sent again is then looked up on the ledger instead of answered from here. When open ones are full,
 * `reserve` says so and nothing may be settled. Answers go once their time is over.
 */
export function createMemoryReservationStore(
  options: MemoryReservationStoreOptions,
): ReservationStore {
  const { clock, answeredMax = ANSWERED_MAX, openMax = OPEN_MAX } = options
  const open = new Map<string, Reservation>()
  const answered = new Map<string, Reservation>()
  const siblings = createSiblingIndex()

  function forget(reservation: Reservation): void {
    open.delete(reservation.paymentId)
    answered.delete(reservation.paymentId)
    siblings.remove(reservation)
  }

  /** Insertion order is order of use; expired ones go from the old end, the rest when their turn comes. */
  function keep(reservation: Reservation): void {
    answered.delete(reservation.paymentId)
    answered.set(reservation.paymentId, reservation)
    const nowSeconds = clock.unixMs() / 1_000
    for (const old of answered.values()) {
      if (answered.size <= answeredMax && old.expiresAtSeconds > nowSeconds) break
      forget(old)
    }
  }

  function find(paymentId: string | undefined): Reservation | undefined {
    if (paymentId === undefined) return undefined
    const reservation = open.get(paymentId) ?? answered.get(paymentId)
    if (reservation?.state !== 'answered') return reservation
    if (reservation.expiresAtSeconds <= clock.unixMs() / 1_000) {
      forget(reservation)
      return undefined
    }
    answered.delete(paymentId)
    answered.set(paymentId, reservation)
    return reservation
  }

  /** Remembers a payment with the answer of its sibling. */
  function answerWith(sibling: Reservation, asked: Reservation): string {
    const { answer = '', answeredBy = sibling.paymentId, expiresAtSeconds } = sibling
    const { request: _, ...rest } = asked
    const given: Reservation = { ...rest, state: 'answered', answer, answeredBy, expiresAtSeconds }
    keep(given)
    siblings.add(given)
    return answer
  }

  return {
    async reserve(reservation) {
      const held = find(reservation.paymentId)
      if (held !== undefined) return { kind: 'held', reservation: held }
      const { sameFingerprint, sameKey } = siblings.of(reservation)
      const verdict = weighSiblings(reservation, {
        sameFingerprint: find(sameFingerprint),
        sameKey: find(sameKey),
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
      if (held === undefined) return
      const { request: _, ...rest } = held
      open.delete(paymentId)
      keep({ ...rest, ...kept, state: 'answered' })
    },
    async markDelivered(paymentId) {
      const given = answered.get(paymentId)
      const origin = answered.get(given?.answeredBy ?? paymentId)
      if (origin !== undefined) answered.set(origin.paymentId, { ...origin, isDelivered: true })
    },
    async release(paymentId) {
      const held = open.get(paymentId)
      if (held !== undefined) forget(held)
    },
    async get(paymentId) {
      return find(paymentId)
    },
    async open() {
      return [...open.values()]
    },
  }
}

/** Which payment of a payer came last with a key, and which was last reserved for a fingerprint; as many as reservations. */
function createSiblingIndex() {
  const byKey = new Map<string, string>()
  const byFingerprint = new Map<string, string>()
  const namesOf = (reservation: Reservation) => {
    const { answeredBy, fingerprint, idempotencyKey, keepsAnswer } = reservation
    if (keepsAnswer === undefined) return { key: undefined, print: undefined }
    const payer = payerKeyOf(reservation)
    return {
      key: idempotencyKey === undefined ? undefined : JSON.stringify([payer, idempotencyKey]),
      // What was given another's answer stands for nothing of its own.
      print: answeredBy === undefined ? JSON.stringify([payer, fingerprint]) : undefined,
    }
  }
  return {
    of(reservation: Reservation) {
      const { key, print } = namesOf(reservation)
      return {
        sameKey: key === undefined ? undefined : byKey.get(key),
        sameFingerprint: print === undefined ? undefined : byFingerprint.get(print),
      }
    },
    add(reservation: Reservation): void {
      const { key, print } = namesOf(reservation)
      if (key !== undefined) byKey.set(key, reservation.paymentId)
      if (print !== undefined) byFingerprint.set(print, reservation.paymentId)
    },
    remove(reservation: Reservation): void {
      const { key, print } = namesOf(reservation)
      if (key !== undefined && byKey.get(key) === reservation.paymentId) byKey.delete(key)
      if (print !== undefined && byFingerprint.get(print) === reservation.paymentId)
        byFingerprint.delete(print)
    },
  }
}

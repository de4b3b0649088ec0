import type { Clock } from './clock.ts'
import type { Reservation, ReservationStore } from './reservation-store.ts'

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
 * `reserve` says so and nothing may be settled. Answers go once their payment's validity is well over.
 */
export function createMemoryReservationStore(
  options: MemoryReservationStoreOptions,
): ReservationStore {
  const { clock, answeredMax = ANSWERED_MAX, openMax = OPEN_MAX } = options
  const open = new Map<string, Reservation>()
  const answered = new Map<string, Reservation>()

  /** Insertion order is order of use; expired ones go from the old end, the rest when their turn comes. */
  function forgetOld(): void {
    const nowSeconds = clock.unixMs() / 1_000
    for (const [paymentId, reservation] of answered) {
      if (answered.size <= answeredMax && reservation.expiresAtSeconds > nowSeconds) break
      answered.delete(paymentId)
    }
  }

  function find(paymentId: string): Reservation | undefined {
    const reservation = open.get(paymentId) ?? answered.get(paymentId)
    if (reservation?.state !== 'answered') return reservation
    answered.delete(paymentId)
    if (reservation.expiresAtSeconds <= clock.unixMs() / 1_000) return undefined
    answered.set(paymentId, reservation)
    return reservation
  }

  return {
    async reserve(reservation) {
      const held = find(reservation.paymentId)
      if (held !== undefined) return { kind: 'held', reservation: held }
      if (open.size >= openMax) return { kind: 'full' }
      open.set(reservation.paymentId, reservation)
      return { kind: 'reserved' }
    },
    async advance(paymentId, state, answer) {
      const held = open.get(paymentId)
      if (held === undefined) return
      if (state === 'settled') {
        open.set(paymentId, { ...held, state })
        return
      }
      open.delete(paymentId)
      answered.set(paymentId, { ...held, state, ...(answer === undefined ? {} : { answer }) })
      forgetOld()
    },
    async release(paymentId) {
      open.delete(paymentId)
    },
    async get(paymentId) {
      return find(paymentId)
    },
    async open() {
      return [...open.values()]
    },
  }
}

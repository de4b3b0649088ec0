/** Stores of several processes over one memory: who has a payment is kept beside it, as a shared database does. */
import type { Clock } from '../clock.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import type { Reservation, ReservationStore } from '../reservations/reservation-store.ts'

/** Between two looks of whoever waits, milliseconds. */
const LOOK_MS = 20

export function shareReservations(clock: Clock) {
  const memory = createMemoryReservationStore({ clock })
  const owners = new Map<string, string>()
  const ended = new Set<string>()
  const isOpen = async (paymentId: string): Promise<boolean> =>
    ['reserved', 'settled'].includes((await memory.get(paymentId))?.state ?? '')

  function storeOf(own: string): ReservationStore {
    const isOwn = (paymentId: string): boolean => (owners.get(paymentId) ?? own) === own
    const isElsewhere = async (paymentId: string): Promise<boolean> =>
      !isOwn(paymentId) && !ended.has(owners.get(paymentId) ?? '') && (await isOpen(paymentId))
    const seen = async (found: Reservation): Promise<Reservation> =>
      (await isElsewhere(found.paymentId)) ? { ...found, isElsewhere: true } : found
    const takeOver = async (paymentId: string): Promise<void> => {
      if (ended.has(owners.get(paymentId) ?? '') && (await isOpen(paymentId)))
        owners.set(paymentId, own)
    }
    return {
      ...memory,
      async reserve(asked) {
        const { paymentId } = asked
        await takeOver(paymentId)
        const reserved = await memory.reserve(asked)
        if (reserved.kind === 'reserved') owners.set(paymentId, own)
        return reserved.kind === 'held'
          ? { kind: 'held', reservation: await seen(reserved.reservation) }
          : reserved
      },
      markSettled: async (paymentId) => isOwn(paymentId) && memory.markSettled(paymentId),
      keepAnswer: async (paymentId, kept) => isOwn(paymentId) && memory.keepAnswer(paymentId, kept),
      async release(paymentId) {
        if (!isOwn(paymentId)) return
        owners.delete(paymentId)
        await memory.release(paymentId)
      },
      async get(paymentId) {
        const found = await memory.get(paymentId)
        return found && (await seen(found))
      },
      async open() {
        const open = await memory.open()
        for (const { paymentId } of open) await takeOver(paymentId)
        return open.filter(({ paymentId }) => isOwn(paymentId))
      },
      async ownerEnded(paymentId) {
        while (await isElsewhere(paymentId))
          await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve))
      },
    }
  }
  return { storeOf, end: (owner: string): void => void ended.add(owner) }
}

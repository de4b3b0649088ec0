/** Stores of several processes over one memory: who has a payment is kept beside it, as a shared database does. */
import type { Clock } from '../clock.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import {
  payerKey,
  type Reservation,
  type ReservationStore,
} from '../reservations/reservation-store.ts'

/** Between two looks of whoever waits, milliseconds. */
const LOOK_MS = 20

/** One reservation at a time, as under the payer's lock. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  return (reserve: ReservationStore['reserve']): ReservationStore['reserve'] =>
    (...values) => {
      const reserving = last.then(() => reserve(...values))
      last = reserving.catch(() => undefined)
      return reserving
    }
}

export function shareReservations(clock: Clock) {
  const memory = createMemoryReservationStore({ clock })
  const owners = new Map<string, string>()
  const ended = new Set<string>()
  const isOpen = async (paymentId: string): Promise<boolean> =>
    ['reserved', 'settled'].includes((await memory.get(paymentId))?.state ?? '')

  const inTurn = createTurns()

  function openStore(own: string): ReservationStore {
    const isOwn = (paymentId: string): boolean => (owners.get(paymentId) ?? own) === own
    const isElsewhere = async (paymentId: string): Promise<boolean> =>
      !isOwn(paymentId) && !ended.has(owners.get(paymentId) ?? '') && (await isOpen(paymentId))
    const seen = async (found: Reservation): Promise<Reservation> =>
      (await isElsewhere(found.paymentId)) ? { ...found, isElsewhere: true } : found
    const takeOver = async (paymentId: string): Promise<void> => {
      if (ended.has(owners.get(paymentId) ?? '') && (await isOpen(paymentId)))
        owners.set(paymentId, own)
    }
    const findUnsettled = async (wanted: Reservation): Promise<readonly Reservation[]> => {
      const open = await Promise.all((await memory.open()).map(seen))
      return open.filter(
        (each) =>
          each.isElsewhere && each.state === 'reserved' && payerKey(each) === payerKey(wanted),
      )
    }
    return {
      ...memory,
      isShared: true,
      reserve: inTurn(async (wanted, limits) => {
        const { paymentId } = wanted
        await takeOver(paymentId)
        const unsettled = await findUnsettled(wanted)
        const isKnown = (await memory.get(paymentId)) !== undefined
        if (!isKnown && limits !== undefined && unsettled.length > limits.elsewhereMax)
          return { kind: 'crowded' }
        const reserved = await memory.reserve(wanted)
        if (reserved.kind === 'reserved') {
          owners.set(paymentId, own)
          const aheadElsewhere = unsettled.reduce((sum, { payment }) => sum + payment.amount, 0n)
          return aheadElsewhere === 0n || limits === undefined
            ? reserved
            : { ...reserved, aheadElsewhere }
        }
        return reserved.kind === 'held'
          ? { kind: 'held', reservation: await seen(reserved.reservation) }
          : reserved
      }),
      markSettled: async (paymentId) => isOwn(paymentId) && memory.markSettled(paymentId),
      keepAnswer: async (paymentId, end) => isOwn(paymentId) && memory.keepAnswer(paymentId, end),
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
  return { openStore, end: (owner: string): void => void ended.add(owner) }
}

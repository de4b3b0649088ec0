import type { Reservation } from './reservation-store.ts'
import { payerKeyOf } from './weigh-siblings.ts'

/** Finds the latest payments of a payer by key and by fingerprint, for a store in memory. As large as that store. */
export type SiblingIndex = {
  /** Payment ids to weigh a new payment against. */
  of(reservation: Reservation): {
    readonly sameKey: string | undefined
    readonly sameFingerprint: string | undefined
  }
  add(reservation: Reservation): void
  remove(reservation: Reservation): void
}

export function createSiblingIndex(): SiblingIndex {
  /** Payment ids under each name, oldest first. */
  const named = new Map<string, string[]>()
  const latest = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : named.get(name)?.at(-1)
  return {
    of(reservation) {
      const { key, print } = namesOf(reservation)
      return { sameKey: latest(key), sameFingerprint: latest(print) }
    },
    add(reservation) {
      const { key, print } = namesOf(reservation)
      for (const name of [key, print]) {
        if (name === undefined) continue
        const ids = named.get(name)
        if (ids === undefined) named.set(name, [reservation.paymentId])
        else ids.push(reservation.paymentId)
      }
    },
    remove(reservation) {
      const { key, print } = namesOf(reservation)
      for (const name of [key, print]) {
        const ids = name === undefined ? undefined : named.get(name)
        if (name === undefined || ids === undefined) continue
        const index = ids.indexOf(reservation.paymentId)
        if (index >= 0) ids.splice(index, 1)
        if (ids.length === 0) named.delete(name)
      }
    },
  }
}

function namesOf(reservation: Reservation) {
  const { answeredBy, fingerprint, idempotencyKey, keepsAnswer } = reservation
  if (keepsAnswer === undefined) return { key: undefined, print: undefined }
  const payer = payerKeyOf(reservation)
  return {
    key: idempotencyKey === undefined ? undefined : JSON.stringify(['key', payer, idempotencyKey]),
    // What was given another's answer stands for nothing of its own.
    print: answeredBy === undefined ? JSON.stringify(['print', payer, fingerprint]) : undefined,
  }
}

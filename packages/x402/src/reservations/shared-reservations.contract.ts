import { describe, expect, test } from 'vitest'
import { exampleReservation } from './example-reservation.fixture.ts'
import type { ReservationStore } from './reservation-store.ts'

/** Two processes over one place; `endFirst` ends the first one, and not its store: like a process that seems dead and wakes. */
type SharedStores = {
  readonly first: ReservationStore
  readonly second: ReservationStore
  readonly endFirst: () => Promise<unknown>
  /** Unix seconds. */
  readonly nowSeconds: () => number
}

const answerIn = (nowSeconds: () => number, answer: string) => ({
  answer,
  expiresAtSeconds: nowSeconds() + 1_000,
})

/** What a store must do whose place several living processes share. */
export function describeSharedReservations(
  name: string,
  create: () => Promise<SharedStores>,
): void {
  describe(`reservation store of several processes: ${name}`, () => {
    test('X7, G12: what a living process has is elsewhere for another, and open only at its owner', async () => {
      const { first, second } = await create()
      const reservation = exampleReservation('p')
      await first.reserve(reservation)
      const elsewhere = { ...reservation, isElsewhere: true }
      expect(await second.reserve(reservation)).toEqual({ kind: 'held', reservation: elsewhere })
      expect(await second.get('p')).toEqual(elsewhere)
      expect(await second.open()).toEqual([])
      expect(await first.open()).toEqual([reservation])
      expect(await first.reserve(reservation)).toEqual({ kind: 'held', reservation })
    })

    test('X7, G12: another process changes nothing of it, and hears that it is not its own', async () => {
      const { first, nowSeconds, second } = await create()
      await first.reserve(exampleReservation('p'))
      await second.release('p')
      expect(await second.markSettled('p')).toBe(false)
      expect(await second.keepAnswer('p', answerIn(nowSeconds, '"second"'))).toBe(false)
      expect(await first.open()).toEqual([exampleReservation('p')])
      expect(await first.markSettled('p')).toBe(true)
      expect(await first.keepAnswer('p', answerIn(nowSeconds, '"first"'))).toBe(true)
      expect(await second.get('p')).toMatchObject({ state: 'answered', answer: '"first"' })
    })

    test('X16, G12: what other living processes have of a payer, and have not settled, counts, by number and by amount', async () => {
      const { endFirst, first, second } = await create()
      for (const id of ['p', 'q', 'r'])
        await first.reserve(exampleReservation(id, { fingerprint: id }), { elsewhereMax: 0 })
      await first.markSettled('r')
      const wanted = exampleReservation('s', { fingerprint: 's' })
      expect(await second.reserve(wanted, { elsewhereMax: 1 })).toEqual({ kind: 'crowded' })
      expect(await second.get('s')).toBeUndefined()
      const { amount } = wanted.payment
      expect(await second.reserve(wanted, { elsewhereMax: 2 })).toEqual({
        kind: 'reserved',
        aheadElsewhere: 2n * amount,
      })
      await endFirst()
      await second.release('s')
      expect(await second.reserve(wanted, { elsewhereMax: 0 })).toEqual({ kind: 'reserved' })
    })

    test('X7, G12: guesses at one process count at another, whoever has the payment', async () => {
      const { first, second } = await create()
      await first.reserve(exampleReservation('p'))
      for (const store of [first, second, first]) await store.noteGuess('p', 'net')
      expect((await second.get('p'))?.guesses).toEqual({ net: 3 })
    })

    test('X7, G12: whoever waits for its owner goes on when that one has answered, or released it', async () => {
      const { first, nowSeconds, second } = await create()
      const ended: string[] = []
      await first.reserve(exampleReservation('p'))
      await first.reserve(exampleReservation('q'))
      const waiting = ['p', 'q'].map((id) => second.ownerEnded(id).then(() => ended.push(id)))
      await second.ownerEnded('absent')
      expect(ended).toEqual([])
      await first.keepAnswer('p', answerIn(nowSeconds, '"first"'))
      await waiting[0]
      expect(ended).toEqual(['p'])
      await first.release('q')
      await Promise.all(waiting)
      expect(await second.reserve(exampleReservation('q'))).toEqual({ kind: 'reserved' })
    })

    test('X9, G12: what a process had that ended is the next one’s: whoever asks for it, and whoever asks what is open', async () => {
      const { endFirst, first, second } = await create()
      for (const id of ['p', 'q', 'r']) await first.reserve(exampleReservation(id))
      await first.markSettled('q')
      await second.reserve(exampleReservation('s'))
      const waiting = second.ownerEnded('p')
      await endFirst()
      await waiting
      const reservation = exampleReservation('p')
      expect(await second.reserve(reservation)).toEqual({ kind: 'held', reservation })
      expect((await second.open()).map(({ paymentId, state }) => [paymentId, state])).toEqual([
        ['p', 'reserved'],
        ['q', 'settled'],
        ['r', 'reserved'],
        ['s', 'reserved'],
      ])
    })

    test('X7, G12: a process that was taken for dead, and wakes, neither works for what it had nor answers nor releases it', async () => {
      const { endFirst, first, nowSeconds, second } = await create()
      for (const id of ['p', 'q']) await first.reserve(exampleReservation(id))
      await endFirst()
      await second.open()
      await second.keepAnswer('q', answerIn(nowSeconds, '"second"'))
      expect([await first.markSettled('p'), await first.markSettled('q')]).toEqual([false, false])
      expect(await first.keepAnswer('p', answerIn(nowSeconds, '"first"'))).toBe(false)
      expect(await first.keepAnswer('q', answerIn(nowSeconds, '"first"'))).toBe(false)
      await first.release('p')
      expect((await second.open()).map(({ paymentId, state }) => [paymentId, state])).toEqual([
        ['p', 'reserved'],
      ])
      expect(await first.get('q')).toMatchObject({ answer: '"second"' })
    })
  })
}

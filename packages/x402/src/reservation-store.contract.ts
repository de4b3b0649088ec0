import { describe, expect, test } from 'vitest'
import type { VerifiedPayment } from './payment-scheme.ts'
import type { Reservation, ReservationStore } from './reservation-store.ts'

/** A store under test; `nowSeconds` is the time of its clock, Unix seconds. */
export type StoreUnderTest = {
  readonly store: ReservationStore
  readonly nowSeconds: () => number
}

/** A reservation for tests; `changes` go on top. */
export function reservationOf(paymentId: string, changes: Partial<Reservation> = {}): Reservation {
  const payment: VerifiedPayment = {
    id: paymentId,
    network: 'hedera:testnet',
    asset: '0.0.0',
    amount: 300_000_000n,
    payTo: '0.0.7001',
    payer: '0.0.9001',
    payerEvmAddress: `0x${'cd'.repeat(20)}`,
    nonce: paymentId,
    memo: 'é ₮',
    validFromSeconds: 1_795_226_000,
    validUntilSeconds: 1_795_226_180,
  }
  return {
    paymentId,
    payment,
    fingerprint: 'GET /access',
    subject: 'agent',
    state: 'reserved',
    expiresAtSeconds: 1_795_226_240,
    ...changes,
  }
}

/** What every reservation store must do; run it against each one. */
export function describeReservationStore(
  name: string,
  create: () => StoreUnderTest | Promise<StoreUnderTest>,
): void {
  describe(`reservation store: ${name}`, () => {
    test('X7: of many reservations of one payment at once, exactly one holds it', async () => {
      const { store } = await create()
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          store.reserve(reservationOf('p', { fingerprint: `f${index}` })),
        ),
      )
      const held = await store.get('p')
      const losers = outcomes.filter(({ kind }) => kind !== 'reserved')
      expect(losers).toEqual(
        Array.from({ length: 49 }, () => ({ kind: 'held', reservation: held })),
      )
    })

    test('what was reserved comes back whole, the amount of the payment included', async () => {
      const { store } = await create()
      const reservation = reservationOf('p')
      await store.reserve(reservation)
      expect(await store.get('p')).toEqual(reservation)
      expect(await store.open()).toEqual([reservation])
    })

    test('reserved, settled, answered: the answer stays with it and it is open no more', async () => {
      const { store, nowSeconds } = await create()
      const expiresAtSeconds = nowSeconds() + 60
      await store.reserve(reservationOf('p', { expiresAtSeconds }))
      await store.advance('p', 'settled')
      expect((await store.open()).map(({ state }) => state)).toEqual(['settled'])
      await store.advance('p', 'answered', '{"answer":"é"}')
      expect(await store.open()).toEqual([])
      const answered = reservationOf('p', {
        expiresAtSeconds,
        state: 'answered',
        answer: '{"answer":"é"}',
      })
      expect(await store.get('p')).toEqual(answered)
      expect(await store.reserve(reservationOf('p'))).toEqual({
        kind: 'held',
        reservation: answered,
      })
    })

    test('X7: released after a definite refusal, it can be reserved anew', async () => {
      const { store } = await create()
      await store.reserve(reservationOf('p'))
      await store.release('p')
      expect(await store.get('p')).toBeUndefined()
      expect(await store.reserve(reservationOf('p', { fingerprint: 'other' }))).toEqual({
        kind: 'reserved',
      })
    })

    test('an open reservation never expires: its payment may have landed', async () => {
      const { store, nowSeconds } = await create()
      const old = reservationOf('p', { expiresAtSeconds: nowSeconds() - 1_000 })
      await store.reserve(old)
      expect(await store.open()).toEqual([old])
      expect((await store.reserve(old)).kind).toBe('held')
    })

    test('an answer is forgotten after its time', async () => {
      const { store, nowSeconds } = await create()
      await store.reserve(reservationOf('p', { expiresAtSeconds: nowSeconds() - 1 }))
      await store.advance('p', 'answered', '{}')
      expect(await store.get('p')).toBeUndefined()
      expect((await store.reserve(reservationOf('p'))).kind).toBe('reserved')
    })

    test('payments do not touch each other, and moving on what is not there does nothing', async () => {
      const { store } = await create()
      await store.reserve(reservationOf('p'))
      await store.reserve(reservationOf('q'))
      await store.release('p')
      await store.advance('p', 'settled')
      await store.release('never')
      expect((await store.open()).map(({ paymentId }) => paymentId)).toEqual(['q'])
    })
  })
}

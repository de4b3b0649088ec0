import { describe, expect, test } from 'vitest'
import { exampleReservation } from './example-reservation.fixture.ts'
import type { Reservation, ReservationStore } from './reservation-store.ts'

export { exampleReservation } from './example-reservation.fixture.ts'
export { describeSharedReservations } from './shared-reservations.contract.ts'

/** A store under test; `nowSeconds` is the time of its clock, Unix seconds. */
type StoreUnderTest = {
  readonly store: ReservationStore
  readonly nowSeconds: () => number
}

/** A reservation whose answer is kept for its payer. */
const keptReservation = (paymentId: string, changes: Partial<Reservation> = {}): Reservation =>
  exampleReservation(paymentId, { keepsAnswer: true, ...changes })

/** A store in which `p` is reserved for its payer, and answered if there is an answer. */
async function openHolding(
  create: () => StoreUnderTest | Promise<StoreUnderTest>,
  earlier: { readonly changes: Partial<Reservation>; readonly answer: string | undefined },
): Promise<StoreUnderTest> {
  const { store, nowSeconds } = await create()
  await store.reserve(keptReservation('p', earlier.changes))
  const { answer } = earlier
  if (answer !== undefined)
    await store.keepAnswer('p', { answer, expiresAtSeconds: nowSeconds() + 1_000 })
  return { store, nowSeconds }
}

/** What every reservation store must do; run it against each implementation. */
export function describeReservationStore(
  name: string,
  create: () => StoreUnderTest | Promise<StoreUnderTest>,
): void {
  const holding = (changes: Partial<Reservation> = {}, answer?: string) =>
    openHolding(create, { changes, answer })

  describe(`reservation store: ${name}`, () => {
    test('X7: of many concurrent reservations of one payment, exactly one holds it', async () => {
      const { store } = await create()
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          store.reserve(exampleReservation('p', { fingerprint: `f${index}` })),
        ),
      )
      const stored = await store.get('p')
      const losers = outcomes.filter(({ kind }) => kind !== 'reserved')
      expect(losers).toEqual(
        Array.from({ length: 49 }, () => ({ kind: 'held', reservation: stored })),
      )
    })

    test('a reservation is returned complete, including the payment’s amount', async () => {
      const { store } = await create()
      const reservation = exampleReservation('p')
      await store.reserve(reservation)
      expect(await store.get('p')).toEqual(reservation)
      expect(await store.open()).toEqual([reservation])
    })

    test('reserved, settled, answered: the answer stays with it and it is no longer open', async () => {
      const { store, nowSeconds } = await create()
      const expiresAtSeconds = nowSeconds() + 60
      await store.reserve(exampleReservation('p'))
      await store.markSettled('p')
      expect((await store.open()).map(({ state }) => state)).toEqual(['settled'])
      await store.keepAnswer('p', { answer: '{"answer":"é"}', expiresAtSeconds })
      expect(await store.open()).toEqual([])
      const answered = exampleReservation('p', {
        expiresAtSeconds,
        state: 'answered',
        answer: '{"answer":"é"}',
      })
      expect(await store.get('p')).toEqual(answered)
      expect(await store.reserve(exampleReservation('p'))).toEqual({
        kind: 'held',
        reservation: answered,
      })
      await store.release('p')
      await store.keepAnswer('p', { answer: '{}', expiresAtSeconds })
      expect(await store.get('p')).toEqual(answered)
    })

    test('X7: released after a definite refusal, it can be reserved again', async () => {
      const { store } = await create()
      await store.reserve(exampleReservation('p'))
      await store.release('p')
      expect(await store.get('p')).toBeUndefined()
      expect(await store.reserve(exampleReservation('p', { fingerprint: 'other' }))).toEqual({
        kind: 'reserved',
      })
    })

    test('calls take effect and are answered in the order in which they were made', async () => {
      const { store } = await create()
      const second = exampleReservation('p', { fingerprint: 'second' })
      const ended: number[] = []
      const calls = [
        store.reserve(exampleReservation('p')),
        store.release('p'),
        store.reserve(second),
        store.reserve(exampleReservation('p')),
        store.markSettled('p'),
        store.open(),
      ]
      await Promise.all(calls.map((call, index) => call.then(() => ended.push(index))))
      expect(ended).toEqual([0, 1, 2, 3, 4, 5])
      expect(await Promise.all(calls)).toEqual([
        { kind: 'reserved' },
        undefined,
        { kind: 'reserved' },
        { kind: 'held', reservation: second },
        true,
        [{ ...second, state: 'settled' }],
      ])
    })

    test('an open reservation never expires: its payment may have landed', async () => {
      const { store, nowSeconds } = await create()
      const old = exampleReservation('p', { expiresAtSeconds: nowSeconds() - 1_000 })
      await store.reserve(old)
      expect([await store.open(), (await store.reserve(old)).kind]).toEqual([[old], 'held'])
    })

    test('X7: wrong guesses are counted with their payment, by the sender’s network', async () => {
      const { store } = await create()
      await store.reserve(exampleReservation('p'))
      for (const network of ['203.0.113.7', '', '203.0.113.7']) await store.noteGuess('p', network)
      await store.noteGuess('absent', '')
      expect((await store.get('p'))?.guesses).toEqual({ '203.0.113.7': 2, '': 1 })
      expect(await store.get('absent')).toBeUndefined()
    })

    test('an answer is forgotten after its time', async () => {
      const { store, nowSeconds } = await create()
      await store.reserve(exampleReservation('p'))
      await store.keepAnswer('p', { answer: '{}', expiresAtSeconds: nowSeconds() - 1 })
      expect(await store.get('p')).toBeUndefined()
      expect((await store.reserve(exampleReservation('p'))).kind).toBe('reserved')
    })

    test('payments do not affect each other, and acting on an absent one does nothing', async () => {
      const { store } = await create()
      await store.reserve(exampleReservation('p'))
      await store.reserve(exampleReservation('q'))
      await store.release('p')
      await store.markSettled('p')
      await store.keepAnswer('p', { answer: '{}', expiresAtSeconds: 2_000_000_000 })
      await store.markDelivered('p')
      await store.release('never')
      expect((await store.open()).map(({ paymentId }) => paymentId)).toEqual(['q'])
    })
  })

  describe(`reservation store: ${name}: what it keeps for a payer`, () => {
    const unresolved = { kind: 'unresolved', paymentId: 'p' }
    const reserved = { kind: 'reserved' }
    const keyed = { idempotencyKey: 'k' }

    test('its request and key are returned while it is open; the request goes once it is answered', async () => {
      const { store, nowSeconds } = await holding({ ...keyed, request: '{"pick":"é"}' })
      expect(await store.open()).toEqual([
        keptReservation('p', { ...keyed, request: '{"pick":"é"}' }),
      ])
      const answered = { answer: '{}', expiresAtSeconds: nowSeconds() + 60 }
      await store.keepAnswer('p', answered)
      expect(await store.get('p')).toEqual(
        keptReservation('p', { ...keyed, ...answered, state: 'answered' }),
      )
    })

    test.each(['reserved', 'settled'])(
      'X9: while a payment is %s, another one from that payer with the same fingerprint is unresolved',
      async (state) => {
        const { store } = await holding()
        if (state === 'settled') await store.markSettled('p')
        expect(await store.reserve(keptReservation('q'))).toEqual(unresolved)
        expect(await store.reserve(keptReservation('q', keyed))).toEqual(unresolved)
        expect(await store.get('q')).toBeUndefined()
        expect(await store.reserve(keptReservation('r', { fingerprint: 'other' }))).toEqual(
          reserved,
        )
      },
    )

    test('X9: while a payment is unresolved, another one from that payer with the same key is too, whatever it asks for', async () => {
      const { store } = await holding(keyed)
      expect(await store.reserve(keptReservation('q', { ...keyed, fingerprint: 'other' }))).toEqual(
        unresolved,
      )
    })

    test('X9: once released, it blocks nobody', async () => {
      const { store } = await holding(keyed)
      await store.release('p')
      expect(await store.reserve(keptReservation('q', keyed))).toEqual(reserved)
    })

    test('of many concurrent payments from one payer with one key, exactly one is reserved', async () => {
      const { store } = await create()
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          store.reserve(keptReservation(`p${index}`, keyed)),
        ),
      )
      expect(outcomes.filter(({ kind }) => kind === 'reserved')).toHaveLength(1)
      expect(outcomes.filter(({ kind }) => kind === 'unresolved')).toHaveLength(49)
    })

    test('X9: an answer never delivered goes to the payer’s next payment, which it then answers', async () => {
      const { store } = await holding({}, '{"n":1}')
      expect(await store.reserve(keptReservation('q'))).toEqual({ kind: 'kept', answer: '{"n":1}' })
      expect(await store.open()).toEqual([])
      expect(await store.get('q')).toMatchObject({
        payment: { id: 'q' },
        state: 'answered',
        answer: '{"n":1}',
        answeredBy: 'p',
      })
      expect((await store.reserve(keptReservation('q'))).kind).toBe('held')
    })

    test('X9: once delivered, the next payment for the same thing is reserved afresh', async () => {
      const { store } = await holding({}, '{}')
      await store.markDelivered('p')
      expect(await store.get('p')).toMatchObject({ isDelivered: true })
      expect(await store.reserve(keptReservation('q'))).toEqual(reserved)
    })

    test('X9: delivered to a payment that was given it, the answer is delivered', async () => {
      const { store } = await holding({}, '{}')
      await store.reserve(keptReservation('q'))
      await store.markDelivered('q')
      expect(await store.reserve(keptReservation('r'))).toEqual(reserved)
    })

    test('G4: same key and body, same answer, even after delivery', async () => {
      const { store } = await holding(keyed, '{"n":1}')
      await store.markDelivered('p')
      for (const id of ['q', 'r'])
        expect(await store.reserve(keptReservation(id, keyed))).toEqual({
          kind: 'kept',
          answer: '{"n":1}',
        })
    })

    test('G4: same key, different body: a conflict, and nothing is remembered', async () => {
      const { store } = await holding(keyed, '{}')
      const other = keptReservation('q', { ...keyed, fingerprint: 'other' })
      expect(await store.reserve(other)).toEqual({ kind: 'key_conflict' })
      expect(await store.get('q')).toBeUndefined()
    })

    test('G4: a key on a payment that was given an answer names that answer', async () => {
      const { store } = await holding({}, '{"n":1}')
      await store.reserve(keptReservation('q', keyed))
      await store.markDelivered('q')
      expect(await store.reserve(keptReservation('r', keyed))).toEqual({
        kind: 'kept',
        answer: '{"n":1}',
      })
      expect(await store.reserve(keptReservation('s', { ...keyed, fingerprint: 'other' }))).toEqual(
        {
          kind: 'key_conflict',
        },
      )
    })

    test('a key belongs to its payer on its network', async () => {
      const { store } = await holding(keyed, '{}')
      const { payment } = keptReservation('q')
      const strangers = [
        { ...payment, payer: '0.0.9002' },
        { ...payment, id: 'r', network: 'hedera:mainnet' },
      ]
      for (const stranger of strangers)
        expect(
          await store.reserve(keptReservation(stranger.id, { ...keyed, payment: stranger })),
        ).toEqual(reserved)
    })

    test('an answer or key is kept until it expires, and not given to a payment that outlives it', async () => {
      const { store, nowSeconds } = await holding(keyed, '{"n":1}')
      const longer = { ...keyed, expiresAtSeconds: nowSeconds() + 1_001 }
      expect(await store.reserve(keptReservation('q', longer))).toEqual(reserved)
      await store.release('q')
      expect(
        await store.reserve(keptReservation('r', { expiresAtSeconds: nowSeconds() + 1_000 })),
      ).toEqual({
        kind: 'kept',
        answer: '{"n":1}',
      })
    })

    test('a payment that does not keep its answer neither blocks nor is given one', async () => {
      const { store, nowSeconds } = await create()
      await store.reserve(exampleReservation('p'))
      await store.keepAnswer('p', { answer: '{}', expiresAtSeconds: nowSeconds() + 1_000 })
      expect(await store.reserve(keptReservation('q'))).toEqual(reserved)
      expect(await store.reserve(exampleReservation('r'))).toEqual(reserved)
    })
  })
}

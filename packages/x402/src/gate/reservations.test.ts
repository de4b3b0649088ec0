/** What the gate does when its store fails, or when a job asks too much of it. */
import { describe, expect, test } from 'vitest'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import type { ReservationStore } from '../reservations/reservation-store.ts'
import { HederaStandIn } from '../testing/hedera-stand-in.fixture.ts'
import { deliver, keptAnswerFixture, PENDING, plain } from '../testing/kept-answer.fixture.ts'
import { KEPT_REQUEST_BYTES_MAX } from './reservations.ts'

/** A store whose answers cannot be written while `isFull`. */
function fillingStore(ledger: HederaStandIn) {
  const store = createMemoryReservationStore({ clock: ledger.clock })
  const disk = { isFull: false, releases: 0 }
  const unlessFull = async <Answer>(run: () => Promise<Answer>): Promise<Answer> => {
    if (disk.isFull) throw new Error('disk full')
    return await run()
  }
  const reservations: ReservationStore = {
    ...store,
    keepAnswer: (paymentId, answered) => unlessFull(() => store.keepAnswer(paymentId, answered)),
    release(paymentId) {
      disk.releases += 1
      return unlessFull(() => store.release(paymentId))
    },
    markDelivered: (paymentId) => unlessFull(() => store.markDelivered(paymentId)),
  }
  return { disk, reservations }
}

describe('a store that fails after settlement', () => {
  test('owes the answer: it is written before the payer’s next payment is considered', async () => {
    const ledger = new HederaStandIn()
    const { disk, reservations } = fillingStore(ledger)
    const { buy, events, send, terms } = keptAnswerFixture({ ledger, reservations })
    const header = await ledger.pay(terms)
    disk.isFull = true
    const first = await send(header, { idempotencyKey: 'k' })
    await deliver(first)
    expect(events.filter(({ kind }) => kind === 'store_failed')).toHaveLength(2)
    await expect(buy({ idempotencyKey: 'k' })).rejects.toThrow('disk full')
    disk.isFull = false
    expect(plain(await buy({ idempotencyKey: 'k' }))).toEqual(plain(first))
    expect(plain(await send(header))).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
  })

  test('owes the release of a refused payment: its payer does not wait for the next start', async () => {
    const ledger = new HederaStandIn()
    const { disk, reservations } = fillingStore(ledger)
    const { buy, send, terms } = keptAnswerFixture({ ledger, reservations })
    const header = await ledger.pay(terms)
    disk.isFull = true
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await send(header)).kind).toBe('challenged')
    ledger.fault = undefined
    disk.isFull = false
    expect((await buy()).kind).toBe('paid')
    expect(await reservations.open()).toEqual([])
  })

  test('is written what it owes once, however many payments ask for it at once', async () => {
    const ledger = new HederaStandIn()
    const { disk, reservations } = fillingStore(ledger)
    const { job, gate, send, terms } = keptAnswerFixture({ ledger, reservations })
    const header = await ledger.pay(terms)
    disk.isFull = true
    ledger.fault = { refusal: 'insufficient_funds' }
    await send(header)
    ledger.fault = undefined
    disk.isFull = false
    disk.releases = 0
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map(async (subject) => {
        const paymentSignature = await ledger.pay(terms)
        return await gate.pay({ paymentSignature }, terms, job({ subject }))
      }),
    )
    expect(disk.releases).toBe(1)
    expect(outcomes.filter(({ kind }) => kind === 'paid')).toHaveLength(1)
    // The one that was refused, and the one that was paid.
    expect(ledger.settlements).toBe(2)
  })

  test('owes nothing any more for a payment that it reserves again', async () => {
    const ledger = new HederaStandIn()
    const store = createMemoryReservationStore({ clock: ledger.clock })
    const disk = { isMute: true }
    const release = async (paymentId: string): Promise<void> => {
      await store.release(paymentId)
      if (disk.isMute) throw new Error('done, but nobody could say so')
    }
    const { buy, send, terms } = keptAnswerFixture({ ledger, reservations: { ...store, release } })
    const header = await ledger.pay(terms)
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await send(header)).kind).toBe('challenged')
    disk.isMute = false
    ledger.fault = 'answer_lost'
    ledger.isMirrorDown = true
    const paying = send(header)
    await ledger.clock.advanceMsSettled(13_000)
    expect(await paying).toEqual(PENDING)
    expect(await buy({ subject: 'another request' })).toEqual(PENDING)
    expect((await store.open()).map(({ subject }) => subject)).toEqual(['POST /api/grade a'])
    // Only the same payment, refused and then in doubt.
    expect(ledger.settlements).toBe(1)
  })
})

test('a request too large to keep is the route’s mistake: thrown, unsettled', async () => {
  const { buy, ledger, reservations } = keptAnswerFixture()
  const request = 'é'.repeat(KEPT_REQUEST_BYTES_MAX / 2 + 1)
  await expect(buy({ request })).rejects.toThrow(RangeError)
  expect(ledger.settlements).toBe(0)
  expect(await reservations.open()).toEqual([])
})

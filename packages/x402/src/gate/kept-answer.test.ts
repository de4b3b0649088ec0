/** Answers kept for their payer (X9, G4), through the gate. */
import { describe, expect, test } from 'vitest'
import { gateFixture } from '../testing/gate.fixture.ts'
import { HederaStandIn, OTHER_PAYER, PAYER } from '../testing/hedera-stand-in.fixture.ts'
import {
  deliver,
  elsewhere,
  type Kept,
  keptAnswerFixture,
  PENDING,
  plain,
} from '../testing/kept-answer.fixture.ts'

const HOUR_MS = 3_600_000

/** A gate with a payment that may have been settled; its ledger cannot be read. */
async function inDoubt(changes: Partial<Kept> = {}) {
  const fixture = keptAnswerFixture()
  const { ledger, send, terms } = fixture
  ledger.fault = 'answer_lost'
  ledger.isMirrorDown = true
  const header = await ledger.pay(terms)
  const first = send(header, changes)
  await ledger.clock.advanceMsSettled(13_000)
  expect(await first).toEqual(PENDING)
  ledger.fault = undefined
  return { ...fixture, header }
}

const isSettled = async (ledger: HederaStandIn, run: () => Promise<unknown>): Promise<boolean> => {
  const before = ledger.settlements
  await run()
  return ledger.settlements > before
}

describe('G4: Idempotency-Key is scoped to the payer', () => {
  test('same key and body: same card, one charge, even after delivery; the settlement is the first payment’s', async () => {
    const { buy, ledger, runs } = keptAnswerFixture()
    const first = await buy({ idempotencyKey: 'k' })
    for (const _ of [1, 2, 3]) {
      const again = await buy({ idempotencyKey: 'k' })
      expect(plain(again)).toEqual(plain(first))
      await deliver(again)
    }
    expect(ledger.settlements).toBe(1)
    expect(runs.fulfilled).toBe(1)
  })

  test('same key, different body: 409 before settlement', async () => {
    const { buy, ledger } = keptAnswerFixture()
    await deliver(await buy({ idempotencyKey: 'k' }))
    const other = await buy({ idempotencyKey: 'k', fingerprint: 'POST /api/grade b' })
    expect(other).toEqual({ kind: 'key_conflict' })
    expect(ledger.settlements).toBe(1)
  })

  test('the same key from another payer is another key', async () => {
    const { buy, ledger } = keptAnswerFixture()
    await buy({ idempotencyKey: 'k' })
    const other = await buy({ idempotencyKey: 'k', payer: OTHER_PAYER })
    expect(other).toMatchObject({ kind: 'paid', answer: { payer: OTHER_PAYER } })
    expect(ledger.settlements).toBe(2)
  })

  test('two different payments with one key at once: one settlement', async () => {
    const { buy, ledger, runs } = keptAnswerFixture()
    const outcomes = await Promise.all([1, 2].map(() => buy({ idempotencyKey: 'k' })))
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['paid', 'pending'])
    expect((await buy({ idempotencyKey: 'k' })).kind).toBe('paid')
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
  })

  test('a hundred payments with one key at once, each for something else: one settlement', async () => {
    const { buy, ledger } = keptAnswerFixture()
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const fingerprint = `POST /api/grade ${index}`
        return buy({ idempotencyKey: 'k', fingerprint, subject: fingerprint })
      }),
    )
    expect(outcomes.filter(({ kind }) => kind === 'paid')).toHaveLength(1)
    // Those beside it wait for it; those behind them in line come when the key names its answer.
    const others = outcomes.filter(({ kind }) => kind === 'pending' || kind === 'key_conflict')
    expect(others).toHaveLength(99)
    expect(ledger.settlements).toBe(1)
  })

  test('a key is free again once its payment was refused', async () => {
    const { buy, ledger } = keptAnswerFixture()
    ledger.fault = { refusal: 'insufficient_funds' }
    expect((await buy({ idempotencyKey: 'k' })).kind).toBe('challenged')
    ledger.fault = undefined
    const other = await buy({ idempotencyKey: 'k', fingerprint: 'POST /api/grade b' })
    expect(other.kind).toBe('paid')
  })

  test('a key is kept as long as its answer: a day, not for ever', async () => {
    const { buy, ledger } = keptAnswerFixture()
    const first = await buy({ idempotencyKey: 'k' })
    await deliver(first)
    await ledger.clock.advanceMsSettled(24 * HOUR_MS)
    expect(plain(await buy({ idempotencyKey: 'k' }))).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
    await ledger.clock.advanceMsSettled(1 * HOUR_MS)
    const fresh = await buy({ idempotencyKey: 'k', fingerprint: 'POST /api/grade b' })
    expect(fresh.kind).toBe('paid')
    expect(ledger.settlements).toBe(2)
  })
})

describe('X9: while a payer’s payment is unresolved', () => {
  test('another payment from that payer with the same fingerprint is pending, unsettled', async () => {
    const { buy, ledger } = await inDoubt()
    expect(await buy()).toEqual(PENDING)
    expect(await buy({ idempotencyKey: 'k' })).toEqual(PENDING)
    expect(ledger.settlements).toBe(1)
  })

  test('another payment from that payer with the same Idempotency-Key is pending, unsettled, whatever it asks for', async () => {
    const { buy, ledger } = await inDoubt({ idempotencyKey: 'k' })
    expect(await buy({ idempotencyKey: 'k', ...elsewhere })).toEqual(PENDING)
    expect(ledger.settlements).toBe(1)
  })

  test('its payments for other things, and everyone else’s, are not held up', async () => {
    const { buy } = await inDoubt({ idempotencyKey: 'k' })
    expect((await buy(elsewhere)).kind).toBe('paid')
    expect((await buy({ payer: OTHER_PAYER, idempotencyKey: 'k' })).kind).toBe('paid')
  })

  test('once it is resolved and its answer was never delivered, the next such payment gets that answer and is itself left unsettled', async () => {
    const { buy, header, ledger, runs, send } = await inDoubt()
    ledger.isMirrorDown = false
    await ledger.clock.advanceMsSettled(10_000)
    const next = await buy()
    expect(next).toMatchObject({ kind: 'paid', answer: { granted: 'resource 1' } })
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
    expect(plain(await send(header))).toEqual(plain(next))
  })

  test('once it is resolved, the next payment with its key gets its answer, or is a conflict', async () => {
    const { buy, ledger } = await inDoubt({ idempotencyKey: 'k' })
    ledger.isMirrorDown = false
    await ledger.clock.advanceMsSettled(10_000)
    expect(await buy({ idempotencyKey: 'k', ...elsewhere })).toEqual({ kind: 'key_conflict' })
    expect((await buy({ idempotencyKey: 'k' })).kind).toBe('paid')
    expect(ledger.settlements).toBe(1)
  })
})

describe('X9: an answer never delivered', () => {
  test('goes to each next payment until delivered; then an identical one buys again', async () => {
    const { buy, ledger } = keptAnswerFixture()
    const first = await buy()
    const second = await buy()
    expect(plain(second)).toEqual(plain(first))
    expect(plain(await buy())).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
    await deliver(second)
    expect(await buy()).toMatchObject({ kind: 'paid', answer: { granted: 'resource 2' } })
    expect(ledger.settlements).toBe(2)
  })

  test('a crash between sending and marking favours the payer: the same answer once more, unsettled', async () => {
    const first = keptAnswerFixture()
    const { ledger, reservations } = first
    const sent = await first.buy()
    await first.gate.close()
    const second = keptAnswerFixture({ ledger, reservations })
    const again = await second.buy()
    expect(plain(again)).toEqual(plain(sent))
    await deliver(again)
    expect(ledger.settlements).toBe(1)
    expect(await isSettled(ledger, () => second.buy())).toBe(true)
  })

  test('a payment that was given an answer is never settled: sent again it gets the same answer, even after delivery', async () => {
    const { buy, ledger, send, terms } = keptAnswerFixture()
    const first = await buy()
    const header = await ledger.pay(terms)
    await deliver(await send(header))
    expect(plain(await send(header))).toEqual(plain(first))
    expect(await send(header, elsewhere)).toEqual({
      kind: 'challenged',
      error: 'payment_already_used',
    })
    expect(ledger.settlements).toBe(1)
  })

  test('the very same payment sent again keeps getting its stored answer, delivered or not', async () => {
    const { ledger, send, terms } = keptAnswerFixture()
    const header = await ledger.pay(terms)
    const first = await send(header)
    await deliver(first)
    expect(plain(await send(header))).toEqual(plain(first))
    expect(ledger.settlements).toBe(1)
  })

  test('an expired payment proves nothing about who sends it: it gets no answer and uses none up', async () => {
    const { buy, ledger, send, terms } = keptAnswerFixture()
    const old = await ledger.pay(terms)
    await ledger.clock.advanceMsSettled(240_000)
    const first = await buy()
    expect(await send(old)).toMatchObject({ kind: 'challenged', error: 'transaction_expired' })
    expect(plain(await buy())).toEqual(plain(first))
  })

  test('a job that does not keep its answer sells each payment again, and asks for no delivery', async () => {
    const { gate, job, ledger, terms } = gateFixture()
    for (const settlements of [1, 2]) {
      const header = await ledger.pay(terms)
      const outcome = await gate.pay({ paymentSignature: header }, terms, job())
      expect(outcome).toMatchObject({ kind: 'paid' })
      expect(outcome).not.toHaveProperty('delivered')
      expect(ledger.settlements).toBe(settlements)
    }
  })
})

test('X9: a kept job’s subject waits like any other’s', async () => {
  const { gate, ledger, send, terms } = keptAnswerFixture()
  ledger.fault = 'answer_lost'
  ledger.isMirrorDown = true
  const paying = send(await ledger.pay(terms), { subject: PAYER })
  await ledger.clock.advanceMsSettled(13_000)
  await paying
  expect(gate.isPending(PAYER)).toBe(true)
})

import { canonicalJson, leafHash } from '@tallystick/hashchain'
import { describe, expect, test } from 'vitest'
import { BEFORE, early, openLedger } from '../../testing/evidence.fixture.ts'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  OPEN_FEED,
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import { coverageAnswer } from '../markets/coverage.ts'
import { commitmentHash } from './committed-pick.ts'
import type { PickOpening } from './pick-opening.ts'

async function graderBeforeStart() {
  const fixture = await openLedger(OPEN_FEED, [BEFORE, { snapshots: [early] }])
  const finish = () =>
    fixture.store.ingest(
      sampleBatch([sampleObservation({ closes: [samplePrices()], outcomes: scored(2, 0) })]),
    )
  return { ...fixture, finish, committed: () => fixture.counted('committed') }
}

describe('G6: what is committed and counted', () => {
  test('a pick before the start counts once its event is settled, in its own table', async () => {
    const { pay, finish, committed, grader } = await graderBeforeStart()
    const card = await pay(samplePick({ odds: '2.2' }))
    expect(card).toMatchObject({
      outcome: 'UNGRADED',
      counted: { population: 'committed', seq: 1 },
    })
    expect(await committed()).toBe(0)
    await finish()
    expect(await committed()).toBe(1)
    expect(await grader.findCard(card.receipt ?? '')).toMatchObject({
      outcome: 'GRADED',
      grade: 'A',
      scoreboard: { status: 'won' },
      counted: { population: 'committed', seq: 1 },
      receipt: card.receipt,
    })
  })

  test('1,000 paid winners submitted after full time leave the tables unchanged', async () => {
    const { pay, finish, tables, clock, store } = await graderBeforeStart()
    await finish()
    clock.advanceMs(86_400_000 + 7_200_000)
    const [before, { size }] = [await tables(), await store.head()]
    for (let index = 0; index < 1_000; index += 1) {
      const card = await pay(samplePick({ odds: '2.2' }), { payer: `0x${index}` })
      expect(card.counted).toEqual({ population: null, why: 'received_after_start' })
      expect(card.outcome === 'GRADED' && card.flags).toContain('received_after_start')
    }
    expect(await tables()).toBe(before)
    expect((await store.head()).size).toBe(size)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('audits never commit: a thousand picks leave ledger and tables unchanged', async () => {
    const { grader, finish, tables, store } = await graderBeforeStart()
    const picks = Array.from({ length: 1_000 }, () => samplePick({ odds: '2.2' }))
    const { size } = await store.head()
    await grader.audit({ picks })
    expect((await store.head()).size).toBe(size)
    expect((await store.counts()).picks).toBe(0)
    await finish()
    const before = await tables()
    const audit = await grader.audit({ picks })
    expect(audit.coverage).toMatchObject({ picks: 1_000, graded: 1_000 })
    expect(await tables()).toBe(before)
  })

  test.each([
    {
      name: 'more than 1 % above the best recorded price',
      odds: '2.23',
      why: 'above_recorded_price',
      counts: 0,
    },
    { name: 'exactly 1 % above', odds: '2.222', why: undefined, counts: 1 },
    { name: 'at the recorded price', odds: '2.2', why: undefined, counts: 1 },
  ])('$name', async ({ odds, why, counts }) => {
    const { pay, finish, committed } = await graderBeforeStart()
    const { counted } = await pay(samplePick({ odds }))
    expect(counted.population === null ? counted.why : undefined).toBe(why)
    await finish()
    expect(await committed()).toBe(counts)
  })

  test('the best recorded price is among those standing at receipt: a price its book has replaced does not count', async () => {
    const { pay, store } = await graderBeforeStart()
    const lower = samplePrices({
      odds: { home: '2.0', draw: '3.5', away: '3.9' },
      capturedAtSeconds: START_SECONDS - 90_000,
    })
    await store.ingest(
      sampleBatch([sampleObservation({ snapshots: [lower] })], {
        receivedAtSeconds: START_SECONDS - 90_000,
      }),
    )
    const { counted } = await pay(samplePick({ odds: '2.2' }))
    expect(counted).toMatchObject({ why: 'above_recorded_price' })
  })

  test('a price that the ledger receives after the pick does not count, however early it was seen', async () => {
    const { store, grader, clock } = createGraderFixture()
    const receivedAtSeconds = clock.unixMs() / 1_000
    const pick = samplePick({ odds: '2.2' })
    const card = await grader.grade(pick)
    await store.ingest(
      sampleBatch([sampleObservation({ snapshots: [early] })], {
        receivedAtSeconds: receivedAtSeconds + 60,
      }),
    )
    const released = await grader.release({
      pick,
      card,
      payer: '0xPayer',
      paymentId: 'late',
      receivedAtSeconds,
    })
    expect(released.counted).toMatchObject({ why: 'no_recorded_price' })
  })

  test('a selection without a recorded price is committed but does not count', async () => {
    const { pay } = createGraderFixture()
    const { counted } = await pay(samplePick({ market: 'soccer/unknown.match/1x2/ft' }))
    expect(counted).toEqual({ population: null, why: 'no_recorded_price', seq: 0 })
  })

  test('once per payer, event and selection; another payer counts too', async () => {
    const { pay, finish, committed } = await graderBeforeStart()
    await pay(samplePick({ odds: '2.2' }), { payer: '0xA' })
    const repeated = await pay(samplePick({ odds: '2.1' }), { payer: '0xa' })
    expect(repeated.counted).toMatchObject({ population: null, why: 'repeated_selection' })
    await pay(samplePick({ odds: '2.2' }), { payer: '0xB' })
    await pay(samplePick({ odds: '3.4', selection: 'draw' }), { payer: '0xA' })
    await finish()
    expect(await committed()).toBe(3)
  })

  test('a pick leaves the table if its event turns out to have started before it came', async () => {
    const { pay, finish, committed, store, clock, grader } = await graderBeforeStart()
    const card = await pay(samplePick({ odds: '2.2' }))
    await finish()
    expect(await committed()).toBe(1)
    const event = sampleEvent({ startAtSeconds: clock.unixMs() / 1_000 - 60 })
    await store.ingest(sampleBatch([sampleObservation({ event })]))
    expect(await committed()).toBe(0)
    expect((await grader.findCard(card.receipt ?? ''))?.counted).toMatchObject({
      why: 'received_after_start',
    })
  })

  test('the same payment again is the same pick and receipt', async () => {
    const { pay, store } = await graderBeforeStart()
    const first = await pay(samplePick({ odds: '2.2' }), { paymentId: 'p' })
    const again = await pay(samplePick({ odds: '2.2' }), { paymentId: 'p' })
    expect(again).toEqual(first)
    expect((await store.counts()).picks).toBe(1)
  })
})

describe('G7: what is public', () => {
  test('a committed pick shows only its commitment until the start, and is opened afterwards', async () => {
    const { pay, grader, clock } = await graderBeforeStart()
    await pay(samplePick({ odds: '2.2' }))
    const hidden = await grader.publicEntry(1)
    expect(hidden?.opened).toBeUndefined()
    expect(JSON.stringify(hidden)).not.toContain('2.2')
    clock.advanceMs(86_400_000)
    const shown = await grader.publicEntry(1)
    expect(commitmentHash(shown?.opened as unknown as PickOpening)).toBe(
      shown?.entry?.['commitment'],
    )
    expect(JSON.stringify(shown)).not.toContain('0xPayer')
  })

  test('prices that may not be redistributed are not shown; keys, times, source and hashes are', async () => {
    const { store, grader } = createGraderFixture()
    const feed = { feed: 'football-data', isRedistributable: false, isSynthetic: false }
    await store.ingest(
      sampleBatch([sampleObservation({ snapshots: [early], closes: [samplePrices()] })], { feed }),
    )
    for (const seq of [0, 1]) {
      const entry = await grader.publicEntry(seq)
      expect(entry?.entry).toBeUndefined()
      expect(entry?.redacted).toMatchObject({
        feed: 'football-data',
        prices: [{ market: '1x2/ft', selections: ['away', 'draw', 'home'] }],
      })
      expect(JSON.stringify(entry?.redacted)).not.toMatch(/"odds"|2\.05|3\.55|2\.2"/)
    }
    expect(await grader.publicEntry(2)).toBeUndefined()
  })

  test('a hidden price cannot be found by trying prices against what is shown', async () => {
    const { store, grader } = createGraderFixture()
    const feed = { feed: 'the-odds-api', isRedistributable: false, isSynthetic: false }
    const book = samplePrices({ market: 'total/ft/2.5', odds: { over: '1.9', under: '2' } })
    const batch = sampleBatch([sampleObservation({ closes: [book] })], { feed })
    await store.ingest(batch)
    const entry = await grader.publicEntry(0)
    const shown = JSON.stringify(entry)
    expect(shown).not.toContain(batch.rawSha256)
    // Even a correct guess of both prices, with the bytes known, cannot be confirmed.
    const whole = { ...entry?.redacted, rawSha256: batch.rawSha256, prices: [book] }
    const leaf = leafHash(Buffer.from(canonicalJson(whole)))
    expect(Buffer.from(leaf).toString('hex')).not.toBe(entry?.hash)
    const stored = (await store.entry(0))?.entry
    const salt = (stored?.type === 'close' ? stored.salt : undefined) ?? ''
    expect(salt).toMatch(/^[0-9a-f]{64}$/)
    expect(shown).not.toContain(salt)
    const opened = leafHash(Buffer.from(canonicalJson({ ...whole, salt })))
    expect(Buffer.from(opened).toString('hex')).toBe(entry?.hash)
  })

  test('coverage says final, pending or none, never a price', async () => {
    const { store } = createGraderFixture()
    await store.ingest(sampleBatch([sampleObservation({ snapshots: [early] })]))
    const key = 'soccer/epl.20260601.ars-che/1x2/ft'
    expect((await coverageAnswer(store, { kind: 'key', market: key })).close).toBe('pending')
    await store.ingest(sampleBatch([sampleObservation({ closes: [samplePrices()] })]))
    const answer = await coverageAnswer(store, {
      kind: 'search',
      text: 'Arsenal v Chelsea',
      sport: 'soccer',
      daySeconds: START_SECONDS - 18 * 3_600,
    })
    expect(answer).toMatchObject({
      close: 'final',
      candidates: [{ markets: [{ market: key, close: 'final' }] }],
    })
    expect(JSON.stringify(answer)).not.toMatch(/2\.05|3\.55|2\.2\b/)
    expect((await coverageAnswer(store, { kind: 'key', market: 'soccer/none/1x2/ft' })).close).toBe(
      'none',
    )
  })
})

/** Attacks on the evidence: what is tried, and that it changes nothing. Here: to have another close, or another time, count. */
import { describe, expect, test } from 'vitest'
import { AFTER, BEFORE, early, HIDDEN, openLedger, UPLOAD } from '../../testing/evidence.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import { calibrationAnswer } from '../calibration/calibration.ts'

const DAY = 86_400

describe('G15: closes', () => {
  const bent = samplePrices({ odds: { home: '1.5', draw: '4.5', away: '7' } })

  test('attack: an upload under a feed’s book name, and later, is graded against instead of the feed', async () => {
    const { grader, store } = await openLedger(HIDDEN, [AFTER, { closes: [samplePrices()] }])
    const upload = sampleBatch([sampleObservation({ closes: [bent] })], { feed: UPLOAD })
    await store.ingest({ ...upload, receivedAtSeconds: AFTER + 60 })
    const card = await grader.grade(samplePick())
    expect(card).toMatchObject({
      outcome: 'GRADED',
      close: { odds: 2.05, source: { feed: 'the-odds-api', book: 'pinnacle' } },
      flags: ['closes_disagree'],
    })
    const named = await grader.grade(samplePick({ options: { reference: 'pinnacle' } }))
    expect(named).toMatchObject({ close: { source: { feed: 'the-odds-api' } } })
  })

  test('attack: an upload of a sharper book’s name outranks a feed that lacks that book', async () => {
    const { grader, store } = await openLedger(HIDDEN, [
      AFTER,
      { closes: [samplePrices({ book: 'unibet' })] },
    ])
    await store.ingest(sampleBatch([sampleObservation({ closes: [bent] })], { feed: UPLOAD }))
    expect(await grader.grade(samplePick())).toMatchObject({
      close: { source: { book: 'unibet' } },
    })
  })

  test('an upload alone is graded against, and its early prices have a scope of their own', async () => {
    const { grader, store } = await openLedger(UPLOAD, [
      AFTER,
      { snapshots: [early], closes: [samplePrices()], outcomes: scored(1, 0) },
    ])
    expect(await grader.grade(samplePick())).toMatchObject({ outcome: 'GRADED' })
    const { scopes } = await calibrationAnswer(store, {})
    expect(scopes).toEqual(['all', 'soccer/1x2', 'soccer/1x2/manual:pinnacle'])
  })
})

describe('G15: times', () => {
  const settled = { closes: [samplePrices()], outcomes: scored(1, 0) }

  test('attack: early prices are recorded after the result, so that the table says what one likes', async () => {
    const { counted, store, tables } = await openLedger(
      UPLOAD,
      [BEFORE, { snapshots: [early] }],
      [AFTER, settled],
    )
    const [before, { size }] = [await tables(), await store.head()]
    expect(await counted('mechanical')).toBe(3)
    const winner = samplePrices({ odds: { home: '9', draw: '9', away: '9' } })
    const late = [
      { ...winner, capturedAtSeconds: START_SECONDS - 90_000 },
      { ...winner, book: 'another', capturedAtSeconds: START_SECONDS - 90_000 },
    ]
    const outcome = await store.ingest(
      sampleBatch([sampleObservation({ snapshots: late })], { feed: UPLOAD }),
    )
    expect(outcome).toMatchObject({ snapshots: 0, declined: [{ reason: 'after_result' }] })
    expect(await tables()).toBe(before)
    expect((await store.head()).size).toBe(size)
  })

  test('attack: a price without a time is "corrected" after the result, so that a loss leaves the table', async () => {
    const timeless = { market: '1x2/ft', book: 'pinnacle', odds: early.odds }
    const { store, tables } = await openLedger(
      HIDDEN,
      [BEFORE, { snapshots: [timeless] }],
      [AFTER, settled],
    )
    const before = await tables()
    const corrected = { ...timeless, odds: { home: '2.6' } }
    await store.ingest(
      sampleBatch([sampleObservation({ snapshots: [corrected] })], { feed: HIDDEN }),
    )
    expect(await tables()).toBe(before)
  })

  test('attack: the result is withdrawn, prices are recorded, and it is given again', async () => {
    const { counted, store } = await openLedger(
      UPLOAD,
      [AFTER, settled],
      [AFTER + 1, { outcomes: [{ period: 'ft', status: 'withdrawn' }] }],
      [AFTER + 2, { snapshots: [early] }],
      [AFTER + 3, settled],
    )
    expect(await counted('mechanical')).toBe(0)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('attack: a price recorded after the result passes for seen', async () => {
    const { grader } = await openLedger(
      UPLOAD,
      [AFTER, settled],
      [AFTER + 1, { snapshots: [samplePrices({ ...early, odds: { home: '9' } })] }],
    )
    expect(await grader.grade(samplePick({ odds: '8' }))).toMatchObject({ price_seen: false })
  })

  test('attack: the start is moved later, so that a pick of the second half counts', async () => {
    const { clock, counted, grader, pay, store } = await openLedger(HIDDEN, [
      BEFORE,
      { snapshots: [early] },
    ])
    clock.advanceMs((DAY + 3_600) * 1_000)
    const moved = sampleEvent({ startAtSeconds: START_SECONDS + 3 * DAY })
    const now = clock.unixMs() / 1_000
    await store.ingest(
      sampleBatch([sampleObservation({ event: moved })], { feed: UPLOAD, receivedAtSeconds: now }),
    )
    const card = await pay(samplePick({ odds: '2.2' }))
    expect(card.counted).toEqual({ population: null, why: 'received_after_start' })
    await store.ingest(
      sampleBatch([sampleObservation({ event: moved, ...settled })], {
        feed: HIDDEN,
        receivedAtSeconds: START_SECONDS + 4 * DAY,
      }),
    )
    expect(await counted('committed')).toBe(0)
    expect((await grader.findCard(card.receipt ?? ''))?.counted.population).toBeNull()
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('attack: the start is moved later after the match, so that prices of the second half count as early', async () => {
    const inPlay = samplePrices({ odds: { home: '1.2' }, capturedAtSeconds: START_SECONDS + 4_000 })
    const moved = sampleEvent({ startAtSeconds: START_SECONDS + DAY })
    const { counted } = await openLedger(
      UPLOAD,
      [BEFORE, {}],
      [BEFORE + 1, { snapshots: [early] }],
      [START_SECONDS + 5_000, { event: moved, snapshots: [inPlay] }],
      [START_SECONDS + 2 * DAY, { event: moved, ...settled }],
    )
    expect(await counted('mechanical')).toBe(3)
  })

  test('attack: a result is given before the start', async () => {
    const { grader, store } = await openLedger(HIDDEN, [BEFORE, { snapshots: [early] }])
    const outcome = await store.ingest(
      sampleBatch([sampleObservation({ outcomes: scored(1, 0) })], {
        feed: UPLOAD,
        receivedAtSeconds: START_SECONDS - 1,
      }),
    )
    expect(outcome).toMatchObject({ outcomes: 0, declined: [{ reason: 'result_before_start' }] })
    expect(await grader.grade(samplePick())).toMatchObject({ scoreboard: { status: 'pending' } })
    // Nor with a start that is moved earlier in the same breath.
    const event = sampleEvent({ startAtSeconds: START_SECONDS - DAY })
    const again = await store.ingest(
      sampleBatch([sampleObservation({ event, outcomes: scored(1, 0) })], {
        feed: UPLOAD,
        receivedAtSeconds: START_SECONDS - 1,
      }),
    )
    expect(again).toMatchObject({ outcomes: 0, declined: [{ reason: 'result_before_start' }] })
  })

  test('a match that is called off before its start is void at once', async () => {
    const { store } = await openLedger(HIDDEN, [
      BEFORE,
      { outcomes: [{ period: 'ft', status: 'void' }] },
    ])
    const [state] = await store.events([sampleEvent().path])
    expect(state?.outcomes).toMatchObject([{ status: 'void' }])
  })
})

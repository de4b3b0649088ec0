/** One event with very many picks or prices: what is looked at is counted, since a time says little on a busy machine. */
import { expect, test } from 'vitest'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
} from '../../testing/samples.fixture.ts'
import { TruthTally } from '../calibration/truth-tally.ts'
import { advanceEvent } from './advance-event.ts'
import { createCountedPicks } from './committed-pick.ts'
import type { EventState } from './event-state.ts'
import type { CommittedPick } from './pick-opening.ts'
import type { PriceRecord } from './price-log.ts'
import { PriceLog } from './price-log.ts'
import { bestRecorded, seenPrices } from './recorded-prices.ts'

const start = { startAtSeconds: START_SECONDS, startPrecision: 'second' } as const

const opening = {
  market: 'soccer/epl.20260601.ars-che/1x2/ft',
  selection: 'home',
  odds: '2.1',
  receivedAtSeconds: START_SECONDS - 60,
  bestRecorded: '2.1',
  payerTag: 'another',
  salt: '',
}

/** 30,000 picks of 10,000 payers, three times the same selection each. */
const PICKS: readonly CommittedPick[] = Array.from({ length: 30_000 }, (_, seq) => ({
  seq,
  opening: { ...opening, payerTag: `payer ${seq % 10_000}` },
}))

test('a card of an event with 30,000 picks is read by looking at the new ones alone', async () => {
  const picks = [...PICKS]
  let looked = 0
  const index = createCountedPicks({
    readEventPicks: async (_path, afterSeq = -1) => {
      const found = picks.slice(afterSeq + 1)
      looked += found.length
      return found
    },
  })
  const isCounted = (seq: number) => {
    const pick = picks[seq]
    if (pick === undefined) throw new Error(`there is no pick ${seq}`)
    return index.isCounted('path', start, pick)
  }
  expect(await isCounted(5)).toBe(true)
  expect(looked).toBe(30_000)
  for (let seq = 0; seq < 30_000; seq += 997) expect(await isCounted(seq)).toBe(seq < 10_000)
  expect(looked).toBe(30_000)
  picks.push({ seq: 30_000, opening })
  expect(await isCounted(30_000)).toBe(true)
  expect(looked).toBe(30_001)
  // An earlier start makes every pick late.
  const earlier = { ...start, startAtSeconds: START_SECONDS - 3_600 }
  expect(await index.isCounted('path', earlier, PICKS[0] ?? { seq: 0, opening })).toBe(false)
})

test('which pick counts is the same as by the rule over all of them', async () => {
  const { store, pay } = createGraderFixture()
  await store.ingest(
    sampleBatch(
      [
        sampleObservation({
          snapshots: [samplePrices({ odds: { home: '2.2' }, capturedAtSeconds: 1 })],
        }),
      ],
      { receivedAtSeconds: 1 },
    ),
  )
  const cards = []
  for (const payer of ['a', 'b', 'a', 'b', 'c']) cards.push(await pay(samplePick(), { payer }))
  expect(cards.map(({ counted }) => counted.population)).toEqual([
    'committed',
    'committed',
    null,
    null,
    'committed',
  ])
})

/** Prices that say when they are looked at. */
function countedRecords(count: number) {
  let looked = 0
  const makeRecord = (at: number): PriceRecord => {
    const record = {
      feed: 'feed',
      isRedistributable: true,
      isSynthetic: false,
      market: '1x2/ft',
      type: '1x2' as const,
      period: 'ft',
      family: '1x2/ft',
      isComplete: true,
      capturedAtSeconds: at * 60,
      recordedAtSeconds: at * 60,
      record: { seq: at, hash: '' },
    }
    return {
      ...record,
      book: `book ${at % 10}`,
      get odds() {
        looked += 1
        return { home: 2 + (at % 7) / 10, draw: 3, away: 4 }
      },
    }
  }
  return {
    records: Array.from({ length: count }, (_, at) => makeRecord(at)),
    /** What was looked at since the last time. */
    take: () => {
      const taken = looked
      looked = 0
      return taken
    },
  }
}

test('a polled event with 36,000 prices: a round looks at its new prices, a read at one price of each book', () => {
  const { records, take } = countedRecords(36_000)
  const state: EventState = {
    info: sampleEvent(),
    earliestStart: start,
    hadResult: false,
    feeds: {},
    closes: [],
    outcomes: [],
    snapshots: PriceLog.fromRecords(records),
  }
  // The first look makes the index.
  state.snapshots.last({ feed: 'feed', market: '1x2/ft', book: 'book 1' })
  take()
  const prices = Array.from({ length: 10 }, (_, book) =>
    samplePrices({
      book: `book ${book}`,
      odds: { home: '9', draw: '3', away: '4' },
      capturedAtSeconds: 36_000 * 60,
    }),
  )
  const round = (from: EventState) =>
    advanceEvent({
      state: from,
      picks: () => [],
      observation: sampleObservation({ snapshots: prices }),
      batch: {
        feed: { feed: 'feed', isRedistributable: true, isSynthetic: false },
        receivedAtSeconds: 36_000 * 60,
        rawSha256: '',
      },
      tally: new TruthTally(),
      append: () => ({ seq: 36_000, hash: '' }),
    })
  const next = round(state).state
  expect(next?.snapshots.length).toBe(36_010)
  expect(take()).toBeLessThanOrEqual(4 * prices.length)
  if (next === undefined) throw new Error('nothing was new')
  expect(round(next).state).toBeUndefined()
  const at = { market: '1x2/ft', selection: 'home', atSeconds: 36_001 * 60 }
  take()
  expect(bestRecorded(next, at)?.odds).toBe(9)
  expect(seenPrices(next, at)(9, 36_001 * 60)).toBe(true)
  expect(seenPrices(next, at)(9, 35_000 * 60)).toBe(false)
  expect(seenPrices(next, at)(9, undefined)).toBe(true)
  expect([...next.snapshots.markets]).toEqual(['1x2/ft'])
  expect(take()).toBeLessThanOrEqual(6 * prices.length)
})

/** What whoever sends price after price to the free look learns of prices that may not be shown. */
import { describe, expect, test } from 'vitest'
import { BEFORE, HIDDEN, UPLOAD } from '../../testing/evidence.fixture.ts'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
} from '../../testing/samples.fixture.ts'
import { type AskedPick, DEFAULT_GRADE_OPTIONS, type PickRequest } from '../markets/pick-request.ts'

const OPEN = { ...UPLOAD, feed: 'open', isRedistributable: true }
const CLOSE = 2.05

const event = (at: number) =>
  sampleEvent({ path: `soccer/epl.20260601.t${at}-che`, home: `Team ${at}`, away: 'Chelsea' })
const makeMarket = (at: number) => `${event(at).path}/1x2/ft`
const HIDDEN_EVENTS = [0, 1, 2, 3]
/** Partners of a parlay at other open prices. */
const OPEN_EVENTS = [10, 11, 12, 13, 14, 15]
const openPrice = (at: number) => Number((1.5 + (at - 10) * 0.17).toFixed(2))

async function ledger() {
  const { grader, store } = createGraderFixture()
  for (const at of [...HIDDEN_EVENTS, ...OPEN_EVENTS]) {
    const isOpen = OPEN_EVENTS.includes(at)
    const odds = { home: String(isOpen ? openPrice(at) : CLOSE), draw: '3.5', away: '3.9' }
    const seen = sampleObservation({ event: event(at), closes: [samplePrices({ odds })] })
    const batch = { feed: isOpen ? OPEN : HIDDEN, receivedAtSeconds: BEFORE }
    await store.ingest(sampleBatch([seen], batch))
  }
  return grader
}

const on = (at: number, odds: number): PickRequest =>
  samplePick({ market: makeMarket(at), selection: 'home', odds: odds.toFixed(6) })

const parlay = (odds: number, ...legs: readonly PickRequest[]): AskedPick => ({
  kind: 'parlay',
  legs,
  odds: samplePick({ odds: odds.toFixed(6) }).odds,
  options: DEFAULT_GRADE_OPTIONS,
})

/** The price between a near and a far one at which the look begins to ask. */
async function limitBetween(
  grader: Awaited<ReturnType<typeof ledger>>,
  [near, far]: readonly [number, number],
  at: (odds: number) => AskedPick,
): Promise<number> {
  let [quiet, requested] = [near, far]
  for (let halving = 0; halving < 24; halving += 1) {
    const middle = (quiet + requested) / 2
    const [priced] = await grader.preview([at(middle)])
    if (priced === undefined) throw new Error('no card')
    if (await grader.asksPrice(priced)) requested = middle
    else quiet = middle
  }
  return requested
}

describe('G14, G21: no search for where the look begins to ask gives a hidden price away', async () => {
  const grader = await ledger()
  const above = (at: number) => limitBetween(grader, [CLOSE, 9], (odds) => on(at, odds))
  const below = (at: number) => limitBetween(grader, [CLOSE, 1.05], (odds) => on(at, odds))

  test('the limits above and below a price do not have it in their middle', async () => {
    const away: number[] = []
    for (const at of HIDDEN_EVENTS) {
      const [high, low] = [await above(at), await below(at)]
      expect(high).toBeLessThanOrEqual(CLOSE * 1.5 + 0.001)
      expect(low).toBeGreaterThanOrEqual(CLOSE / 1.5 - 0.001)
      away.push(Math.abs(Math.sqrt(high * low) / CLOSE - 1))
    }
    // The limits are drawn: one pair of them may lie so by chance.
    expect(Math.max(...away)).toBeGreaterThan(0.001)
  })

  test('parlays with other matches say no more of it than its own limit', async () => {
    const high = await above(0)
    for (const at of OPEN_EVENTS) {
      const price = openPrice(at)
      const limit = await limitBetween(grader, [CLOSE * price, 60], (odds) =>
        parlay(odds, on(0, CLOSE), on(at, price)),
      )
      expect(limit / price).toBeCloseTo(high, 3)
    }
  })

  test('two hidden prices in one parlay say no more than their own limits', async () => {
    const [left, right] = [await above(0), await above(1)]
    const limit = await limitBetween(grader, [CLOSE, 60], (odds) =>
      parlay(odds, on(0, CLOSE), on(1, CLOSE)),
    )
    expect(limit).toBeCloseTo((left * right) / 1.5, 3)
  })
})

/** Attacks on the evidence: what is tried, and that it changes nothing. Here: to make a record look better than its bets. */
import { describe, expect, test } from 'vitest'
import { AFTER, BEFORE, early, HIDDEN, openLedger } from '../../testing/evidence.fixture.ts'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'

const placed = (odds: string, placedAtSeconds?: number) =>
  samplePick({ odds, ...(placedAtSeconds === undefined ? {} : { placedAtSeconds }) })

/** A time so many minutes into the day before. */
const placedAt = (minute: number) => START_SECONDS - 90_000 + minute * 60

/** Ten settled matches with a recorded early price of 2.2 at home. */
async function tenMatches() {
  const fixture = createGraderFixture()
  const markets = Array.from({ length: 10 }, (_none, index) => `soccer/match-${index}`)
  for (const path of markets)
    await fixture.store.ingest(
      sampleBatch([
        sampleObservation({
          event: sampleEvent({ path }),
          snapshots: [early],
          closes: [samplePrices()],
          outcomes: scored(1, 0),
        }),
      ]),
    )
  return { ...fixture, markets: markets.map((path) => `${path}/1x2/ft`) }
}

describe('G16: prices taken', () => {
  test('price_seen says whether such a price stood when the bet was placed', async () => {
    const shorter = samplePrices({
      odds: { home: '1.9', draw: '3.5', away: '3.9' },
      capturedAtSeconds: START_SECONDS - 50_000,
    })
    const { grader } = await openLedger(
      HIDDEN,
      [BEFORE, { snapshots: [early] }],
      [START_SECONDS - 50_000, { snapshots: [shorter] }],
      [AFTER, { closes: [samplePrices()] }],
    )
    const seen = async (odds: string, at?: number) =>
      (await grader.grade(placed(odds, at))).price_seen
    expect(await seen('2.2', START_SECONDS - 90_000)).toBe(true)
    expect(await seen('2.22', START_SECONDS - 90_000)).toBe(true)
    expect(await seen('2.23', START_SECONDS - 90_000)).toBe(false)
    // Before the first price, and after it had gone.
    expect(await seen('2', START_SECONDS - 100_001)).toBe(false)
    expect(await seen('2.2', START_SECONDS - 40_000)).toBe(false)
    expect(await seen('1.9', START_SECONDS - 40_000)).toBe(true)
    expect(await seen('2.05', START_SECONDS - 299)).toBe(true)
    // Without a time any will do.
    expect(await seen('2.2')).toBe(true)
    expect(await seen('2.3')).toBe(false)
    expect(await grader.grade(samplePick({ market: 'soccer/none/1x2/ft' }))).toMatchObject({
      outcome: 'UNGRADED',
      price_seen: false,
    })
  })

  test('attack: a tipster makes his prices up; the audit says so in its first line', async () => {
    const { grader, markets } = await tenMatches()
    const auditAt = (made: number) =>
      grader.audit({
        picks: markets.map((market, index) =>
          samplePick({ market, odds: index < made ? '3' : '2.2' }),
        ),
      })
    const bent = await auditAt(6)
    expect(bent.sharp_score).toMatchObject({ price_seen: 4, inputs: { n: 10 } })
    expect(bent.verdict).toMatch(/^The ledger has a record of only 4 of the 10 prices taken/)
    const even = await auditAt(5)
    expect(even.sharp_score?.price_seen).toBe(5)
    expect(even.verdict).not.toMatch(/record of only/)
  })

  test('attack: one pick in many notations, by key and by names, passes for many', async () => {
    const { grader, markets } = await tenMatches()
    const [market = ''] = markets
    const notations = ['1.91', '-110', '10/11', '1.909', '10-11', '52.4¢']
    const picks = [
      ...notations.map((odds) => samplePick({ market, odds })),
      samplePick({ market, selection: '1', odds: '1.91' }),
      samplePick({ market, odds: '1.91', placedAtSeconds: START_SECONDS - 500 }),
    ]
    const once = await grader.audit({ picks: picks.slice(0, 1) })
    const many = await grader.audit({ picks })
    expect(many.coverage).toMatchObject({ picks: 8, duplicates: [1, 2, 3, 4, 5, 6, 7] })
    expect(many.record).toEqual(once.record)
    expect(many.raw_roi).toEqual(once.raw_roi)
    expect(many.sharp_score).toEqual(once.sharp_score)
  })

  test('two bets at one price at different times are two, and still one event', async () => {
    const { grader, markets } = await tenMatches()
    const [market = ''] = markets
    const picks = [9_000, 8_000].map((before) =>
      samplePick({ market, odds: '2.2', placedAtSeconds: START_SECONDS - before }),
    )
    const audit = await grader.audit({ picks })
    expect(audit.coverage.duplicates).toEqual([])
    expect(audit.raw_roi).toMatchObject({ staked: 2, events: 1, ci95: null })
    expect(audit.sharp_score?.inputs).toMatchObject({ n: 2, observations: 1 })
  })

  test('attack: a tipster picks the reference, the method or the basis that flatters him', async () => {
    const { grader, markets, store } = await tenMatches()
    const soft = samplePrices({ book: 'soft', odds: { home: '1.6', draw: '4', away: '6' } })
    for (const market of markets) {
      const event = sampleEvent({ path: market.slice(0, -'/1x2/ft'.length) })
      await store.ingest(sampleBatch([sampleObservation({ event, closes: [soft] })]))
    }
    const auditBy = (options: NonNullable<Parameters<typeof samplePick>[0]>['options']) =>
      grader.audit({
        picks: markets.map((market) =>
          samplePick({ market, odds: '2.0', ...(options === undefined ? {} : { options }) }),
        ),
      })
    const plain = await auditBy({})
    expect(plain.second_score).toBeNull()
    for (const [options, words] of [
      [{ reference: 'soft' }, 'against the close of soft'],
      [{ method: 'multiplicative' as const }, 'margin removed by multiplicative'],
      [{ basis: 'price' as const }, 'closing prices with their margin'],
    ] as const) {
      const audit = await auditBy(options)
      expect(audit.sharp_score).toBeNull()
      expect(audit.second_score?.label).toContain(words)
      expect(audit.verdict).toContain('no Sharp Score')
    }
    expect((await auditBy({ reference: 'soft' })).second_score?.value).toBeGreaterThan(
      plain.sharp_score?.value ?? 100,
    )
    expect((await auditBy({ basis: 'fair' })).sharp_score).toEqual(plain.sharp_score)
  })

  test('attack: a thousand picks on one match pass for a thousand observations', async () => {
    const { grader, markets } = await tenMatches()
    const [market = ''] = markets
    const picks = Array.from({ length: 1_000 }, (_none, minute) =>
      samplePick({ market, odds: '2.2', placedAtSeconds: placedAt(minute) }),
    )
    const [each, many] = [
      await grader.audit({ picks: picks.slice(0, 1) }),
      await grader.audit({ picks }),
    ]
    expect(many.coverage.duplicates).toEqual([])
    expect(many.sharp_score?.value).toBeCloseTo(each.sharp_score?.value ?? 0, 9)
    expect(many.sharp_score?.inputs.observations).toBe(1)
    expect(many.raw_roi.p_value).toBeCloseTo(each.raw_roi.p_value ?? 0, 12)
    expect(many.summary.beat_close.ci95).toEqual(each.summary.beat_close.ci95)
    expect(many.raw_roi.ci95).toBeNull()
  })
})

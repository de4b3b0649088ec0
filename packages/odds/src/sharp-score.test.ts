import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import statistics from '../vectors/statistics.json' with { type: 'json' }
import { type ScoredPick, sharpScore } from './sharp-score.ts'

const scored = (picks: readonly ScoredPick[]) => {
  const score = sharpScore(picks)
  if (score.kind !== 'scored') throw new Error('insufficient')
  return score
}
const same = (count: number, pick: ScoredPick): readonly ScoredPick[] =>
  Array.from({ length: count }, () => pick)

const anyPick = fc.record(
  {
    clv: fc.double({ min: -0.4, max: 0.4, noNaN: true }),
    odds: fc.double({ min: 1.2, max: 20, noNaN: true }),
    returnUnits: fc.double({ min: -1, max: 19, noNaN: true }),
  },
  { requiredKeys: ['clv', 'odds'] },
)
const anyPicks = fc.array(anyPick, { minLength: 1, maxLength: 60 })

describe('sharpScore', () => {
  test.for(golden.sharp)('golden: $name', (vector) => {
    const picks = vector.clv.map((clv, index) => ({
      clv: Number(clv),
      odds: Number(vector.odds[index]),
      returnUnits: Number(vector.returns[index]),
    }))
    const score = scored(picks)
    expect(score.picks).toBe(vector.n)
    expect(score.meanClv).toBeCloseTo(Number(vector.mean_clv), 12)
    expect(score.edge).toBeCloseTo(Number(vector.edge), 12)
    expect(score.deviation).toBeCloseTo(Number(vector.sd), 10)
    expect(score.chanceOfEdge).toBeCloseTo(Number(vector.p_edge_positive), 8)
    expect(score.score).toBeCloseTo(Number(vector.sharp_score), 8)
  })

  test.for(statistics.sharp)('golden, clustered by event: $name', (vector) => {
    const picks = Array.from({ length: vector.copies }, () => vector.picks as ScoredPick[]).flat()
    const found = scored(picks)
    for (const name of [
      'score',
      'edge',
      'deviation',
      'chanceOfEdge',
      'observations',
      'clvVariance',
    ] as const)
      expect(found[name]).toBeCloseTo(vector[name], 9)
    expect(found.interval.low).toBeCloseTo(vector.low, 9)
    expect(found.interval.high).toBeCloseTo(vector.high, 9)
  })

  test('G17: a pick repeated on its event scores as once, however often', () => {
    const pick = { clv: 0.1, odds: 2, event: 'one match' }
    const { edge, score, deviation } = scored([pick])
    const many = scored(same(1_000, pick))
    expect(many.score).toBeCloseTo(score, 9)
    expect(many.edge).toBeCloseTo(edge, 12)
    expect(many.deviation).toBeCloseTo(deviation, 12)
    expect(scored(same(1_000, { clv: 0.1, odds: 2 })).score).toBeGreaterThan(95)
  })

  test('without a graded pick there is no score', () => {
    expect(sharpScore([])).toEqual({ kind: 'insufficient' })
  })

  test('lies within 0–100, its edge inside its interval, whatever the picks', () => {
    fc.assert(
      fc.property(anyPicks, (picks) => {
        const { score, edge, interval, chanceOfEdge } = scored(picks)
        expect(score).toBeGreaterThanOrEqual(0)
        expect(score).toBeLessThanOrEqual(100)
        expect(interval.low).toBeLessThan(edge)
        expect(interval.high).toBeGreaterThan(edge)
        expect(chanceOfEdge > 0.5).toBe(edge > 0)
      }),
    )
  })

  test('the order of picks does not matter', () => {
    fc.assert(
      fc.property(anyPicks, (picks) => {
        expect(scored(picks.toReversed()).score).toBeCloseTo(scored(picks).score, 9)
      }),
    )
  })

  test('better prices throughout score higher', () => {
    fc.assert(
      fc.property(anyPicks, fc.double({ min: 0.001, max: 0.1, noNaN: true }), (picks, better) => {
        const raised = picks.map((pick) => ({ ...pick, clv: pick.clv + better }))
        expect(scored(raised).edge).toBeGreaterThan(scored(picks).edge)
      }),
    )
  })

  test('better results at the same prices score slightly higher', () => {
    const lost = same(100, { clv: 0.02, odds: 2, returnUnits: -0.2 })
    const won = same(100, { clv: 0.02, odds: 2, returnUnits: 0.2 })
    const gained = scored(won).edge - scored(lost).edge
    expect(gained).toBeGreaterThan(0)
    expect(gained).toBeLessThan(0.01)
  })

  test('with many picks and no result the edge is the mean closing-line value', () => {
    expect(scored(same(10_000, { clv: 0.031, odds: 2 })).edge).toBeCloseTo(0.031, 6)
  })

  test('one mistyped price counts as 50 %', () => {
    const picks = same(9, { clv: 0, odds: 2 })
    expect(scored([...picks, { clv: 40, odds: 100 }])).toEqual(
      scored([...picks, { clv: 0.5, odds: 100 }]),
    )
  })

  test('a pick without a result counts by its price alone', () => {
    const score = scored([
      { clv: 0.1, odds: 2 },
      { clv: 0.02, odds: 3, returnUnits: 2 },
    ])
    expect(score).toMatchObject({ picks: 2, settled: 1 })
    expect(score.meanClv).toBeCloseTo(0.06, 14)
    expect(score.resultWeight).toBeCloseTo(0.015 ** 2 / (0.015 ** 2 + 2), 14)
  })

  test('NaN values are a bug in the caller, not a score', () => {
    for (const flaw of [{ clv: Number.NaN }, { odds: Number.NaN }, { returnUnits: Number.NaN }])
      expect(() => sharpScore([{ clv: 0, odds: 2, returnUnits: 1, ...flaw }])).toThrow(RangeError)
  })

  // Equal values at odds of 2.0 and 2.1: the study's own list of scores.
  test.for([
    { count: 100, odds: 2, clv: 0.03, returnUnits: 0, score: 76.802 },
    { count: 1000, odds: 2.1, clv: -0.01, returnUnits: 0.05, score: 50.188 },
  ])('$count picks at $clv returning $returnUnits score $score', ({ count, score, ...pick }) => {
    expect(scored(same(count, pick)).score).toBeCloseTo(score, 3)
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import { edgeAndLuck } from './edge-and-luck.ts'

describe('edgeAndLuck', () => {
  test('five picks, three won: +12.0 % is -3.9 % of edge and +15.9 % of luck per pick', () => {
    const slate = golden.sharp[0]
    const picks = (slate?.clv ?? []).map((clv, index) => ({
      clv: Number(clv),
      odds: Number(slate?.odds[index]),
      returnUnits: Number(slate?.returns[index]),
    }))
    const split = edgeAndLuck(picks)
    expect(split.profit / 5).toBeCloseTo(0.12, 12)
    expect(split.edge / 5).toBeCloseTo(-0.03862, 12)
    expect(split.luck / 5).toBeCloseTo(0.15862, 12)
    expect(split.profitDeviations).toBeCloseTo(0.6 / Math.sqrt(0.42 + 0.9 + 1.3 + 0.88 + 0.95), 12)
    expect(split.profitPValue).toBeCloseTo(0.388, 3)
  })

  test('luck of one fair bet at even money is one standard deviation either way', () => {
    expect(edgeAndLuck([{ clv: 0, odds: 2, returnUnits: 1 }])).toMatchObject({
      luckDeviations: 1,
      profitDeviations: 1,
    })
    expect(edgeAndLuck([{ clv: 0, odds: 2, returnUnits: -1 }]).luckDeviations).toBe(-1)
  })

  test('a push is neither edge nor luck, and half a result is half of both', () => {
    const push = { clv: 0.05, odds: 2, returnUnits: 0, stood: 0 }
    expect(edgeAndLuck([push])).toMatchObject({ profit: 0, edge: 0, luck: 0, luckDeviations: 0 })
    const half = edgeAndLuck([{ clv: 0.1, odds: 2, returnUnits: 0.5, stood: 0.5 }])
    const whole = edgeAndLuck([{ clv: 0.1, odds: 2, returnUnits: 1 }])
    expect(half.edge).toBeCloseTo(whole.edge / 2, 14)
    expect(half.luckDeviations).toBeCloseTo(whole.luckDeviations, 12)
  })

  test('both sides of a market at fair prices leave nothing to luck', () => {
    const side = { clv: 0, odds: 2, event: 'a', market: 'm' }
    const both = edgeAndLuck([
      { ...side, selection: 'home', returnUnits: 1 },
      { ...side, selection: 'away', returnUnits: -1 },
    ])
    expect(both).toMatchObject({ luck: 0, luckDeviations: 0, profitPValue: 0.5 })
  })

  test('edge and luck sum to the profit', () => {
    const pick = fc.record({
      clv: fc.double({ min: -0.9, max: 1, noNaN: true }),
      odds: fc.double({ min: 1.01, max: 50, noNaN: true }),
      returnUnits: fc.double({ min: -1, max: 49, noNaN: true }),
    })
    fc.assert(
      fc.property(fc.array(pick), (picks) => {
        const { profit, edge, luck, profitPValue } = edgeAndLuck(picks)
        expect(edge + luck).toBeCloseTo(profit, 9)
        expect(profitPValue >= 0 && profitPValue <= 1).toBe(true)
      }),
    )
  })

  test('no picks mean no profit, no edge and no luck', () => {
    expect(edgeAndLuck([])).toEqual({
      profit: 0,
      edge: 0,
      luck: 0,
      luckDeviations: 0,
      profitDeviations: 0,
      profitPValue: 0.5,
    })
  })
})

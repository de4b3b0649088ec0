import { array, assert, double, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { roundTicks, spreadLabels, straightScale } from './plot-scale.ts'

const fraction = double({ min: -2, max: 2, noNaN: true })

/** Ends may miss the range by a billionth of a step, and the widest step is 5. */
const SLACK = 1e-8

describe('ticks', () => {
  it('enclose the range on round numbers, and are few', () => {
    assert(
      property(fraction, fraction, integer({ min: 2, max: 12 }), (left, right, stepsMax) => {
        const [low, high] = [Math.min(left, right), Math.max(left, right) + 0.001]
        const ticks = roundTicks([low, high], stepsMax)
        expect(ticks[0]).toBeLessThanOrEqual(low + SLACK)
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(high - SLACK)
        expect(ticks.length).toBeLessThanOrEqual(stepsMax + 2)
      }),
    )
  })

  it('for the bands of real odds come every 5 %', () => {
    expect(roundTicks([-0.143, 0.138], 7).map((tick) => Math.round(tick * 100))).toEqual([
      -15, -10, -5, 0, 5, 10, 15,
    ])
  })
})

it('a linear scale maps ends to ends', () => {
  const place = straightScale([-0.1, 0.1], [300, 0])
  expect([place(-0.1), place(0), place(0.1)]).toEqual([300, 150, 0])
})

describe('labels', () => {
  it('stay put if there is room', () => {
    expect(spreadLabels([10, 60, 110], { gap: 36, range: [0, 200] })).toEqual([10, 60, 110])
  })

  it('keep their order and a gap, however they crowd', () => {
    const places = array(double({ min: 0, max: 300, noNaN: true }), { minLength: 2, maxLength: 6 })
    assert(
      property(places, (crowd) => {
        const spread = spreadLabels(
          crowd.toSorted((left, right) => left - right),
          { gap: 36, range: [0, 300] },
        )
        const gaps = spread.slice(1).map((place, index) => place - (spread[index] ?? 0))
        expect(Math.min(...gaps)).toBeGreaterThan(30)
      }),
    )
  })
})

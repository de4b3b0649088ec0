import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/statistics.json' with { type: 'json' }
import { effectiveCount, groupedBy, profitVariance, type UncertainBet } from './outcome-variance.ts'

const anyBet: fc.Arbitrary<UncertainBet> = fc.record({
  odds: fc.double({ min: 1.05, max: 30, noNaN: true }),
  probability: fc.double({ min: 0, max: 1, noNaN: true }),
  stood: fc.constantFrom(0, 0.5, 1),
  event: fc.constantFrom('a', 'b', undefined),
})

describe('profitVariance', () => {
  test.for(vectors.variance)('golden, by enumerating outcomes: $name', ({ bets, variance }) => {
    expect(profitVariance(bets)).toBeCloseTo(variance, 12)
  })

  test('bets on one event never vary less than as if they were independent', () => {
    fc.assert(
      fc.property(fc.array(anyBet, { maxLength: 8 }), (bets) => {
        const apart = profitVariance(bets.map(({ event: _event, ...bet }) => bet))
        expect(profitVariance(bets)).toBeGreaterThanOrEqual(apart * (1 - 1e-12))
      }),
    )
  })

  test('a push adds nothing, and the order of bets does not matter', () => {
    fc.assert(
      fc.property(fc.array(anyBet, { maxLength: 8 }), anyBet, (bets, other) => {
        const pushed = { ...other, stood: 0 }
        const variance = profitVariance(bets)
        expect(profitVariance([pushed, ...bets.toReversed()])).toBeCloseTo(variance, 8)
      }),
    )
  })

  test('no bet varies by nothing', () => {
    expect(profitVariance([])).toBe(0)
  })
})

describe('effectiveCount', () => {
  test.for(vectors.effective)('$events is worth $count', ({ events, count }) => {
    expect(effectiveCount(events)).toBeCloseTo(count, 12)
  })

  test('of nothing is 0; without names each is its own', () => {
    expect(effectiveCount([])).toBe(0)
    expect(effectiveCount([undefined, undefined])).toBe(2)
  })
})

test('groups keep their order; what has no name is alone', () => {
  const grouped = groupedBy(['a1', 'b1', 'a2', '-', '-'], (text) =>
    text === '-' ? undefined : text.charAt(0),
  )
  expect(grouped).toEqual([['a1', 'a2'], ['b1'], ['-'], ['-']])
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mirrorMargins } from './mirror-margins.ts'
import { stakeShares } from './stake-shares.ts'

const anyMargins = fc
  .tuple(
    fc.integer({ min: -10, max: 5 }),
    fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 1, maxLength: 30 }),
  )
  .map(([lowest, weights]) => {
    const whole = weights.reduce((sum, weight) => sum + weight, 0)
    return { lowest, masses: weights.map((weight) => weight / whole) }
  })
const anyLine = fc.integer({ min: -20, max: 20 }).map((quarters) => quarters / 4)

describe('stakeShares', () => {
  const margins = { lowest: -1, masses: [0.2, 0.3, 0.5] }

  test.for([
    { line: 0, won: 0.5, lost: 0.2, refunded: 0.3 },
    { line: -0.25, won: 0.5, lost: 0.35, refunded: 0.15 },
    { line: -0.5, won: 0.5, lost: 0.5, refunded: 0 },
    { line: -0.75, won: 0.25, lost: 0.5, refunded: 0.25 },
    { line: -1, won: 0, lost: 0.5, refunded: 0.5 },
    { line: 1.25, won: 0.9, lost: 0, refunded: 0.1 },
  ])('line $line', ({ line, ...shares }) => {
    const found = stakeShares({ margins, line })
    for (const name of ['won', 'lost', 'refunded'] as const)
      expect(found[name]).toBeCloseTo(shares[name], 14)
  })

  test('the shares sum to one', () => {
    fc.assert(
      fc.property(anyMargins, anyLine, (any, line) => {
        const { won, lost, refunded } = stakeShares({ margins: any, line })
        expect(won + lost + refunded).toBeCloseTo(1, 13)
      }),
    )
  })

  test('what one side wins the other loses', () => {
    fc.assert(
      fc.property(anyMargins, anyLine, (any, line) => {
        const one = stakeShares({ margins: any, line })
        const other = stakeShares({ margins: mirrorMargins(any), line: -line })
        expect(other.won).toBeCloseTo(one.lost, 13)
        expect(other.lost).toBeCloseTo(one.won, 13)
      }),
    )
  })

  test('a quarter line is the mean of its neighbours', () => {
    fc.assert(
      fc.property(anyMargins, fc.integer({ min: -10, max: 10 }), (any, halves) => {
        const line = halves / 2 + 0.25
        const [below, above] = [line - 0.25, line + 0.25].map((part) =>
          stakeShares({ margins: any, line: part }),
        )
        const whole = stakeShares({ margins: any, line })
        expect(whole.won).toBeCloseTo(((below?.won ?? 0) + (above?.won ?? 0)) / 2, 13)
      }),
    )
  })

  test('an NFL margin table with its peak at 3 refunds that share on line -3', () => {
    const nfl = { lowest: 2, masses: [0.4, 0.0925, 0.5075] }
    expect(stakeShares({ margins: nfl, line: -3 }).refunded).toBe(0.0925)
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type LineResult,
  type SettledBet,
  settledReturn,
  settleLine,
  stakeShares,
} from './settlement.ts'

/** How half a stake on a line without quarters ends, written independently. */
const half = (margin: number, line: number): number => Math.sign(margin + line)

const named: Record<string, LineResult> = {
  '2': 'won',
  '1': 'half_won',
  '0': 'push',
  '-1': 'half_lost',
  '-2': 'lost',
}

describe('settleLine', () => {
  test('every quarter line from -3 to +3 is half a stake on each neighbour', () => {
    for (let quarters = -12; quarters <= 12; quarters++)
      for (let margin = -6; margin <= 6; margin++) {
        const line = quarters / 4
        const isSplit = quarters % 2 !== 0
        const parts = isSplit
          ? half(margin, line - 0.25) + half(margin, line + 0.25)
          : 2 * half(margin, line)
        expect(settleLine({ margin, line })).toBe(named[String(parts)])
      }
  })

  test.for([
    { margin: 0, line: -0.25, result: 'half_lost' },
    { margin: 0, line: 0.25, result: 'half_won' },
    { margin: 1, line: -1, result: 'push' },
    { margin: 0, line: 0, result: 'push' },
    { margin: 3, line: -2.75, result: 'half_won' },
    { margin: -3, line: 2.75, result: 'half_lost' },
  ])('margin $margin on line $line is $result', ({ margin, line, result }) => {
    expect(settleLine({ margin, line })).toBe(result)
  })

  test.for([
    { margin: 0.5, line: 0 },
    { margin: Number.NaN, line: 0 },
    { margin: 0, line: 0.1 },
    { margin: 0, line: Infinity },
  ])('margin $margin on line $line throws a RangeError', (bet) => {
    expect(() => settleLine(bet)).toThrow(RangeError)
  })
})

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
        const shares = stakeShares({ margins: any, line })
        const { lowest, masses } = any
        const mirrored = { lowest: 1 - lowest - masses.length, masses: masses.toReversed() }
        const other = stakeShares({ margins: mirrored, line: -line })
        expect(other.won).toBeCloseTo(shares.lost, 13)
        expect(other.lost).toBeCloseTo(shares.won, 13)
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

const table: readonly { bet: SettledBet; returnUnits: number; stakeUnits: 0 | 1 }[] = [
  { bet: { result: 'won', odds: 2.5 }, returnUnits: 1.5, stakeUnits: 1 },
  { bet: { result: 'lost', odds: 2.5 }, returnUnits: -1, stakeUnits: 1 },
  { bet: { result: 'push', odds: 2.5 }, returnUnits: 0, stakeUnits: 1 },
  { bet: { result: 'half_won', odds: 2.5 }, returnUnits: 0.75, stakeUnits: 1 },
  { bet: { result: 'half_lost', odds: 2.5 }, returnUnits: -0.5, stakeUnits: 1 },
  { bet: { result: 'void', odds: 2.5 }, returnUnits: 0, stakeUnits: 0 },
  { bet: { result: 'dead_heat', odds: 5, places: 1, tied: 2 }, returnUnits: 1.5, stakeUnits: 1 },
  { bet: { result: 'dead_heat', odds: 1.5, places: 1, tied: 3 }, returnUnits: -0.5, stakeUnits: 1 },
  { bet: { result: 'dead_heat', odds: 3, places: 2, tied: 4 }, returnUnits: 0.5, stakeUnits: 1 },
  { bet: { result: 'won', odds: 3, deduction: 0.25 }, returnUnits: 1.5, stakeUnits: 1 },
  { bet: { result: 'half_won', odds: 3, deduction: 0.25 }, returnUnits: 0.75, stakeUnits: 1 },
  {
    bet: { result: 'dead_heat', odds: 5, places: 1, tied: 2, deduction: 0.5 },
    returnUnits: 0.5,
    stakeUnits: 1,
  },
]

describe('settledReturn', () => {
  test.for(table)('$bet returns $returnUnits on a stake of $stakeUnits', ({ bet, ...returned }) => {
    expect(settledReturn(bet)).toEqual(returned)
  })

  test.for<SettledBet>([
    { result: 'dead_heat', odds: 5, places: 1, tied: 1 },
    { result: 'dead_heat', odds: 5, places: 0, tied: 2 },
    { result: 'won', odds: 5, deduction: 1.1 },
    { result: 'won', odds: 5, deduction: Number.NaN },
  ])('%o throws a RangeError', (bet) => {
    expect(() => settledReturn(bet)).toThrow(RangeError)
  })
})

import { describe, expect, test } from 'vitest'
import { type SettledBet, settledReturn } from './settled-return.ts'

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

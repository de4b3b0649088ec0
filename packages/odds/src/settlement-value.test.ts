import { describe, expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import { settlementValue } from './settlement-value.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

describe('settlementValue', () => {
  test.for(golden.moved_lines)('golden: $name', ({ taken, win_frac, loss_frac, ev_close }) => {
    const bet = { odds: Number(taken), won: Number(win_frac), lost: Number(loss_frac) }
    expect(settlementValue(bet)).toBeCloseTo(Number(ev_close), 10)
  })

  test('draw-no-bet: home of 2.05/3.55/3.90 at 1.55 refunds the draw', () => {
    const [won = 0, draw = 0, lost = 0] = fairProbabilities([2.05, 3.55, 3.9])
    const value = settlementValue({ odds: 1.55, won, lost })
    expect(value).toBeCloseTo(1.55 * won + draw - 1, 14)
  })

  test('without refunds it is odds · p - 1', () => {
    expect(settlementValue({ odds: 2.2, won: 0.5, lost: 0.5 })).toBeCloseTo(0.1, 14)
  })
})

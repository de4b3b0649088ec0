import { expect, test } from 'vitest'
import { finishOdds } from './finish-odds.ts'

test.for([
  { decimal: 1, reason: 'not_above_one' },
  { decimal: Number.NaN, reason: 'not_above_one' },
  { decimal: 1_000_000.1, reason: 'above_limit' },
])('decimal odds of $decimal are refused: $reason', ({ decimal, reason }) => {
  expect(finishOdds({ format: 'decimal', decimal, text: '' })).toEqual({ kind: 'refused', reason })
})

test('keeps format, value and text of odds in range', () => {
  const odds = { format: 'american', decimal: 2.5, text: '+150' } as const
  expect(finishOdds(odds)).toEqual({ kind: 'odds', ...odds })
})

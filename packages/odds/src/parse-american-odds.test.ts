import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAmericanOdds } from './parse-american-odds.ts'

describe('parseAmericanOdds', () => {
  test.for([
    { input: '-110', decimal: 21 / 11, text: '-110' },
    { input: '\u2212110', decimal: 21 / 11, text: '-110' },
    { input: '+150', decimal: 2.5, text: '+150' },
    { input: '150', decimal: 2.5, text: '+150' },
    { input: -350, decimal: 9 / 7, text: '-350' },
    { input: 290, decimal: 3.9, text: '+290' },
    { input: '-100', decimal: 2, text: '+100' },
    { input: '+99999900', decimal: 1_000_000, text: '+99999900' },
  ])('$input', ({ input, decimal, text }) => {
    expect(parseAmericanOdds(input)).toEqual({ kind: 'odds', format: 'american', decimal, text })
  })

  test.for([
    { input: '+99', reason: 'american_below_100' },
    { input: -5, reason: 'american_below_100' },
    { input: '+0', reason: 'format' },
    { input: '+110.5', reason: 'format' },
    { input: 110.5, reason: 'format' },
    { input: '--110', reason: 'format' },
    { input: '- 110', reason: 'format' },
    { input: '+999999999', reason: 'above_limit' },
    { input: 1e308, reason: 'format' },
    { input: Number.NaN, reason: 'not_finite' },
    { input: '', reason: 'format' },
    { input: `+${'1'.repeat(100_000)}`, reason: 'format' },
    { input: true, reason: 'type' },
  ])('$input is refused: $reason', ({ input, reason }) => {
    expect(parseAmericanOdds(input)).toEqual({ kind: 'refused', reason })
  })

  test('the two sides of a price without margin have inverse prices that sum to one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 1_000_000 }), (money) => {
        const favourite = parseAmericanOdds(-money)
        const outsider = parseAmericanOdds(money)
        const inverse = [favourite, outsider].map((odds) =>
          odds.kind === 'odds' ? 1 / odds.decimal : Number.NaN,
        )
        expect(inverse.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 14)
      }),
    )
  })
})

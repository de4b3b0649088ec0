import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatAmericanOdds } from './format-american-odds.ts'
import { parseAmericanOdds } from './parse-american-odds.ts'

describe('formatAmericanOdds', () => {
  test.for([
    { decimal: 2.5, text: '+150' },
    { decimal: 21 / 11, text: '-110' },
    { decimal: 2, text: '+100' },
    { decimal: 1.9999, text: '+100' },
    { decimal: 1.01, text: '-10000' },
  ])('$decimal is $text', ({ decimal, text }) => {
    expect(formatAmericanOdds(decimal)).toBe(text)
  })

  test.for([1, 0, -2, Number.NaN, Infinity])('%s throws a RangeError', (decimal) => {
    expect(() => formatAmericanOdds(decimal)).toThrow(RangeError)
  })

  test('every American price comes back as it was', () => {
    const money = fc.integer({ min: 101, max: 100_000 })
    fc.assert(
      fc.property(money, fc.constantFrom('+', '-'), (amount, sign) => {
        const odds = parseAmericanOdds(`${sign}${amount}`)
        expect(formatAmericanOdds(odds.kind === 'odds' ? odds.decimal : 0)).toBe(`${sign}${amount}`)
      }),
    )
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseFractionalOdds } from './parse-fractional-odds.ts'

describe('parseFractionalOdds', () => {
  test.for([
    { input: '6/5', decimal: 2.2, text: '6/5' },
    { input: '100/30', decimal: 13 / 3, text: '10/3' },
    { input: '10/11', decimal: 21 / 11, text: '10/11' },
    { input: 'Evens', decimal: 2, text: '1/1' },
    { input: '1/100', decimal: 1.01, text: '1/100' },
  ])('$input', ({ input, decimal, text }) => {
    expect(parseFractionalOdds(input)).toEqual({
      kind: 'odds',
      format: 'fractional',
      decimal,
      text,
    })
  })

  test.for([
    { input: '0/5', reason: 'not_above_one' },
    { input: '9999999/1', reason: 'above_limit' },
    { input: '5/0', reason: 'format' },
    { input: '6 / 5', reason: 'format' },
    { input: '-6/5', reason: 'format' },
    { input: '6/5/4', reason: 'format' },
    { input: '6/', reason: 'format' },
    { input: '06/5', reason: 'format' },
    { input: '1.5/2', reason: 'format' },
    { input: '12345678/9', reason: 'format' },
    { input: `1/${'1'.repeat(100_000)}`, reason: 'format' },
    { input: 1.2, reason: 'type' },
    { input: {}, reason: 'type' },
  ])('$input is refused: $reason', ({ input, reason }) => {
    expect(parseFractionalOdds(input)).toEqual({ kind: 'refused', reason })
  })

  test('a multiple of a fraction is the same price, in value and text', () => {
    const part = fc.integer({ min: 1, max: 999 })
    fc.assert(
      fc.property(part, part, fc.integer({ min: 1, max: 1000 }), (profit, stake, factor) => {
        expect(parseFractionalOdds(`${profit * factor}/${stake * factor}`)).toEqual(
          parseFractionalOdds(`${profit}/${stake}`),
        )
      }),
    )
  })
})

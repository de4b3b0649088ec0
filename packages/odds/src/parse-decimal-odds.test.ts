import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDecimalOdds } from './parse-decimal-odds.ts'

describe('parseDecimalOdds', () => {
  test.for([
    { input: '2.10', decimal: 2.1, text: '2.1' },
    { input: '2', decimal: 2, text: '2' },
    { input: '2.000', decimal: 2, text: '2' },
    { input: '1.9090909090909091', decimal: 21 / 11, text: '1.9090909090909091' },
    { input: '1000000', decimal: 1_000_000, text: '1000000' },
    { input: 1.01, decimal: 1.01, text: '1.01' },
    {
      input: 1.000_000_000_000_000_2,
      decimal: 1.000_000_000_000_000_2,
      text: '1.0000000000000002',
    },
  ])('$input', ({ input, decimal, text }) => {
    expect(parseDecimalOdds(input)).toEqual({ kind: 'odds', format: 'decimal', decimal, text })
  })

  test.for([
    { input: Number.NaN, reason: 'not_finite' },
    { input: Infinity, reason: 'not_finite' },
    { input: 1e308, reason: 'above_limit' },
    { input: '9999999', reason: 'above_limit' },
    { input: 1, reason: 'not_above_one' },
    { input: '1.00', reason: 'not_above_one' },
    { input: '1.0000000000000001', reason: 'not_above_one' },
    { input: '0.5', reason: 'not_above_one' },
    { input: -110, reason: 'not_above_one' },
    { input: '', reason: 'format' },
    { input: ' 2.1', reason: 'format' },
    { input: '2,1', reason: 'format' },
    { input: '2.', reason: 'format' },
    { input: '.5', reason: 'format' },
    { input: '02.1', reason: 'format' },
    { input: '2.1\n', reason: 'format' },
    { input: '1e3', reason: 'format' },
    { input: '0x10', reason: 'format' },
    { input: '+2.1', reason: 'format' },
    { input: '٢', reason: 'format' },
    { input: '2.12345678901234567', reason: 'format' },
    { input: `2.${'1'.repeat(100_000)}`, reason: 'format' },
    { input: null, reason: 'type' },
    { input: undefined, reason: 'type' },
    { input: 2n, reason: 'type' },
    { input: ['2.1'], reason: 'type' },
  ])('$input is refused: $reason', ({ input, reason }) => {
    expect(parseDecimalOdds(input)).toEqual({ kind: 'refused', reason })
  })

  test('text of any price with two places gives the double that the same literal is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 101, max: 100_000_000 }), (hundredths) => {
        const text = (hundredths / 100).toFixed(2)
        expect(parseDecimalOdds(text)).toMatchObject({ decimal: hundredths / 100 })
      }),
    )
  })

  test('a number is read as its own canonical text', () => {
    fc.assert(
      fc.property(fc.double({ min: 1.000_001, max: 1_000_000, noNaN: true }), (decimal) => {
        expect(parseDecimalOdds(decimal)).toMatchObject({ decimal, text: String(decimal) })
      }),
    )
  })
})

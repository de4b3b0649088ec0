import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DECIMAL_ODDS_MAX } from './odds-limits.ts'
import { parseOdds } from './parse-odds.ts'
import { isNearestDouble } from './testing/is-nearest-double.ts'

describe('parseOdds', () => {
  test.for([
    { input: '2.10', format: 'decimal' },
    { input: 2.1, format: 'decimal' },
    { input: '110', format: 'decimal' },
    { input: '+110', format: 'american' },
    { input: '-110', format: 'american' },
    { input: '\u2212110', format: 'american' },
    { input: '11/10', format: 'fractional' },
    { input: 'evens', format: 'fractional' },
  ])('$input is $format', ({ input, format }) => {
    expect(parseOdds(input)).toMatchObject({ kind: 'odds', format })
  })

  test('one price written in three ways has one decimal value', () => {
    const values = ['2.5', '3/2', '+150', 2.5].map((input) => parseOdds(input))
    for (const value of values) expect(value).toMatchObject({ decimal: 2.5 })
  })

  test('its canonical text parses to itself', () => {
    const written = fc.oneof(
      fc.double({ min: 1.001, max: DECIMAL_ODDS_MAX, noNaN: true }).map(String),
      fc
        .tuple(fc.integer({ min: 1, max: 9999 }), fc.integer({ min: 1, max: 9999 }))
        .map((parts) => parts.join('/')),
      fc.integer({ min: 100, max: 99_999 }).map((money) => `-${money}`),
      fc.integer({ min: 100, max: 99_999 }).map((money) => `+${money}`),
    )
    fc.assert(
      fc.property(written, (text) => {
        const once = parseOdds(text)
        expect(once.kind).toBe('odds')
        expect(parseOdds(once.kind === 'odds' ? once.text : '')).toEqual(once)
      }),
    )
  })

  test('whatever comes in, it answers: a price above 1 within the limit whose double is nearest, or a refusal', () => {
    const near = fc.stringMatching(/^[-+eE0-9./,−]{0,26}$/)
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), near, fc.double()), (input) => {
        const odds = parseOdds(input)
        const isSound =
          odds.kind === 'refused' ||
          (odds.decimal > 1 && odds.decimal <= DECIMAL_ODDS_MAX && isNearestDouble(odds))
        expect(isSound).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })
})

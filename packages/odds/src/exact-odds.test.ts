import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exactOdds } from './exact-odds.ts'
import { parseOdds } from './parse-odds.ts'
import { isNearestDouble } from './testing/is-nearest-double.ts'

const exactOf = (input: string | number) => {
  const odds = parseOdds(input)
  return odds.kind === 'odds' ? exactOdds(odds) : undefined
}

describe('exactOdds', () => {
  test.for([
    { input: '-110', numerator: 21n, denominator: 11n },
    { input: '+150', numerator: 5n, denominator: 2n },
    { input: '100/30', numerator: 13n, denominator: 3n },
    { input: '2.10', numerator: 21n, denominator: 10n },
    { input: '3', numerator: 3n, denominator: 1n },
    { input: '1.9090909090909091', numerator: 19_090_909_090_909_091n, denominator: 10n ** 16n },
  ])('$input', ({ input, ...exact }) => {
    expect(exactOf(input)).toEqual(exact)
  })

  test('the same price in two notations is the same ratio; a rounded one is not', () => {
    expect(exactOf('10/11')).toEqual(exactOf('-110'))
    expect(exactOf('1.91')).not.toEqual(exactOf('-110'))
  })

  test('the parsed double is the one nearest to the ratio', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9_999_999 }),
        fc.integer({ min: 1, max: 9_999_999 }),
        (profit, stake) => {
          fc.pre(profit / stake < 900_000)
          const odds = parseOdds(`${profit}/${stake}`)
          expect(odds.kind === 'odds' && isNearestDouble(odds)).toBe(true)
        },
      ),
    )
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DECIMAL_ODDS_MAX, parseDecimalOdds, parseOdds } from './odds.ts'
import { isNearestDouble } from './testing/is-nearest-double.ts'

describe('parseOdds', () => {
  test.for([
    { input: '2.10', format: 'decimal' },
    { input: 2.1, format: 'decimal' },
    { input: '110.0', format: 'decimal' },
    { input: '2,10', format: 'decimal' },
    { input: '+110', format: 'american' },
    { input: '-110', format: 'american' },
    { input: '\u2212110', format: 'american' },
    { input: '11/10', format: 'fractional' },
    { input: 'EVEN', format: 'fractional' },
  ])('$input is $format', ({ input, format }) => {
    expect(parseOdds(input)).toMatchObject({ kind: 'odds', format })
  })

  test.for([
    {
      ways: [
        '2.5',
        '2,5',
        '2,50',
        '3/2',
        '3-2',
        '3 / 2',
        '+150',
        '+150.0',
        '@2.5',
        ' 2.50 ',
        2.5,
        '40¢',
      ],
      decimal: 2.5,
    },
    {
      ways: ['2', 'EVEN', 'evens', 'Even money', 'EV', '1/1', '+100', '-100', '50c', -100],
      decimal: 2,
    },
    { ways: ['-110', '–110', '- 110', '\u2212110', '10/11', '-110.0', -110], decimal: 21 / 11 },
    { ways: ['+1,200', '+1200', '13.0', '12/1'], decimal: 13 },
    { ways: ['110.0', '110,0', '109/1', '+10900'], decimal: 110 },
    { ways: ['45.5¢', '45,5 c', '109/91'], decimal: 200 / 91 },
  ])('one price in every notation that people type: $decimal', ({ ways, decimal }) => {
    for (const way of ways) expect(parseOdds(way), String(way)).toMatchObject({ decimal })
  })

  test.for([
    { input: '110', reason: 'unsigned_whole' },
    { input: 110, reason: 'unsigned_whole' },
    { input: '250', reason: 'unsigned_whole' },
    { input: '100', reason: 'unsigned_whole' },
    { input: '1,250', reason: 'comma_of_thousands' },
    { input: '1,909', reason: 'comma_of_thousands' },
    { input: '-50', reason: 'american_below_100' },
    { input: -5, reason: 'american_below_100' },
    { input: '0,95', reason: 'not_above_one' },
    { input: '2,1,0', reason: 'format' },
    { input: 'evenly', reason: 'format' },
    { input: '2.10 EUR', reason: 'format' },
    { input: ' '.repeat(100_000), reason: 'format' },
  ])('$input is asked about, not guessed: $reason', ({ input, reason }) => {
    expect(parseOdds(input)).toEqual({ kind: 'refused', reason })
  })

  test('its canonical text parses back to itself', () => {
    const written = fc.oneof(
      fc
        .double({ min: 1.001, max: DECIMAL_ODDS_MAX, noNaN: true })
        .map((decimal) => (Number.isInteger(decimal) ? `${decimal}.0` : String(decimal))),
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

  test('any input gives a price above 1 within the limit whose double is nearest, or a refusal', () => {
    const near = fc.stringMatching(/^[-+eEvn0-9./,−@¢ ]{0,26}$/)
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

  test('the text of any price with two decimals gives the same double as that literal', () => {
    fc.assert(
      fc.property(fc.integer({ min: 101, max: 100_000_000 }), (hundredths) => {
        const text = (hundredths / 100).toFixed(2)
        expect(parseDecimalOdds(text)).toMatchObject({ decimal: hundredths / 100 })
      }),
    )
  })

  test('a number is read like its own canonical text', () => {
    fc.assert(
      fc.property(fc.double({ min: 1.000_001, max: 1_000_000, noNaN: true }), (decimal) => {
        expect(parseDecimalOdds(decimal)).toMatchObject({ decimal, text: String(decimal) })
      }),
    )
  })
})

describe('fractional odds', () => {
  test.for([
    { input: '6/5', decimal: 2.2, text: '6/5' },
    { input: '100/30', decimal: 13 / 3, text: '10/3' },
    { input: '10/11', decimal: 21 / 11, text: '10/11' },
    { input: 'Evens', decimal: 2, text: '1/1' },
    { input: '54¢', decimal: 50 / 27, text: '23/27' },
    { input: '1/100', decimal: 1.01, text: '1/100' },
  ])('$input', ({ input, decimal, text }) => {
    expect(parseOdds(input)).toEqual({
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
    { input: '-6/5', reason: 'format' },
    { input: '6/5/4', reason: 'format' },
    { input: '6/', reason: 'format' },
    { input: '06/5', reason: 'format' },
    { input: '1.5/2', reason: 'format' },
    { input: '12345678/9', reason: 'format' },
    { input: `1/${'1'.repeat(100_000)}`, reason: 'format' },
  ])('$input is refused: $reason', ({ input, reason }) => {
    expect(parseOdds(input)).toEqual({ kind: 'refused', reason })
  })

  test('multiples of a fraction are the same price, in value and text', () => {
    const part = fc.integer({ min: 1, max: 999 })
    fc.assert(
      fc.property(part, part, fc.integer({ min: 1, max: 1000 }), (profit, stake, factor) => {
        expect(parseOdds(`${profit * factor}/${stake * factor}`)).toEqual(
          parseOdds(`${profit}/${stake}`),
        )
      }),
    )
  })
})

describe('American odds', () => {
  test.for([
    { input: '-110', decimal: 21 / 11, text: '-110' },
    { input: '\u2212110', decimal: 21 / 11, text: '-110' },
    { input: '+150', decimal: 2.5, text: '+150' },
    { input: '-350', decimal: 9 / 7, text: '-350' },
    { input: '+290', decimal: 3.9, text: '+290' },
    { input: '-100', decimal: 2, text: '+100' },
    { input: '+99999900', decimal: 1_000_000, text: '+99999900' },
  ])('$input', ({ input, decimal, text }) => {
    expect(parseOdds(input)).toEqual({ kind: 'odds', format: 'american', decimal, text })
  })

  test.for([
    { input: '+99', reason: 'american_below_100' },
    { input: '-5', reason: 'american_below_100' },
    { input: '+0', reason: 'format' },
    { input: '+110.5', reason: 'format' },
    { input: '--110', reason: 'format' },
    { input: '+1,20', reason: 'format' },
    { input: '+999999999', reason: 'above_limit' },
    { input: `+${'1'.repeat(100_000)}`, reason: 'format' },
  ])('$input is refused: $reason', ({ input, reason }) => {
    expect(parseOdds(input)).toEqual({ kind: 'refused', reason })
  })

  test('the two sides of a price without margin have inverse prices that sum to one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 1_000_000 }), (money) => {
        const favourite = parseOdds(`-${money}`)
        const outsider = parseOdds(`+${money}`)
        const inverse = [favourite, outsider].map((odds) =>
          odds.kind === 'odds' ? 1 / odds.decimal : Number.NaN,
        )
        expect(inverse.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 14)
      }),
    )
  })
})

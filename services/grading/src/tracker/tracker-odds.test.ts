import { describe, expect, test } from 'vitest'
import { isShareExchange, notationOfHeader, readOdds } from './tracker-odds.ts'

const clear = {
  header: undefined,
  named: '',
  choice: undefined,
  isShares: false,
  hasDecimals: true,
  isCommaDecimal: false,
}
/** The price, or the notations that are asked about. */
const read = (text: string, context: Partial<Parameters<typeof readOdds>[1]> = {}): string => {
  const found = readOdds(text, { ...clear, ...context })
  if (found.kind === 'odds') return found.odds
  return `? ${found.readings.map(({ notation, odds }) => `${notation} ${odds}`).join(', ')}`
}

describe('a price is in the notation that its header names', () => {
  test.for([
    ['odds_american', '450.0', '+450'],
    ['Odds (US)', '110', '+110'],
    ['American Odds', '-110.0', '-110'],
    ['odds_american', '+1,200', '+1200'],
    ['odds_american', '1,200', '+1200'],
    ['odds_american', 'EVEN', 'EVEN'],
    ['Odds (US)', '1.91', '? decimal 1.91, hong_kong 2.91, share 52.35602094'],
    ['Decimal odds', '110', '110.0'],
    ['Odds EU', '2.10', '2.10'],
    ['Odds (HK)', '1.18', '2.18'],
    ['Hong Kong odds', '0.5', '1.5'],
    ['Malay odds', '-0.85', '100/85'],
    ['Malay odds', '0.85', '1.85'],
    ['Indonesian Odds', '-1.25', '100/125'],
    ['Fractional odds', '11/10', '11/10'],
    ['Share price', '0.54', '54¢'],
  ])('%s, %s is %s', ([header = '', text = '', odds]) => {
    expect(read(text, { header: notationOfHeader(header) })).toBe(odds)
  })

  test('a header of other words names none', () => {
    expect(['Odds', 'Price', 'My odds', 'Avg. odds matched'].map(notationOfHeader)).toEqual(
      [0, 1, 2, 3].map(() => undefined),
    )
  })
})

test.for([
  ['HK', '1.18', '2.18'],
  ['Hong Kong', '1.18', '2.18'],
  ['ID', '1.20', '2.2'],
  ['ID', '-1.25', '100/125'],
  ['IDN', '-2', '1/2'],
  ['MY', '-0.8', '10/8'],
  ['MY', '1.2', '? decimal 1.2, hong_kong 2.2, share 1.2¢'],
  ['Decimal', '1.18', '1.18'],
  ['US', '150', '+150'],
  ['American', '-120', '-120'],
  ['Fractional', '6/5', '6/5'],
  ['', '1.18', '1.18'],
  ['Klingon', '1.18', '? decimal 1.18, hong_kong 2.18, share 84.74576271'],
] as const)('a row’s own notation %s makes %s %s', ([named, text, odds]) => {
  expect(read(text, { named })).toBe(odds)
})

describe('a price that may be two is asked about, and the reader’s answer decides', () => {
  test.for([
    ['110', undefined, '? american +110, decimal 110.0'],
    ['110', 'american', '+110'],
    ['110', 'decimal', '110.0'],
    ['0.54', undefined, '? share 54¢, hong_kong 1.54'],
    ['0.54', 'share', '54¢'],
    ['0.54', 'hong_kong', '1.54'],
    ['1.18', 'hong_kong', '2.18'],
    ['1.18', 'share', '1.18'],
    ['-0.85', undefined, '? malay 100/85'],
    ['2.1', 'american', '2.1'],
  ] as const)('%s, %s: %s', ([text, choice, odds]) => {
    expect(read(text, { choice })).toBe(odds)
  })
})

describe('a share of a dollar is read at an exchange of shares', () => {
  test.for([
    ['0.54', false, '54¢'],
    ['54', false, '54¢'],
    ['54', true, '? share 54¢, decimal 54.0'],
    ['54¢', true, '54¢'],
    ['.545', false, '54.5¢'],
    ['1.67', true, '1.67'],
    ['5', false, '? share 5¢, decimal 5.0'],
    ['-110', false, '-110'],
  ] as const)('%s, beside decimals %s: %s', ([text, hasDecimals, odds]) => {
    expect(read(text, { isShares: true, hasDecimals })).toBe(odds)
  })

  test('Kalshi, Polymarket and their like sell shares; Betfair, Novig and books quote odds', () => {
    expect(['Kalshi', 'polymarket.com', 'PredictIt', 'Sporttrade'].map(isShareExchange)).toEqual(
      [0, 1, 2, 3].map(() => true),
    )
    expect(['Betfair', 'Novig', 'bet365', ''].map(isShareExchange)).toEqual(
      [0, 1, 2, 3].map(() => false),
    )
  })
})

test.for([
  ['1,909', true, '1.909'],
  ['1,30', false, '1.30'],
  ['1,250', false, '1,250'],
  ['11/10', false, '11/10'],
  ['−110', false, '-110'],
] as const)('%s, commas decimal %s: %s', ([text, isCommaDecimal, odds]) => {
  expect(read(text, { isCommaDecimal })).toBe(odds)
})

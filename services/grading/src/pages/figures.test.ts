import { expect, it } from 'vitest'
import { dollarText, number, percentInterval, signed, signedPercent, timeText } from './figures.ts'

it('percentages are signed with a typographic minus, and zero has no sign', () => {
  expect(
    [0.0541, -0.0731, 0, -0.0001, 0.0001].map((value) =>
      signedPercent(value).replace('\u00a0', ' '),
    ),
  ).toEqual(['+5.4 %', '−7.3 %', '0.0 %', '0.0 %', '0.0 %'])
  expect(percentInterval([-0.1, 0.02])).toBe('−10.0 to +2.0\u00a0%')
  expect(percentInterval(null)).toBe('no interval')
})

it('so are numbers', () => {
  expect([number(-0.001), number(-1), signed(0.5), signed(-0.001), signed(-2)]).toEqual([
    '0.00',
    '−1.00',
    '+0.50',
    '0.00',
    '−2.00',
  ])
})

it.each([
  [10_000n, 6, '$0.01'],
  [200_000n, 6, '$0.20'],
  [1_000_000n, 6, '$1.00'],
  [1_234_567n, 6, '$1.234567'],
  [1n, 6, '$0.000001'],
  [5n, 2, '$0.05'],
])('%s base units at %s digits are %s', (amount, decimals, words) => {
  expect(dollarText(amount, decimals)).toBe(words)
})

it('times are UTC; a day alone has no clock', () => {
  expect(timeText('2026-06-01T18:00:00Z')).toBe('1 Jun 2026, 18:00 UTC')
  expect(timeText('2026-06-01T00:00:00Z', 'day')).toBe('1 Jun 2026')
})

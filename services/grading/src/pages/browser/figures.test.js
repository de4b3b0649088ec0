import { expect, it } from 'vitest'
import { number, percentInterval, signed, signedPercent, timeText, tokenAmount } from './figures.js'
import { readCheckpoint } from './read-checkpoint.js'

it('percentages are signed with a real minus, and nothing has no sign', () => {
  expect(
    [0.0541, -0.0731, 0, -0.0001, 0.0001].map((value) =>
      signedPercent(value).replace('\u00a0', ' '),
    ),
  ).toEqual(['+5.4 %', '−7.3 %', '0.0 %', '0.0 %', '0.0 %'])
  expect(percentInterval([-0.1, 0.02])).toBe('−10.0 to +2.0\u00a0%')
  expect(percentInterval(null)).toBe('no interval')
})

it('numbers too', () => {
  expect([number(-0.001), number(-1), signed(0.5), signed(-0.001), signed(-2)]).toEqual([
    '0.00',
    '−1.00',
    '+0.50',
    '0.00',
    '−2.00',
  ])
})

it('amounts keep cents and drop what is nothing', () => {
  expect(
    ['10000', '200000', '1000000', '1', '1234567'].map((amount) => tokenAmount(amount, 6)),
  ).toEqual(['0.01', '0.20', '1', '0.000001', '1.234567'])
})

it('times are UTC; a day alone has no clock', () => {
  expect(timeText('2026-06-01T18:00:00Z')).toBe('1 Jun 2026, 18:00 UTC')
  expect(timeText('2026-06-01T00:00:00Z', 'day')).toBe('1 Jun 2026')
})

it('a checkpoint is size, root and signer; anything else is none', () => {
  const note = 'grading.test/ledger\n12\ncm9vdA==\n\n— grading.test/ledger c2ln\n'
  expect(readCheckpoint(note)).toEqual({
    size: 12,
    root: 'cm9vdA==',
    signer: 'grading.test/ledger',
  })
  expect(readCheckpoint('{"error":"not_found"}')).toBeUndefined()
})

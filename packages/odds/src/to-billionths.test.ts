import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { toBillionths } from './to-billionths.ts'

test.for([
  { value: 0.08, billionths: 80_000_000 },
  { value: -0.04, billionths: -40_000_000 },
  { value: 1e-10, billionths: 0 },
  { value: -1e-10, billionths: 0 },
  { value: -0, billionths: 0 },
  { value: 5e-10, billionths: 1 },
  { value: -5e-10, billionths: -1 },
])('$value is $billionths', ({ value, billionths }) => {
  expect(toBillionths(value)).toBe(billionths)
})

test('a value and its negative round alike', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 2, noNaN: true }), (value) => {
      expect(toBillionths(-value) + toBillionths(value)).toBe(0)
    }),
  )
})

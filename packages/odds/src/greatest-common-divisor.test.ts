import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { greatestCommonDivisor } from './greatest-common-divisor.ts'

test('divides both numbers and leaves them without a common divisor', () => {
  const whole = fc.integer({ min: 1, max: 9_999_999 })
  fc.assert(
    fc.property(whole, whole, (one, other) => {
      const divisor = greatestCommonDivisor([one, other])
      expect([one % divisor, other % divisor]).toEqual([0, 0])
      expect(greatestCommonDivisor([one / divisor, other / divisor])).toBe(1)
    }),
  )
})

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatHbar, parseHbar } from './hbar.ts'

test('amounts are read and shown exactly, to the tinybar', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 5_000_000_000_000_000_000n }), (tinybar) => {
      expect(parseHbar(formatHbar(tinybar).replace(' HBAR', ''))).toBe(tinybar)
    }),
  )
  for (const bad of ['', '1,5', '-1', '0.123456789', '1e3', ' 1']) {
    expect(parseHbar(bad)).toBeUndefined()
  }
})

import { expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import { priceClv } from './price-clv.ts'

test.for(golden.grades)('golden: $name', ({ taken, close, selection, clv_price }) => {
  expect(priceClv({ taken: Number(taken), close: Number(close[selection]) })).toBeCloseTo(
    Number(clv_price),
    12,
  )
})

test('is exactly 0 at the closing price', () => {
  for (const close of [1.1, 1.91, 21 / 11, 3.3]) expect(priceClv({ taken: close, close })).toBe(0)
})

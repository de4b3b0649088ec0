import { expect, test } from 'vitest'
import { booksum } from './booksum.ts'

test.for([
  { prices: [2, 2], sum: 1 },
  { prices: [2, 4, 4], sum: 1 },
  { prices: [1.5, 2.74], sum: 1.031630170316302 },
  { prices: [2.2, 4, 4.2], sum: 0.9426406926406926 },
  { prices: [], sum: 0 },
])('the booksum of $prices is $sum', ({ prices, sum }) => {
  expect(booksum(prices)).toBeCloseTo(sum, 15)
})

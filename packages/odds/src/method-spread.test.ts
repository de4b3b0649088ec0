import { expect, test } from 'vitest'
import { methodSpread } from './method-spread.ts'
import { marginVectors } from './testing/margin-vectors.ts'

test('is the taken price times the widest gap between the four methods’ probabilities', () => {
  const book = 'V5 R implied row5 (heavy fav)'
  const ofMethods = (['power', 'shin', 'odds_ratio', 'multiplicative'] as const).map(
    (method) => marginVectors(method).find(({ name }) => name === book)?.probabilities[2] ?? 0,
  )
  const gap = Math.max(...ofMethods) - Math.min(...ofMethods)
  expect(methodSpread({ taken: 15, prices: [1.19, 7, 14], selection: 2 })).toBeCloseTo(15 * gap, 12)
})

test('is 0 where all methods agree', () => {
  expect(methodSpread({ taken: 2, prices: [2, 4, 4], selection: 0 })).toBe(0)
})

test.for([
  { prices: [2, 4, 4], selection: 3, why: 'no such selection' },
  { prices: [2], selection: 0, why: 'a refused book' },
])('is undefined for $why', ({ prices, selection }) => {
  expect(methodSpread({ taken: 2, prices, selection })).toBeUndefined()
})

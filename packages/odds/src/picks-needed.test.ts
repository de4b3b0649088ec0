import { expect, test } from 'vitest'
import { picksNeeded } from './picks-needed.ts'

test('a 3 % edge takes 29 picks to see by closing-line value and 8,729 by return', () => {
  expect(picksNeeded({ edge: 0.03, deviation: 0.082 })).toBe(29)
  expect(picksNeeded({ edge: 0.03, deviation: 1.43 })).toBe(8729)
})

test('a loss is as easily seen as a gain; no edge is never seen', () => {
  expect(picksNeeded({ edge: -0.03, deviation: 0.082 })).toBe(29)
  expect(picksNeeded({ edge: 0, deviation: 0.082 })).toBe(Infinity)
})

import { expect, test } from 'vitest'
import { formatDecimalOdds } from './format-decimal-odds.ts'

test.for([
  { decimal: 2.1, places: undefined, text: '2.10' },
  { decimal: 21 / 11, places: 3, text: '1.909' },
  { decimal: 21, places: 0, text: '21' },
])('$decimal with $places places is $text', ({ decimal, places, text }) => {
  expect(formatDecimalOdds(decimal, places)).toBe(text)
})

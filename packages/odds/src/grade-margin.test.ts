import { expect, test } from 'vitest'
import { gradeMargin } from './grade-margin.ts'

test.for([
  { value: 0.08, margin: 0 },
  { value: 0.05, margin: 0.01 },
  { value: -0.001, margin: 0.001 },
  { value: -0.2, margin: 0.12 },
  { value: 0.5, margin: 0.42 },
])('$value lies $margin from the nearest edge', ({ value, margin }) => {
  expect(gradeMargin(value)).toBe(margin)
})

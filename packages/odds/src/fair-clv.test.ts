import { expect, test } from 'vitest'
import golden from '../vectors/golden.json' with { type: 'json' }
import { fairClv } from './fair-clv.ts'
import { fairProbabilities } from './testing/fair-probabilities.ts'

test.for(golden.grades)('golden, from the closing prices on: $name', (vector) => {
  const fairProbability = fairProbabilities(vector.close.map(Number))[vector.selection] ?? 0
  expect(fairProbability).toBeCloseTo(Number(vector.fair_prob), 12)
  const value = fairClv({ taken: Number(vector.taken), fairProbability })
  expect(value).toBeCloseTo(Number(vector.clv_fair), 12)
})

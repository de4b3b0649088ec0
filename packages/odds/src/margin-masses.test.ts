import { expect, test } from 'vitest'
import { marginMasses } from './margin-masses.ts'

test('counts every pair of scores once, at home goals minus away goals', () => {
  const { lowest, masses } = marginMasses({ home: [0.5, 0.3, 0.2], away: [0.6, 0.4] })
  expect(lowest).toBe(-1)
  const expected = [0.5 * 0.4, 0.5 * 0.6 + 0.3 * 0.4, 0.3 * 0.6 + 0.2 * 0.4, 0.2 * 0.6]
  expect(masses).toHaveLength(4)
  for (const [index, mass] of expected.entries()) expect(masses[index]).toBeCloseTo(mass, 15)
})

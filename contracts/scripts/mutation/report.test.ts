import { expect, test } from 'vitest'
import { scoreOf } from './report.ts'
import { resultOf } from './testing/result-of.ts'

const stillborn = resultOf('d', { status: 'stillborn' })

test('the score is of mutants that compile: endless ones count as killed', () => {
  const results = [
    resultOf('a', { status: 'killed', by: 'a test' }),
    resultOf('b', { status: 'timed out', by: 'unit' }),
    resultOf('c', { status: 'survived' }),
    stillborn,
  ]
  expect(scoreOf(results)).toBe(2 / 3)
})

test('a run with nothing to kill has the full score', () => {
  expect(scoreOf([stillborn])).toBe(1)
})

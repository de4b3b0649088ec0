import { describe, expect, test } from 'vitest'
import { reviewSurvivors } from './survivors.ts'
import { resultOf } from './testing/result-of.ts'

const survivor = resultOf('a', { status: 'survived' })
const killed = resultOf('b', { status: 'killed', by: 'test/A.t.sol:A.test' })
const stopped = resultOf('c', { status: 'timed out', by: 'unit' })
const unborn = resultOf('d', { status: 'stillborn' })
const keys = new Set(['a', 'b', 'c', 'd', 'untried'])
const results = [survivor, killed, stopped, unborn]

const review = (listed: readonly string[]) =>
  reviewSurvivors(results, new Map(listed.map((key) => [key, 'a reason'])), keys)

describe('the list of survivors beside a run', () => {
  test('a survivor needs a reason', () => {
    expect(review([])).toEqual({ unexplained: [survivor], stale: [] })
    expect(review(['a'])).toEqual({ unexplained: [], stale: [] })
  })

  test('a reason is stale if its mutant is gone, killed or stillborn', () => {
    expect(review(['a', 'gone', 'b', 'd']).stale).toEqual(['gone', 'b', 'd'])
  })

  test('a reason is not stale if its mutant was not tried, or was stopped', () => {
    expect(review(['a', 'untried', 'c']).stale).toEqual([])
  })
})

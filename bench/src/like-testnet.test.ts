import { expect, test } from 'vitest'
import { markdownTable } from './figure-table.ts'
import { readResult } from './keep-results.ts'
import { LIKE_TESTNET, SUITES } from './suites.ts'

const isOfAccess = (suite: string, name: string): boolean =>
  suite.startsWith('access-') || name.includes('/access')

test('every figure of access stands beside its value on a network like testnet', () => {
  const missing = Object.keys(SUITES).flatMap((suite) => {
    const result = readResult(suite)
    return (result?.figures ?? [])
      .filter(({ name }) => isOfAccess(suite, name))
      .filter(({ name }) => result?.likeTestnet?.values[name] === undefined)
      .map(({ name }) => `${suite}: ${name}`)
  })
  expect(missing).toEqual([])
})

test('every suite of access has a kept result and measures that column', () => {
  const suites = Object.keys(SUITES).filter((suite) => suite.startsWith('access-'))
  expect(suites.filter((suite) => readResult(suite) === undefined)).toEqual([])
  expect(suites.filter((suite) => !(suite in LIKE_TESTNET))).toEqual([])
})

test('the column is empty where a figure has nothing to do with access', () => {
  const run = { measuredOn: '2026-11-23', loadAverage: { before: 0.1, after: 0.2 } }
  const figure = {
    unit: 'ms',
    baseline: { name: 'bare', value: 1 },
    ratio: 0.5,
    aim: '–',
    met: true,
  }
  const table = markdownTable([
    {
      suite: 'some',
      machine: 'a machine',
      ...run,
      figures: [
        { ...figure, name: 'a', value: 2 },
        { ...figure, name: 'b', value: 3 },
      ],
      likeTestnet: { ...run, values: { a: 4_000 } },
    },
  ])
  expect(table).toContain('| some | a | 2 ms | 1 ms (bare) | 0.50 × | – | – | 4000 ms |')
  expect(table).toContain('| some | b | 3 ms | 1 ms (bare) | 0.50 × | – | – |  |')
  expect(table).toContain(
    'some: 2026-11-23, load average 0.1 to 0.2, a machine; like testnet: 2026-11-23',
  )
})

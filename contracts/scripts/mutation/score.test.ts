import { expect, test } from 'vitest'
import { counted, scoreOf, tallyOf } from './score.ts'
import { resultOf } from './testing/result-of.ts'

test('equal code counts once, endless mutants count as killed, stillborn and equivalent ones do not count', () => {
  const results = [
    resultOf('1', { status: 'killed', by: 'a test' }),
    resultOf('1', { status: 'killed', by: 'a test' }),
    resultOf('2', { status: 'timed out', by: 'unit' }),
    resultOf('3', { status: 'survived' }),
    resultOf('', { status: 'stillborn' }),
    resultOf('', { status: 'stillborn' }),
    resultOf('own', { status: 'equivalent' }),
  ]
  const tally = tallyOf(counted(results).map(([, status]) => status))
  expect(tally).toEqual({ killed: 2, survived: 1, stillborn: 2, equivalent: 1, duplicate: 1 })
  expect(scoreOf(tally)).toBe(2 / 3)
})

test('a run with nothing to kill has the full score', () => {
  expect(scoreOf(tallyOf(['stillborn', 'equivalent']))).toBe(1)
})

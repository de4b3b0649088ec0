import type { Outcome, Result } from '../results.ts'

/** A result for an arbitrary mutant of that key. */
export const resultOf = (key: string, outcome: Outcome): Result => ({
  outcome,
  mutant: {
    key,
    file: 'src/A.sol',
    line: 1,
    operator: 'boolean',
    range: { start: 0, end: 0 },
    replacement: '',
  },
})

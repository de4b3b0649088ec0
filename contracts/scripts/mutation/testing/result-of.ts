import type { Outcome, Result } from '../campaign.ts'

/** The result of a mutant of no importance, whose key and code have one name. */
export const resultOf = (name: string, outcome: Outcome): Result => ({
  outcome,
  digest: name,
  mutant: {
    key: name,
    file: 'src/A.sol',
    line: 1,
    operator: 'order',
    range: { start: 0, end: 0 },
    replacement: '',
  },
})

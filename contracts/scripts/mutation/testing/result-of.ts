import type { Outcome, Result } from '../campaign.ts'

/** A result for an arbitrary mutant whose key and code share a name. */
export const resultOf = (name: string, outcome: Outcome): Result => ({
  outcome,
  digest: name,
  mutant: {
    key: name,
    file: 'src/A.sol',
    line: 1,
    operator: 'boolean',
    range: { start: 0, end: 0 },
    replacement: '',
  },
})

import type { Result } from './campaign.ts'

/** How many mutants had each outcome. Mutants with equal code count once, the rest as duplicates. */
export type Tally = {
  readonly killed: number
  readonly survived: number
  readonly stillborn: number
  readonly equivalent: number
  readonly duplicate: number
}

type Status = keyof Tally

const statusOf = ({ outcome, digest }: Result, isSeen: (digest: string) => boolean): Status => {
  if (outcome.status === 'stillborn' || outcome.status === 'equivalent') return outcome.status
  if (isSeen(digest)) return 'duplicate'
  return outcome.status === 'timed out' ? 'killed' : outcome.status
}

/** Each result with what it counts as, in result order. */
export function counted(results: readonly Result[]): readonly (readonly [Result, Status])[] {
  const seen = new Set<string>()
  return results.map((result) => {
    const status = statusOf(result, (digest) => seen.has(digest))
    seen.add(result.digest)
    return [result, status] as const
  })
}

export function tallyOf(statuses: readonly Status[]): Tally {
  const tally = { killed: 0, survived: 0, stillborn: 0, equivalent: 0, duplicate: 0 }
  for (const status of statuses) tally[status]++
  return tally
}

/** The share killed of those that could be, 0 to 1; 1 if there were none. */
export const scoreOf = ({ killed, survived }: Tally): number =>
  killed + survived === 0 ? 1 : killed / (killed + survived)

import type { MarginMasses } from './line-result.ts'

/** Probabilities of home goals minus away goals, the two being independent; index 0 of each input is no goal. */
export function marginMasses(goals: {
  readonly home: readonly number[]
  readonly away: readonly number[]
}): MarginMasses {
  const lowest = 1 - goals.away.length
  const masses = Array.from({ length: goals.home.length - lowest }, () => 0)
  for (const [scored, ofHome] of goals.home.entries())
    for (const [conceded, ofAway] of goals.away.entries()) {
      const index = scored - conceded - lowest
      masses[index] = (masses[index] ?? 0) + ofHome * ofAway
    }
  return { lowest, masses }
}

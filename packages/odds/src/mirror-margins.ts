import type { MarginMasses } from './line-result.ts'

/** The same margins seen from the other side: home's become away's, totals become their negatives for the under. */
export function mirrorMargins({ lowest, masses }: MarginMasses): MarginMasses {
  return { lowest: 1 - lowest - masses.length, masses: masses.toReversed() }
}

import type { Normalised } from '../domain/closes/observation.ts'

/** All slices of a file as one reading. */
export function wholeReading(slices: Iterable<Normalised>): Normalised {
  const all = [...slices]
  const [first] = all
  if (first === undefined) throw new Error('the file says nothing')
  return {
    feed: first.feed,
    observations: all.flatMap(({ observations }) => observations),
    refusals: all.flatMap(({ refusals }) => refusals),
    ignoredColumns: first.ignoredColumns ?? [],
    missingPrices: all.reduce((sum, { missingPrices }) => sum + missingPrices, 0),
  }
}

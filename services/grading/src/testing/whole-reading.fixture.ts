import type { Normalised } from '../domain/observation.ts'

/** What all slices of a file say, as one. */
export function wholeReading(slices: Iterable<Normalised>): Normalised {
  const all = [...slices]
  const [first] = all
  if (first === undefined) throw new Error('the file says nothing')
  return {
    feed: first.feed,
    observations: all.flatMap(({ observations }) => observations),
    refusals: all.flatMap(({ refusals }) => refusals),
    missingPrices: all.reduce((sum, { missingPrices }) => sum + missingPrices, 0),
  }
}

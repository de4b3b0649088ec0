/** The value below which `share` (0 to 1) of the values lie. Throws for no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const found = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  if (found === undefined) throw new RangeError('no values were measured')
  return found
}

/** The middle value. Throws for no values. */
export const median = (values: readonly number[]): number => quantile(values, 0.5)

/**
 * The median over batches of so many consecutive values of a batch's quantile: a pause of the machine spoils one batch. Throws
 * for no values.
 */
export function quantileOfBatches(
  values: readonly number[],
  { batchSize, share }: { readonly batchSize: number; readonly share: number },
): number {
  const batches = Array.from({ length: Math.ceil(values.length / batchSize) }, (_, batch) =>
    values.slice(batch * batchSize, (batch + 1) * batchSize),
  )
  return median(batches.map((batch) => quantile(batch, share)))
}

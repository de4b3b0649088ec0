/** Sums over clusters (events) of some quantities, and of their products in pairs; whole numbers of any size. */
export type MomentSums = {
  clusters: number
  /** Sum of each quantity. */
  readonly first: bigint[]
  /** Sum of the product of quantities i ≤ j, row by row: (0,0), (0,1), …, (1,1), … */
  readonly second: bigint[]
}

/** Sums of no cluster, over this many quantities. */
export function noMoments(quantities: number): MomentSums {
  return {
    clusters: 0,
    first: Array.from({ length: quantities }, () => 0n),
    second: Array.from({ length: (quantities * (quantities + 1)) / 2 }, () => 0n),
  }
}

/** Adds (sign 1) or takes back (sign -1) one cluster's quantities, in place. Taking back what was added is exact. */
export function addMoments(sums: MomentSums, values: readonly bigint[], sign: 1 | -1): void {
  const factor = BigInt(sign)
  sums.clusters += sign
  let place = 0
  for (let i = 0; i < values.length; i++) {
    const value = factor * (values[i] ?? 0n)
    sums.first[i] = (sums.first[i] ?? 0n) + value
    for (let j = i; j < values.length; j++) {
      sums.second[place] = (sums.second[place] ?? 0n) + value * (values[j] ?? 0n)
      place += 1
    }
  }
}

/** The sum of the product of quantities `i` and `j`, as a number. */
export function secondMoment(
  sums: MomentSums,
  { i, j }: { readonly i: number; readonly j: number },
): number {
  const quantities = sums.first.length
  const [low, high] = i <= j ? [i, j] : [j, i]
  return Number(sums.second[low * quantities - (low * (low - 1)) / 2 + (high - low)] ?? 0n)
}

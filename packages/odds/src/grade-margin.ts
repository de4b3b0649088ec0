import { GRADE_BANDS } from './grade-bands.ts'
import { toBillionths } from './to-billionths.ts'

/** The distance, a fraction ≥ 0, from a closing-line value to the nearest edge of a band: small means a close call. */
export function gradeMargin(value: number): number {
  const billionths = toBillionths(value)
  let nearest = Infinity
  for (const { fromBillionths } of GRADE_BANDS)
    nearest = Math.min(nearest, Math.abs(billionths - fromBillionths))
  return nearest / 1e9
}

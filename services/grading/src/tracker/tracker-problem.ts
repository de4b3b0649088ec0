/** Why a row of a tracker's file is no pick: what it lacks, what its reader is asked, or what no close can grade. */

import type { RowCause, RowOption } from '../wire/coverage.ts'
import type { WirePick } from '../wire/requests.ts'

/** One answer to a question: what it means, and the pick with it or the members of the request that say it for the file. */
type TrackerOption = { readonly label: string } & (
  | { readonly bet: WirePick }
  | { readonly set: NonNullable<RowOption['set']> }
)

/** What a row lacks, or says unclearly. */
export type TrackerProblem = {
  readonly field: string
  readonly expected: string
  /** `not_read` by default. */
  readonly code?: RowCause['code']
  /** What the reader may answer with a click. */
  readonly options?: readonly TrackerOption[]
}

export const problem = (
  field: string,
  expected: string,
  code: RowCause['code'] = 'not_read',
): TrackerProblem => ({ field, expected, code })

/** A row that may be read in several ways. */
export const question = (
  field: string,
  expected: string,
  options: readonly TrackerOption[],
): TrackerProblem => ({ field, expected, code: 'unclear', options })

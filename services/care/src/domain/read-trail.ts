/** The trail of reads: who was given which record, and who asked for one in vain. It never holds a value. */

/** One record in one answer. */
export type ReadRow = {
  /** The token's `sub`. */
  readonly actor: string
  /** The method, tool or route by which it was asked for: `resources/read`, `verify/export`. */
  readonly way: string
  /** `not_found` is also what the caller may not see: the trail tells as little as the answer. */
  readonly outcome: 'served' | 'not_found' | 'broken'
  readonly uri: string
}

/** The trail of reads: who was given which record, and who asked for one in vain. It never holds a value. */

/** One record in one answer. */
export type ReadRow = {
  /** ISO 8601. */
  readonly at: string
  /** The token's `sub`. */
  readonly actor: string
  /** The method, tool or route by which it was asked for: `resources/read`, `verify/export`. */
  readonly way: string
  /** `not_found` is also what the caller may not see: the trail tells as little as the answer. */
  readonly outcome: 'served' | 'not_found' | 'broken'
  readonly uri: string
}

/** A row with its position in the trail, from 1 in order of arrival. */
export type KeptReadRow = ReadRow & { readonly sequence: number }

export type ReadTrail = {
  /** Rows are written in groups: a kill may take those of the last second. */
  note(row: ReadRow): void
  /** Newest first, of those with a sequence below `before`, of one chain or one reader where they are named. */
  read(query: {
    readonly limit: number
    readonly before?: number | undefined
    readonly chain?: string | undefined
    readonly actor?: string | undefined
  }): Promise<readonly KeptReadRow[]>
  close(): Promise<void>
}

/** The database under the grants: SQLite or PostgreSQL, which understand the same statements here. */

export type GrantValue = string | number | null
export type GrantRow = Readonly<Record<string, GrantValue>>

/** Both reject with `GrantStoreUnavailable`. Parameters are `$1`, `$2`, …; a statement may run twice if its answer was lost. */
export type GrantDatabase = {
  read(sql: string, values?: readonly GrantValue[]): Promise<readonly GrantRow[]>
  /** Committed once it resolves; rows are those that the statement returns. */
  write(sql: string, values?: readonly GrantValue[]): Promise<readonly GrantRow[]>
  close(): Promise<void>
}

/** The database cannot be opened, read or written. */
export class GrantStoreUnavailable extends Error {
  override readonly name = 'GrantStoreUnavailable'
}

/** What node:sqlite throws. `errcode` is SQLite's extended result code. */
export type SqliteError = Error & { readonly errcode: number }

/** Another connection holds the lock. */
export const SQLITE_BUSY = 5

/** Whether an error came from SQLite. */
export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
}

/** What one kind of store on SQLite is: its file, its journals, and the files beside it. */
import { besideDatabase } from './private-file.ts'
import { type SqliteFileKind, type SqliteLock, takeSqliteLock } from './sqlite-database.ts'
import type { SqliteJournalTable } from './sqlite-journal.ts'
import type { SqliteKind } from './sqlite-journals.ts'
import type { StoreKind } from './store-kind.ts'

export type SqliteStoreKind<Name extends string> = SqliteFileKind &
  StoreKind<Name, SqliteJournalTable>

/** Whether the store is for one process. */
const hasLock = <Name extends string>(kind: SqliteStoreKind<Name> | SqliteKind<Name>): boolean =>
  'isAlone' in kind
    ? kind.isAlone
    : Object.values<SqliteJournalTable>(kind.journals).some(({ head }) => head === 'counted')

/** Takes the store's lock if its kind has one; throws the service's error at once if another process holds it. */
export const takeStoreLock = <Name extends string>(
  kind: SqliteStoreKind<Name> | SqliteKind<Name>,
  databasePath: string,
): SqliteLock =>
  takeSqliteLock(
    hasLock(kind) ? besideDatabase(databasePath, '.lock') : undefined,
    kind.Unavailable,
  )

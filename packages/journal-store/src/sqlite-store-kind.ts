/** What one kind of store on SQLite is: its file, its journals, and the files beside it. */
import { type CheckpointFile, checkpointFile, type StoreOwner } from './checkpoint-file.ts'
import { besideDatabase } from './private-file.ts'
import type { SealKind } from './sealed-bodies.ts'
import { type SqliteFileKind, type SqliteLock, takeSqliteLock } from './sqlite-database.ts'
import type { SqliteJournalTable } from './sqlite-journal.ts'

/** What one service's store is. */
export type SqliteStoreKind<Name extends string> = SqliteFileKind & {
  readonly journals: Readonly<Record<Name, SqliteJournalTable>>
  /** Writes in one transaction at most. */
  readonly writesPerCommitMax: number
  /** Where bodies may be sealed. */
  readonly seal?: SealKind
  /** The command that signs a restored backup, such as `care accept-backup`. */
  readonly acceptCommand: string
}

/** The same for each journal of a kind, by its name. */
export function eachJournal<Name extends string, Made>(
  kind: Pick<SqliteStoreKind<Name>, 'journals'>,
  make: (table: SqliteJournalTable, name: Name) => Made,
): Readonly<Record<Name, Made>> {
  const made = Object.entries<SqliteJournalTable>(kind.journals).map(([name, table]) => [
    name,
    make(table, name as Name),
  ])
  return Object.fromEntries(made) as Readonly<Record<Name, Made>>
}

/** The checkpoint files of a store. */
export const checkpointFilesOf = <Name extends string>(
  kind: SqliteStoreKind<Name>,
  owner: StoreOwner,
): Readonly<Record<Name, CheckpointFile>> =>
  eachJournal(kind, (table) => checkpointFile({ ...table, owner, Unavailable: kind.Unavailable }))

/** Whether the store is for one process. */
const hasLock = <Name extends string>(kind: SqliteStoreKind<Name>): boolean =>
  Object.values<SqliteJournalTable>(kind.journals).some(({ head }) => head === 'counted')

/** Takes the store's lock, where its kind has one; throws the service's error at once where another process holds it. */
export const takeStoreLock = <Name extends string>(
  kind: SqliteStoreKind<Name>,
  databasePath: string,
): SqliteLock =>
  takeSqliteLock(
    hasLock(kind) ? besideDatabase(databasePath, '.lock') : undefined,
    kind.Unavailable,
  )

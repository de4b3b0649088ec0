import type { DatabaseSync } from 'node:sqlite'

/** A kind of file of ours. */
export type DatabaseKind = {
  /** Four letters in ASCII, so that another program's database is not taken for one of ours. */
  readonly applicationId: number
  /** Each takes the schema one version further; `user_version` counts those that were applied. */
  readonly migrations: readonly string[]
}

type Connection = Pick<DatabaseSync, 'exec' | 'prepare'>

const numberOf = (database: Connection, pragma: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])

/** How many migrations the file has. Throws where it is not of this kind, or newer than this program. */
function appliedOf(database: Connection, { applicationId, migrations }: DatabaseKind): number {
  const isEmpty = numberOf(database, 'schema_version') === 0
  if (!isEmpty && numberOf(database, 'application_id') !== applicationId)
    throw new Error('this is a database of another program')
  const applied = numberOf(database, 'user_version')
  if (applied > migrations.length)
    throw new Error(`its schema ${applied} is newer than this program`)
  return applied
}

/**
 * Brings a file's schema up to date, making it in an empty file; several processes may do so at once. Throws where the file
 * is another program's or newer; the connection is to be closed then, which takes back what was begun.
 */
export function applyMigrations(database: Connection, kind: DatabaseKind): void {
  const { applicationId, migrations } = kind
  // Nearly always: nobody has to wait for a lock to find nothing to do.
  if (appliedOf(database, kind) === migrations.length) return
  database.exec('BEGIN IMMEDIATE')
  // Asked again: another process may have been first.
  for (const migration of migrations.slice(appliedOf(database, kind))) database.exec(migration)
  database.exec(`PRAGMA application_id = ${applicationId}`)
  database.exec(`PRAGMA user_version = ${migrations.length}`)
  database.exec('COMMIT')
}

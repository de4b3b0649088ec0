/** SQLite files: how they are made, updated, checked and locked. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { makePrivateFile } from './private-file.ts'
import { errorMessage, type UnavailableError } from './unavailable.ts'

export type SqliteFileKind = {
  /** Four letters in ASCII, so that another program's database is not taken for one of ours. */
  readonly applicationId: number
  /** The first release's schema, then one step for each release that changes it; `user_version` counts those that were applied. */
  readonly migrations: readonly string[]
  /** How long a statement waits for another process's transaction, milliseconds. */
  readonly busyTimeoutMs: number
  /** The service's own error. */
  readonly Unavailable: UnavailableError
  /** Bytes of a page of a new file, a power of two up to 65,536; SQLite's 4,096 unless given. */
  readonly pageBytes?: number
  /** Page cache of each connection; SQLite's 2,000 unless given. */
  readonly cacheKib?: number
  /** Whether each opening reads the whole file for damage, and compares its schema with the migrations. */
  readonly isCheckedAtOpening?: boolean
}

type Connection = Pick<DatabaseSync, 'exec' | 'prepare'>
type Migrated = Pick<SqliteFileKind, 'applicationId' | 'migrations'>

const readNumber = (database: Connection, pragma: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])

/** How many migrations the file has. Throws if it is of another kind, or newer than this program. */
function countApplied(database: Connection, { applicationId, migrations }: Migrated): number {
  const isEmpty = readNumber(database, 'schema_version') === 0
  if (!isEmpty && readNumber(database, 'application_id') !== applicationId)
    throw new Error('this is a database of another program')
  const applied = readNumber(database, 'user_version')
  if (applied > migrations.length)
    throw new Error(`its schema ${applied} is newer than this program`)
  return applied
}

/**
 * Brings a file's schema up to date, or makes it in an empty file; several processes may do so at once. Throws if the file is
 * another program's or newer; closing the connection then rolls back what was begun.
 */
export function applyMigrations(database: Connection, kind: Migrated): void {
  const { applicationId, migrations } = kind
  // The usual case takes no lock.
  if (countApplied(database, kind) === migrations.length) return
  database.exec('BEGIN IMMEDIATE')
  // Checked again: another process may have been first.
  for (const migration of migrations.slice(countApplied(database, kind))) database.exec(migration)
  database.exec(`PRAGMA application_id = ${applicationId}`)
  database.exec(`PRAGMA user_version = ${migrations.length}`)
  database.exec('COMMIT')
}

/** Runs SQLite's integrity check; undefined if the file is whole. */
export function findDamage(database: DatabaseSync): string | undefined {
  const found = database.prepare('PRAGMA integrity_check(1)').get()
  const finding = String(Object.values(found ?? {})[0])
  return finding === 'ok' ? undefined : finding
}

/** Everything that `sqlite_schema` says, in one text: a damaged definition differs from a fresh one. */
function schemaText(database: DatabaseSync): string {
  const sql = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name'
  return JSON.stringify(database.prepare(sql).all())
}

function hasSchema(database: DatabaseSync, migrations: readonly string[]): boolean {
  const fresh = new DatabaseSync(':memory:')
  try {
    for (const migration of migrations) fresh.exec(migration)
    return schemaText(database) === schemaText(fresh)
  } finally {
    fresh.close()
  }
}

/**
 * Opens a file to write, and makes it if there is none unless it must exist: WAL, and an fsync with each transaction. Throws
 * the kind's error if it is damaged, altered, newer or another program's.
 */
export function openSqliteFile(path: string, kind: SqliteFileKind, must?: 'exist'): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (must === 'exist' && !existsSync(path)) throw new Error('there is no such file')
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: kind.busyTimeoutMs })
    countApplied(database, kind)
    // A file that has pages keeps their size.
    if (kind.pageBytes !== undefined) database.exec(`PRAGMA page_size = ${kind.pageBytes}`)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    const damage = kind.isCheckedAtOpening === true ? findDamage(database) : undefined
    if (damage !== undefined) throw new Error(`the integrity check says: ${damage}`)
    applyMigrations(database, kind)
    if (kind.isCheckedAtOpening === true) requireWhole(database, kind)
    return database
  } catch (error) {
    database?.close()
    const reason = `${path} cannot be opened: ${errorMessage(error)}`
    throw new kind.Unavailable(reason, { cause: error })
  }
}

function requireWhole(database: DatabaseSync, { migrations }: SqliteFileKind): void {
  // A damaged header can make a file read-only. That must show now, not at the first write.
  database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${migrations.length}; ROLLBACK`)
  if (!hasSchema(database, migrations)) throw new Error('its schema was altered')
}

/** Opens a file to read, even beside a running service. Throws the kind's error. */
export function openSqliteReader(path: string, kind: SqliteFileKind): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: kind.busyTimeoutMs })
    countApplied(database, kind)
    if (kind.isCheckedAtOpening === true && !hasSchema(database, kind.migrations))
      throw new Error('its schema is not that of this program; start the service once')
    return database
  } catch (error) {
    database?.close()
    const reason = `${path} cannot be read: ${errorMessage(error)}`
    throw new kind.Unavailable(reason, { cause: error })
  }
}

/** The right to append to a store, held by one process at a time. */
type SqliteLock = { release(): void }

/** Another connection holds the lock. */
const SQLITE_BUSY = 5

/**
 * Takes a lock file, or throws the service's error at once if another process holds it. An exclusive transaction on an
 * otherwise empty SQLite file is a lock of the operating system: it ends with its process, even after kill -9, and leaves the
 * store itself open to readers.
 */
export function takeSqliteLock(
  path: string | undefined,
  Unavailable: UnavailableError,
): SqliteLock {
  if (path === undefined) return { release: () => undefined }
  let database: DatabaseSync | undefined
  try {
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
    const locked = database
    return { release: () => locked.close() }
  } catch (error) {
    database?.close()
    const isHeld = error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
    const reason = isHeld
      ? 'another process has this store open (one process at a time may write to it)'
      : 'the lock file cannot be opened'
    throw new Unavailable(`${path}: ${reason}`, { cause: error })
  }
}

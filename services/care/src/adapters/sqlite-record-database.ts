// Opening the file that holds the records: checks it whole, brings its schema up to date, and refuses what is damaged.
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { APPLICATION_ID, freshSchemaText, MIGRATIONS, schemaText } from './sqlite-record-schema.ts'
import { makePrivateFile } from './store-private-file.ts'

/**
 * How long a statement waits for another process's write, milliseconds: `care reseal` writes in transactions of a few
 * milliseconds while the service runs.
 */
export const BUSY_TIMEOUT_MS = 2_000

const numberOf = (database: DatabaseSync, pragma: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])

function requireWhole(database: DatabaseSync): void {
  const [first] = database.prepare('PRAGMA integrity_check(1)').all()
  const finding = String(Object.values(first ?? {})[0])
  if (finding !== 'ok') throw new Error(`the integrity check says: ${finding}`)
}

function requireOurs(database: DatabaseSync): void {
  const isEmpty = numberOf(database, 'schema_version') === 0
  if (!isEmpty && numberOf(database, 'application_id') !== APPLICATION_ID)
    throw new Error('this is a database of another program')
}

function migrate(database: DatabaseSync): void {
  const applied = numberOf(database, 'user_version')
  if (applied > MIGRATIONS.length)
    throw new Error(
      `its schema ${applied} is newer than this program, which knows ${MIGRATIONS.length}`,
    )
  if (applied === MIGRATIONS.length) return
  database.exec('BEGIN IMMEDIATE')
  for (const migration of MIGRATIONS.slice(applied)) database.exec(migration)
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  database.exec('COMMIT')
}

/** Opens the records to write, making them where there are none unless they must exist. Throws RecordStoreUnavailable. */
export function openRecordDatabase(path: string, must?: 'existing'): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (must === 'existing' && !existsSync(path)) throw new Error('there is no such file')
    makePrivateFile(path)
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    requireOurs(database)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    requireWhole(database)
    migrate(database)
    // A damaged header can make a file read-only; that shall not wait for the first write.
    database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${MIGRATIONS.length}; ROLLBACK`)
    if (schemaText(database) !== freshSchemaText()) throw new Error('its schema was altered')
    return database
  } catch (error) {
    database?.close()
    throw new RecordStoreUnavailable(`${path} cannot be opened: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** Opens the records to read beside a running service. Throws RecordStoreUnavailable. */
export function openRecordDatabaseReadOnly(path: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    requireOurs(database)
    if (schemaText(database) !== freshSchemaText())
      throw new Error('its schema is not that of this program; start the service once')
    return database
  } catch (error) {
    database?.close()
    throw new RecordStoreUnavailable(`${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

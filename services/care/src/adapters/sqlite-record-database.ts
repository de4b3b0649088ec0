// The file that holds the records: its schema, how it is opened and checked, and what its failures become. A version is one
// row of its audience's table, and that table in order of `leaf_index` is the journal: the partition between audiences
// reaches down to the pages. A row's body is the journal entry; nothing else says what the record is.
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { makePrivateFile } from './store-files.ts'

/** The table of an audience's versions. */
export const VERSION_TABLES: Readonly<Record<Audience, string>> = {
  user: 'user_versions',
  assistant: 'assistant_versions',
}

/** "Taly" in ASCII, so that another program's database is not taken for a store. */
const APPLICATION_ID = 0x54616c79
/**
 * How long a statement waits for another process's write, milliseconds: `care reseal` writes in transactions of a few
 * milliseconds while the service runs.
 */
export const BUSY_TIMEOUT_MS = 2_000

const versionTable = (table: string): string => `
CREATE TABLE ${table} (
  leaf_index INTEGER PRIMARY KEY, -- in the journal, from 0
  chain INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at TEXT NOT NULL, -- as in the entry, for queries by time
  leaf_hash TEXT NOT NULL, -- RFC 9162, hex
  body ANY NOT NULL -- the journal entry: text in the clear, blob sealed
) STRICT;
CREATE UNIQUE INDEX ${table}_by_chain ON ${table} (chain, version);`

/** Each string takes the schema one version further; `user_version` counts those that were applied. */
const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE chains (
  id INTEGER PRIMARY KEY,
  patient TEXT NOT NULL,
  domain TEXT NOT NULL,
  audience TEXT NOT NULL CHECK (audience IN ('user', 'assistant')),
  latest_version INTEGER NOT NULL CHECK (latest_version BETWEEN 1 AND 1000000000000),
  head_hash TEXT NOT NULL -- hash of the newest version, hex
) STRICT;
CREATE UNIQUE INDEX chains_by_name ON chains (patient, domain);
CREATE INDEX chains_by_audience ON chains (audience, id);
${versionTable(VERSION_TABLES.user)}
${versionTable(VERSION_TABLES.assistant)}
CREATE TABLE requests (
  mac_hash TEXT NOT NULL, -- SHA-256 of the signed write's MAC, hex
  expires_at_ms INTEGER NOT NULL,
  audience TEXT NOT NULL,
  leaf_index INTEGER NOT NULL,
  subscribers INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX requests_by_mac ON requests (mac_hash);
-- Holds every column, so that the integrity check at opening compares each with its copy.
CREATE INDEX requests_whole ON requests (expires_at_ms, mac_hash, audience, leaf_index, subscribers);
CREATE TABLE seal_keys (
  key_id TEXT PRIMARY KEY, -- every key that some body may be sealed under
  proof BLOB NOT NULL -- a known text sealed under it: tells a wrong key at once
) STRICT;`,
]

/** Everything that `sqlite_schema` says, in one text: a damaged definition differs from a fresh one. */
function schemaText(database: DatabaseSync): string {
  const sql = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name'
  return JSON.stringify(database.prepare(sql).all())
}

function isSchemaOurs(database: DatabaseSync): boolean {
  const fresh = new DatabaseSync(':memory:')
  try {
    for (const migration of MIGRATIONS) fresh.exec(migration)
    return schemaText(database) === schemaText(fresh)
  } finally {
    fresh.close()
  }
}

const numberOf = (database: DatabaseSync, pragma: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0])

/** What SQLite's integrity check finds; undefined where the file is whole. */
export function findDamage(database: DatabaseSync): string | undefined {
  const found = database.prepare('PRAGMA integrity_check(1)').get()
  const finding = String(Object.values(found ?? {})[0])
  return finding === 'ok' ? undefined : finding
}

function requireOurs(database: DatabaseSync): void {
  const isEmpty = numberOf(database, 'schema_version') === 0
  if (!isEmpty && numberOf(database, 'application_id') !== APPLICATION_ID)
    throw new Error('this is a database of another program')
}

function migrate(database: DatabaseSync): void {
  const applied = numberOf(database, 'user_version')
  const known = MIGRATIONS.length
  if (applied > known)
    throw new Error(`its schema ${applied} is newer than this program, which knows ${known}`)
  if (applied === known) return
  database.exec('BEGIN IMMEDIATE')
  for (const migration of MIGRATIONS.slice(applied)) database.exec(migration)
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${known}; COMMIT`)
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
    const damage = findDamage(database)
    if (damage !== undefined) throw new Error(`the integrity check says: ${damage}`)
    migrate(database)
    // A damaged header can make a file read-only; that must not wait for the first write.
    database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${MIGRATIONS.length}; ROLLBACK`)
    if (!isSchemaOurs(database)) throw new Error('its schema was altered')
    return database
  } catch (error) {
    database?.close()
    const reason = `${path} cannot be opened: ${messageOf(error)}`
    throw new RecordStoreUnavailable(reason, { cause: error })
  }
}

/** Opens the records to read beside a running service. Throws RecordStoreUnavailable. */
export function openRecordDatabaseReadOnly(path: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    requireOurs(database)
    if (!isSchemaOurs(database))
      throw new Error('its schema is not that of this program; start the service once')
    return database
  } catch (error) {
    database?.close()
    const reason = `${path} cannot be read: ${messageOf(error)}`
    throw new RecordStoreUnavailable(reason, { cause: error })
  }
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** What SQLite throws, as the port's one error; anything else as it is. */
function asUnavailable(error: unknown): unknown {
  return error instanceof Error && 'errcode' in error
    ? new RecordStoreUnavailable(`the store cannot be used: ${error.message}`, { cause: error })
    : error
}

/** What `open` returns; its failures are the port's. */
export function guardedOpening<Opened>(open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    throw asUnavailable(error)
  }
}

/** The same function, whose failures are the port's. */
export function guarded<Values extends readonly unknown[], Result>(
  run: (...values: Values) => Promise<Result>,
): (...values: Values) => Promise<Result> {
  return async (...values) => {
    try {
      return await run(...values)
    } catch (error) {
      throw asUnavailable(error)
    }
  }
}

/** The same for what yields. */
export function guardedStream<Query, Item>(
  run: (query: Query) => AsyncIterable<Item>,
): (query: Query) => AsyncGenerator<Item> {
  return async function* stream(query) {
    try {
      yield* run(query)
    } catch (error) {
      throw asUnavailable(error)
    }
  }
}

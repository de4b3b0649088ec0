// Which engine keeps records, sessions and audit rows: PostgreSQL where a connection string names one, else SQLite's files. Also
// what an operator does to a store, on either.
import type { KeyRing } from '@tallystick/hashchain'
import { checkpointOrigin, type StoreOwner } from '@tallystick/journal-store'
import { type Clock, checkpointSeedOf, type Secret, serverOf } from '@tallystick/service-kit'
import type { AuditTrail } from '../domain/publish-record.ts'
import { type RecordStore, RecordStoreUnavailable } from '../domain/record-store.ts'
import type { SessionStore } from '../domain/session-store.ts'
import type { AuditRow, KeptAuditRow } from '../wire/write.ts'
import type { AuditQuery } from './batched-audit-trail.ts'
import {
  acceptedOf,
  acceptBackup as acceptFiles,
  loadCheckpointSeed,
  resealRecords as resealFiles,
} from './record-upkeep.ts'
import { openSqliteAuditTrail, readSqliteAuditRows } from './sqlite-audit-trail.ts'
import { sessionsPath } from './sqlite-record-database.ts'
import { openSqliteRecordReader, openSqliteRecordStore } from './sqlite-record-store.ts'
import { openSqliteSessionStore } from './sqlite-session-store.ts'

/** The variables that say where; with DATABASE_URL the key is there (storeConfigFault). */
export type StoreConfig = {
  readonly DATABASE_PATH: string
  readonly DATABASE_URL?: Secret | undefined
  readonly CHECKPOINT_KEY?: Secret | undefined
  readonly SEAL_KEYS?: KeyRing | undefined
  readonly BASE_URL: string
  readonly SERVICE_NAME: string
}

type Place = Pick<StoreConfig, 'DATABASE_PATH' | 'DATABASE_URL'>

/** Whose checkpoints: a key is made beside the file if there is none. Throws RecordStoreUnavailable. */
const ownerOf = (config: StoreConfig): StoreOwner => ({
  databasePath: config.DATABASE_PATH,
  checkpointSeed: loadCheckpointSeed(config.DATABASE_PATH, checkpointSeedOf(config)),
  origin: checkpointOrigin(config.BASE_URL, config.SERVICE_NAME),
})

/** The engine behind a connection string: who keeps a file loads no driver. */
const loadPostgres = async () => {
  const [engine, schema, records, sessions, audit] = await Promise.all([
    import('@tallystick/journal-store/postgres'),
    import('./postgres-record-database.ts'),
    import('./postgres-record-store.ts'),
    import('./postgres-session-store.ts'),
    import('./postgres-audit-trail.ts'),
  ])
  return { ...engine, ...schema, ...records, ...sessions, ...audit }
}

type Opening = {
  readonly clock: Clock
  /** Told of what goes wrong in the background. */
  readonly onProblem: (error: unknown) => void
  /** Told of every audit row. */
  readonly onRow?: (row: AuditRow) => void
}

export type Stores = {
  readonly records: RecordStore
  readonly sessions: SessionStore
  readonly audit: AuditTrail
  close(): Promise<void>
}

/** Opens all three, or none. Rejects with RecordStoreUnavailable and its like; their messages are for the operator. */
export async function openStores(config: StoreConfig, opening: Opening): Promise<Stores> {
  const { DATABASE_URL, SEAL_KEYS: keyRing } = config
  const options = { ...ownerOf(config), ...opening, keyRing }
  if (DATABASE_URL === undefined) return openFiles(options)
  const postgres = await loadPostgres()
  const { records, store } = await postgres.openPostgresRecordStore({
    ...options,
    ...serverOf(DATABASE_URL),
  })
  const sessions = postgres.openPostgresSessionStore({ ...opening, store })
  const audit = postgres.openPostgresAuditTrail({ ...opening, store })
  return joined({ records, sessions, audit })
}

async function openFiles(
  options: StoreOwner & Opening & { readonly keyRing: KeyRing | undefined },
): Promise<Stores> {
  const path = sessionsPath(options.databasePath)
  const opened: { close(): Promise<void> }[] = []
  const keep = <Store extends { close(): Promise<void> }>(store: Store): Store => {
    opened.push(store)
    return store
  }
  try {
    const records = keep(openSqliteRecordStore(options))
    const sessions = keep(openSqliteSessionStore({ ...options, path }))
    return joined({ records, sessions, audit: openSqliteAuditTrail({ ...options, path }) })
  } catch (error) {
    for (const store of opened.toReversed()) await store.close()
    throw error
  }
}

const joined = (stores: Omit<Stores, 'close'>): Stores => ({
  ...stores,
  close: async () => {
    for (const store of [stores.audit, stores.sessions, stores.records]) await store.close()
  },
})

/** Opens the records to read, also beside a running service. Rejects with RecordStoreUnavailable. */
export async function openRecordReader(
  config: StoreConfig,
): Promise<Pick<RecordStore, 'verify' | 'exportLines' | 'close'>> {
  const { DATABASE_URL, SEAL_KEYS: keyRing } = config
  const options = { ...ownerOf(config), keyRing }
  if (DATABASE_URL === undefined) return openSqliteRecordReader(options)
  const { openPostgresRecordReader } = await loadPostgres()
  return openPostgresRecordReader({ ...options, ...serverOf(DATABASE_URL) })
}

/** Audit rows, newest first, also beside a running service. Rejects with AuditTrailUnavailable. */
export async function readAuditRows(
  { DATABASE_PATH, DATABASE_URL }: Place,
  query: AuditQuery,
): Promise<readonly KeptAuditRow[]> {
  if (DATABASE_URL === undefined) return readSqliteAuditRows(sessionsPath(DATABASE_PATH), query)
  const { PostgresConnection, readPostgresAuditRows } = await loadPostgres()
  const server = { ...serverOf(DATABASE_URL), Unavailable: RecordStoreUnavailable }
  const connection = new PostgresConnection(server)
  try {
    return await readPostgresAuditRows(connection.read, query)
  } finally {
    await connection.end()
  }
}

/**
 * Moves the records of the file into the empty database, or those of the database into a new file; returns the journals' heads.
 * Rejects with RecordStoreUnavailable.
 */
export async function moveStores(
  config: StoreConfig & { readonly DATABASE_URL: Secret },
  toFile: string | undefined,
) {
  const { moveToPostgres, moveToSqlite, RECORDS_MOVE } = await loadPostgres()
  return (toFile === undefined ? moveToPostgres : moveToSqlite)(RECORDS_MOVE, {
    owner: ownerOf(config),
    server: serverOf(config.DATABASE_URL),
    filePath: toFile ?? config.DATABASE_PATH,
    keyRing: config.SEAL_KEYS,
  })
}

/** Makes the schema in a database, or brings it up to date; its owner's URL. Rejects with RecordStoreUnavailable. */
export async function migrateRecords(ownerUrl: Secret): Promise<void> {
  const { migratePostgresStore, POSTGRES_RECORDS } = await loadPostgres()
  await migratePostgresStore(POSTGRES_RECORDS, serverOf(ownerUrl))
}

/** Signs the journals as they are found, so that a restored backup opens again. Rejects with RecordStoreUnavailable. */
export async function acceptStore(config: StoreConfig) {
  const { DATABASE_URL } = config
  const owner = ownerOf(config)
  if (DATABASE_URL === undefined) return acceptFiles(owner)
  const { acceptPostgresBackup, POSTGRES_RECORDS } = await loadPostgres()
  const server = serverOf(DATABASE_URL)
  return acceptedOf(await acceptPostgresBackup(POSTGRES_RECORDS, { ...owner, ...server }))
}

/** Seals every version under the ring's active key, while the service may be running (C16). On PostgreSQL as `care_reseal`. */
export async function resealStore(
  { DATABASE_PATH: databasePath, DATABASE_URL }: Place,
  options: {
    readonly keyRing: KeyRing
    /** Lets others run between transactions. */
    readonly pause: () => Promise<void>
  },
) {
  if (DATABASE_URL === undefined) return resealFiles({ databasePath, ...options })
  const { POSTGRES_RECORDS, resealPostgresStore } = await loadPostgres()
  return resealPostgresStore(POSTGRES_RECORDS, {
    ...serverOf(DATABASE_URL),
    keyRing: options.keyRing,
  })
}

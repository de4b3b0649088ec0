// Which engine keeps records, sessions and audit rows: PostgreSQL if a connection string is given, else SQLite's files. Also
// what an operator does to a store, on either.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { KeyRing } from '@tallystick/hashchain'
import {
  acceptSqliteBackup,
  checkpointOrigin,
  type Lease,
  loadCheckpointSeed,
  OWN_LEASE,
  OWN_PROCESS,
  openDiskProbe,
  type PostgresFigures,
  type ProcessPlace,
  placeFigures,
  type StoreOwner,
  type WriteTrouble,
} from '@tallystick/journal-store'
import type { PostgresDoor, SchemaPart } from '@tallystick/journal-store/postgres'
import { type Clock, chooseSeed, reachServer, type Secret } from '@tallystick/service-kit'
import { type CareConfig, DEFAULT_DATABASE_PATH } from '../config.ts'
import type { AuditTrail } from '../domain/publish-record.ts'
import {
  type DoneBy,
  type KeptErasure,
  type KeptFree,
  type RecordStore,
  RecordStoreUnavailable,
} from '../domain/record-store.ts'
import type { SessionStore } from '../domain/session-store.ts'
import type { Audience } from '../wire/audience.ts'
import type { ChainSlot, NamedChain } from '../wire/record-uri.ts'
import type { AuditRow } from '../wire/write.ts'
import type { ChainKeys } from './keys/chain-keys.ts'
import { backupChainKeys } from './keys/chain-keys-file.ts'
import { acceptKeysPlace, type KeysPlace, openKeys, withKeysPlace } from './keys/open-chain-keys.ts'
import { giveUpSeen } from './outside/witnesses.ts'
import { type ErasedChain, eraseChainIn, type MarkedStore } from './records/chain-erasure.ts'
import { type FreedChain, freeChainIn, freesIn } from './records/chain-freeing.ts'
import {
  openSqliteRecordReader,
  openSqliteRecordStore,
  withSqliteRecords,
} from './records/sqlite-record-store.ts'
import { openAuditTrail } from './rows/audit-rows.ts'
import { endSessions } from './rows/bring-back-rows.ts'
import { openSessionStore } from './rows/session-commits.ts'
import type { SessionPeers } from './rows/session-peers.ts'
import { openSqliteSideRows, postgresSideRows, type SideRows } from './rows/side-rows.ts'
import { chainKeysPath, RECORDS, sessionsPath } from './schemas/sqlite-record-database.ts'

/** The variables that say where; with DATABASE_URL the key is there (storeConfigFault). */
export type StoreConfig = {
  readonly DATABASE_PATH: string
  readonly DATABASE_URL?: Secret | undefined
  readonly CHECKPOINT_KEY?: Secret | undefined
  readonly SEAL_KEYS?: KeyRing | undefined
  readonly BASE_URL: string
  readonly SERVICE_NAME: string
} & KeysPlace

/** What opening a store needs; the store closes the keys. */
const prepareRecords = async (config: StoreConfig) => ({
  ...loadOwner(config),
  keys: config.SEAL_KEYS && (await openKeys(config, config.SEAL_KEYS)),
})

/** The key that signs checkpoints, made beside the file if there is none. Throws RecordStoreUnavailable. */
const loadOwner = (config: StoreConfig): StoreOwner => ({
  databasePath: config.DATABASE_PATH,
  checkpointSeed:
    chooseSeed(config) ?? loadCheckpointSeed(config.DATABASE_PATH, RecordStoreUnavailable),
  origin: checkpointOrigin(config.BASE_URL, config.SERVICE_NAME),
})

/** The engine behind a connection string; a service on SQLite loads no driver. */
const loadPostgres = async () => {
  const [engine, schema, records, peers] = await Promise.all([
    import('@tallystick/journal-store/postgres'),
    import('./schemas/postgres-record-database.ts'),
    import('./records/postgres-record-store.ts'),
    import('./rows/postgres-session-peers.ts'),
  ])
  return { ...engine, ...schema, ...records, ...peers }
}

type Opening = {
  readonly clock: Clock
  /** Whether that clock follows the database's, as those of all its processes do; a test's own does not. */
  readonly followsDatabase?: boolean | undefined
  /** Receives errors from the background. */
  readonly onProblem: (error: unknown) => void
  readonly onRow?: (row: AuditRow) => void
}

/** What the engine decides. */
type Engine = {
  readonly records: RecordStore
  readonly sides: SideRows
  /** Absent where no other process serves the sessions. */
  readonly peers?: SessionPeers
  /** Why a write would fail or wait now; undefined if it would not. */
  readonly writeTrouble: () => Promise<WriteTrouble | undefined>
  /** What the connections to PostgreSQL know of it; absent with a file. */
  readonly postgres?: () => PostgresFigures
  /** This process among the equal ones that serve the records. */
  readonly process: ProcessPlace
  /** Of the work that one of them does for all. */
  readonly lease: Lease
  /** The time that they share. */
  readonly clock: Clock
  /** The process stops: from now on nothing waits long. */
  stopping(): void
}

export type Stores = Engine & {
  readonly sessions: SessionStore
  readonly audit: AuditTrail
  close(): Promise<void>
}

/** Makes the default folder, for its owner alone. */
function prepareDefaultPlace({ DATABASE_PATH }: StoreConfig): void {
  if (DATABASE_PATH === DEFAULT_DATABASE_PATH)
    mkdirSync(dirname(DATABASE_PATH), { recursive: true, mode: 0o700 })
}

/** Opens all of them, or none. Rejects with RecordStoreUnavailable, whose message is for the operator. */
export async function openStores(config: StoreConfig, opening: Opening): Promise<Stores> {
  prepareDefaultPlace(config)
  const engine = await openEngine(config, opening)
  const { clock, peers, records, sides } = engine
  const sessions = openSessionStore(sides, { clock, onProblem: opening.onProblem, peers })
  const audit = openAuditTrail(sides, opening)
  const close = async (): Promise<void> => {
    await audit.close()
    await sessions.close()
    await sides.end()
    await records.close()
  }
  return { ...engine, sessions, audit, close }
}

/** Asks the records and the place of their keys: a new record's key is durable there before the record is. */
function askBoth(
  records: Engine['writeTrouble'],
  { keys, onProblem }: { readonly keys: ChainKeys | undefined } & Opening,
): Engine['writeTrouble'] {
  const askKeys = keys?.place.openProbe(onProblem)
  return async () => {
    // At once: a probe of readiness gives up after 3 s, which either may take.
    const [trouble, ofKeys] = await Promise.all([records(), askKeys?.()])
    return trouble ?? (ofKeys && { ...ofKeys, sentence: `the keys of chains: ${ofKeys.sentence}` })
  }
}

/** This process among those that serve the database, with the time and the lease that they share. */
async function openProcessPlace(
  door: PostgresDoor,
  {
    openPostgresLease,
    openPostgresProcess,
    POSTGRES_RECORDS,
  }: Pick<
    Awaited<ReturnType<typeof loadPostgres>>,
    'openPostgresLease' | 'openPostgresProcess' | 'POSTGRES_RECORDS'
  >,
  { clock, followsDatabase = true, onProblem }: Opening,
) {
  const process = await openPostgresProcess(door, POSTGRES_RECORDS, { onProblem })
  const { schema } = POSTGRES_RECORDS
  const name = { name: 'for all', schema, process: process.id() }
  const lease = await openPostgresLease(door, name, { onProblem })
  const shared = { ...clock, unixMs: () => process.unixMs() }
  return {
    process,
    lease,
    clock: followsDatabase ? shared : clock,
    end: async () => {
      await lease.close()
      await process.close()
    },
  }
}

async function openEngine(config: StoreConfig, opening: Opening): Promise<Engine> {
  const { DATABASE_PATH, DATABASE_URL } = config
  const options = { ...(await prepareRecords(config)), ...opening }
  const { keys, onProblem } = options
  if (DATABASE_URL !== undefined) {
    const { openPostgresRecordStore, openWriteProbe, PostgresDoor, ...postgres } =
      await loadPostgres()
    const server = { noun: 'the records', ...options, ...reachServer(DATABASE_URL) }
    const door = new PostgresDoor({ ...server, Unavailable: RecordStoreUnavailable })
    const place = await openProcessPlace(door, postgres, opening)
    const opened = await openPostgresRecordStore({ ...server, door, clock: place.clock }).catch(
      async (error: unknown) => {
        await place.end()
        throw error
      },
    )
    const probe = openWriteProbe(door, onProblem, postgres.POSTGRES_RECORDS)
    const sides = postgresSideRows(opened.store)
    const { store } = opened
    const peers = postgres.openPostgresSessionPeers(door, { ...place, store, onProblem })
    return {
      ...place,
      records: opened.records,
      sides: {
        ...sides,
        end: async () => void (await Promise.all([probe.end(), place.end()])),
      },
      peers,
      postgres: () => ({ ...door.figures(), ...placeFigures(place) }),
      writeTrouble: askBoth(probe.trouble, options),
      stopping: () => {
        door.stop(onProblem)
        keys?.place.stopping(onProblem)
      },
    }
  }
  const records = await openSqliteRecordStore(options)
  try {
    const disk = openDiskProbe(DATABASE_PATH, onProblem)
    return {
      records,
      sides: openSqliteSideRows(sessionsPath(DATABASE_PATH)),
      process: OWN_PROCESS,
      lease: OWN_LEASE,
      clock: opening.clock,
      writeTrouble: askBoth(disk.trouble, options),
      stopping: () => undefined,
    }
  } catch (error) {
    await records.close()
    throw error
  }
}

/** Opens the records to read, even beside a running service. Rejects with RecordStoreUnavailable. */
export async function openRecordReader(
  config: StoreConfig,
): Promise<Pick<RecordStore, 'verify' | 'exportLines' | 'journals' | 'close'>> {
  const { DATABASE_URL } = config
  const options = await prepareRecords(config)
  if (DATABASE_URL === undefined) return openSqliteRecordReader(options)
  const { openPostgresRecordReader } = await loadPostgres()
  return openPostgresRecordReader({ ...options, ...reachServer(DATABASE_URL) })
}

/**
 * Opens the rows beside the records, even beside a running service; for `read`, only in an existing file. Rejects with
 * RecordStoreUnavailable.
 */
export async function withSideRows<Result>(
  { DATABASE_PATH, DATABASE_URL }: KeysPlace,
  run: (rows: SideRows) => Promise<Result>,
  to: 'read' | 'write' = 'write',
): Promise<Result> {
  if (DATABASE_URL === undefined) {
    const rows = openSqliteSideRows(sessionsPath(DATABASE_PATH), to)
    return run(rows).finally(() => rows.end())
  }
  const { POSTGRES_RECORDS, PostgresConnection, PostgresDoor } = await loadPostgres()
  const { schema, Unavailable } = POSTGRES_RECORDS
  const server = {
    noun: 'the records',
    ...reachServer(DATABASE_URL),
    databasePath: DATABASE_PATH,
    Unavailable,
  }
  const connection = new PostgresConnection(new PostgresDoor(server), { schema })
  const rows = postgresSideRows({
    read: connection.read,
    writeRows: (work, durability) => connection.transaction(work, durability),
  })
  return run(rows).finally(() => connection.end())
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
  await using keys = config.SEAL_KEYS && (await openKeys(config, config.SEAL_KEYS))
  const heads = await (toFile === undefined ? moveToPostgres : moveToSqlite)(RECORDS_MOVE, {
    owner: loadOwner(config),
    server: reachServer(config.DATABASE_URL),
    filePath: toFile ?? config.DATABASE_PATH,
    keyRing: keys?.ownRing,
  })
  // The new file finds its keys beside it.
  if (keys !== undefined && toFile !== undefined && config.CHAIN_KEYS_PATH === undefined)
    await backupChainKeys(keys.place, chainKeysPath(toFile))
  return heads
}

/** Makes the schema in a database, or brings it up to date; its owner's URL. Rejects with RecordStoreUnavailable. */
export async function migrateRecords(ownerUrl: Secret, part: SchemaPart): Promise<void> {
  const { migratePostgresStore, POSTGRES_RECORDS } = await loadPostgres()
  await migratePostgresStore(POSTGRES_RECORDS, reachServer(ownerUrl), part)
}

/**
 * Signs the journals as found, so that a restored backup opens again, and gives up what witnesses have seen beyond it. If
 * anything is missing, all sessions end. Rejects with RecordStoreUnavailable.
 */
export async function acceptStore(
  config: StoreConfig & Pick<CareConfig, 'WITNESSES'>,
  clock: Clock,
) {
  const journals = await signAsFound(config)
  const reader = await openRecordReader(config)
  try {
    const witnesses = await giveUpSeen({ config, clock, journal: reader.journals.user })
    const isLess =
      Object.values(journals).some(({ isContinued }) => !isContinued) ||
      witnesses.some(({ lead }) => lead !== undefined)
    if (isLess) await withSideRows(config, endSessions)
    return { journals, witnesses }
  } finally {
    await reader.close()
  }
}

async function signAsFound(config: StoreConfig) {
  const { DATABASE_URL } = config
  const owner = loadOwner(config)
  if (DATABASE_URL === undefined) return acceptSqliteBackup<Audience>(RECORDS, owner)
  await acceptKeysPlace(config)
  const { acceptPostgresBackup, POSTGRES_RECORDS } = await loadPostgres()
  const server = reachServer(DATABASE_URL)
  return acceptPostgresBackup<Audience>(POSTGRES_RECORDS, { ...owner, ...server })
}

/** A probe's own words are said with the sentence of its trouble. */
const ignore = (): void => undefined

/** Why the records would not be written now; undefined if they would be. */
async function askRecords(url: Secret) {
  const { openWriteProbe, PostgresDoor } = await loadPostgres()
  const probe = openWriteProbe(
    new PostgresDoor({ ...reachServer(url), Unavailable: RecordStoreUnavailable }),
    ignore,
  )
  return probe.trouble().finally(() => probe.end())
}

/** Says at once why nothing would be committed: the statements of a command have ten minutes, and say nothing meanwhile. */
async function requireCommits(place: KeysPlace): Promise<void> {
  const { DATABASE_URL } = place
  const [ofRecords, ofKeys] = await Promise.all([
    DATABASE_URL && askRecords(DATABASE_URL),
    // A file waits for nobody.
    place.CHAIN_KEYS_URL && withKeysPlace(place, async (keys) => keys.openProbe(ignore)()),
  ])
  const trouble = ofRecords ?? ofKeys
  if (trouble !== undefined) {
    const whose = ofRecords === undefined ? 'the chain keys' : 'the records'
    throw new RecordStoreUnavailable(`${whose}: ${trouble.sentence}; nothing was erased`)
  }
}

/** Runs an operator's work on the records, while the service may be running. Rejects with RecordStoreUnavailable. */
async function withRecords<Result>(
  { DATABASE_PATH: databasePath, DATABASE_URL }: KeysPlace,
  run: (records: MarkedStore) => Promise<Result>,
): Promise<Result> {
  if (DATABASE_URL === undefined) return withSqliteRecords(databasePath, run)
  const { withPostgresRecords } = await loadPostgres()
  return withPostgresRecords({ ...reachServer(DATABASE_URL), databasePath }, run)
}

/** Erases a chain for good (C31). */
export async function eraseChain(
  place: KeysPlace,
  { by, slot }: { readonly slot: NamedChain; readonly by: DoneBy },
  keyRing: KeyRing,
): Promise<ErasedChain> {
  await requireCommits(place)
  await using keys = await openKeys(place, keyRing, 'exist')
  return await withRecords(place, (records) => eraseChainIn(slot, by, { ...records, keys }))
}

/** Moves a topic's chain aside (C47). */
export const freeChain = (
  place: KeysPlace,
  { by, slot }: { readonly slot: ChainSlot; readonly by: DoneBy },
): Promise<FreedChain> => withRecords(place, (records) => freeChainIn(slot, by, records))

export const listFrees = (place: KeysPlace): Promise<readonly KeptFree[]> =>
  withRecords(place, ({ source }) => freesIn(source))

export const listErasures = (place: KeysPlace): Promise<readonly KeptErasure[]> =>
  withKeysPlace(place, async (keys) => keys.erasures())

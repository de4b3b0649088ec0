// Where a test's service keeps its records: on SQLite or, in a run with DATABASE_URL, in its own PostgreSQL database, copied
// from the run's template (postgres-template.setup.ts).
import { rmSync } from 'node:fs'
import type { KeyRing } from '@tallystick/hashchain'
import { type Clock, Secret } from '@tallystick/service-kit'
import { openStores, type Stores } from '../adapters/open-stores.ts'
import {
  makeRecordDatabase,
  tamperPostgresEntry,
} from '../adapters/records/postgres-store.fixture.ts'
import { makeStoreFolder, tamperEntry } from '../adapters/records/sqlite-store.fixture.ts'
import { TEST_SEED } from '../adapters/records/sqlite-store-samples.fixture.ts'
import { chainKeysPath } from '../adapters/schemas/sqlite-record-database.ts'
import type { ChainSlot } from '../wire/record-uri.ts'

/** Whether this run's services keep their records on PostgreSQL. */
export const isOnPostgres = process.env['DATABASE_URL'] !== undefined

type Tampering = {
  readonly slot: ChainSlot
  readonly version: number
  readonly change: (entry: string) => string
  readonly keyRing?: KeyRing | undefined
}

export type StorePlace = {
  /** The variables that name it. */
  readonly environment: {
    readonly DATABASE_PATH: string
    readonly DATABASE_URL?: string
    readonly CHAIN_KEYS_PATH?: string
  }
  /** Changes a stored entry behind the store's back. */
  tamper(options: Tampering): Promise<void>
  /** Webhooks of a stopped service have failed for so much longer: on PostgreSQL it is the database's clock that counts. */
  failEarlier(ms: number): Promise<void>
  /** Removes every session of a stopped service. */
  forgetSessions(): Promise<void>
  remove(): Promise<void>
}

/** An empty place, on the run's engine or another. Without a disk, SQLite records are in memory and cannot be tampered with. */
export async function makeStorePlace(source: {
  readonly isOnDisk: boolean
  readonly engine?: 'sqlite' | 'postgres'
}): Promise<StorePlace> {
  if (isOnPostgres || source.engine === 'postgres') return postgresPlace()
  const folder = source.isOnDisk ? makeStoreFolder() : undefined
  return {
    environment: { DATABASE_PATH: folder?.databasePath ?? ':memory:' },
    tamper: async (change) => {
      if (folder === undefined) throw new Error('only a store on disk can be tampered with')
      await tamperEntry({ folder, ...change })
    },
    failEarlier: async () => {
      throw new Error('move the service’s own clock')
    },
    forgetSessions: async () => {
      for (const ending of ['', '-wal', '-shm'])
        rmSync(`${folder?.databasePath ?? ''}.sessions${ending}`, { force: true })
    },
    remove: async () => folder?.remove(),
  }
}

async function postgresPlace(): Promise<StorePlace> {
  const database = await makeRecordDatabase()
  return {
    environment: {
      DATABASE_PATH: database.databasePath,
      DATABASE_URL: database.url,
      CHAIN_KEYS_PATH: chainKeysPath(database.databasePath),
    },
    tamper: (change) => tamperPostgresEntry(database, change),
    failEarlier: async (ms) =>
      void (await database.sql(
        `UPDATE care.event_subscriptions SET failed_since_ms = failed_since_ms - ${ms}`,
      )),
    forgetSessions: async () =>
      void (await database.sql(
        'DELETE FROM care.mcp_sessions; DELETE FROM care.mcp_subscriptions',
      )),
    remove: database.end,
  }
}

/** A place, as commands get it. */
export const readStoreConfig = ({ environment }: StorePlace) => ({
  DATABASE_PATH: environment.DATABASE_PATH,
  DATABASE_URL:
    environment.DATABASE_URL === undefined ? undefined : new Secret(environment.DATABASE_URL),
})

/** Opens a place's stores, without the service. */
export const openStoresAt = ({ environment }: StorePlace, clock: Clock): Promise<Stores> =>
  openStores(
    {
      DATABASE_PATH: environment.DATABASE_PATH,
      DATABASE_URL:
        environment.DATABASE_URL === undefined ? undefined : new Secret(environment.DATABASE_URL),
      CHECKPOINT_KEY: new Secret(Buffer.from(TEST_SEED).toString('base64')),
      BASE_URL: 'http://care.test',
      SERVICE_NAME: 'care',
    },
    { clock, followsDatabase: false, onProblem: () => undefined },
  )

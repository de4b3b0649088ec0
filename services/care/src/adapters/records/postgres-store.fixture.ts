// Records on PostgreSQL for the tests: each store has its own database, copied from a template with the schema. A file uses
// the server of DATABASE_URL, or its own, which ends with the file.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pauseMs } from 'node:timers/promises'
import type { KeyRing } from '@tallystick/hashchain'
import { bodyOfBytes } from '@tallystick/journal-store'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import {
  type PostgresServer,
  runSql,
  startPostgres,
} from '@tallystick/journal-store/postgres-server'
import { type Clock, manualClock } from '@tallystick/service-kit'
import { afterAll, beforeAll } from 'vitest'
import type { NamedChain } from '../../wire/record-uri.ts'
import { type ChainKeys, CLEAR_SEALS, chainName } from '../keys/chain-keys.ts'
import { openFileKeys } from '../keys/chain-keys-file.ts'
import { POSTGRES_RECORDS } from '../schemas/postgres-record-database.ts'
import { chainKeysPath } from '../schemas/sqlite-record-database.ts'
import { openPostgresRecordStore } from './postgres-record-store.ts'
import { TEST_START_MS } from './sqlite-store.fixture.ts'
import { TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'
import { formatSlot } from './stored-record.ts'

const pause = (ms: number): Promise<void> => pauseMs(ms, undefined, { ref: false })

let server: PostgresServer | undefined
let template: Promise<string> | undefined

/** The run's server, if it has one (postgres-template.setup.ts); otherwise the running file's. */
export function testServer(): PostgresServer {
  if (process.env['DATABASE_URL'] !== undefined) server ??= startPostgres()
  if (server === undefined)
    throw new Error('a file that makes databases starts with useRecordServer')
  return server
}

/** Registers the hooks of a file: a server of its own, unless the run has one. */
export function useRecordServer(): void {
  beforeAll(() => {
    server ??= startPostgres()
  })
  afterAll(() => {
    if (process.env['DATABASE_URL'] !== undefined) return
    server?.end()
    server = undefined
    template = undefined
  })
}

async function makeTemplate(): Promise<string> {
  const { name, owner } = await testServer().database()
  await migratePostgresStore(POSTGRES_RECORDS, { url: owner, pause })
  return name
}

/** A database with the schema of the records, and a folder for a replica's files. */
export async function makeRecordDatabase() {
  const known = process.env['TEST_TEMPLATE']
  template ??= known === undefined ? makeTemplate() : Promise.resolve(known)
  const made = await testServer().database(await template)
  const folder = mkdtempSync(join(tmpdir(), 'care-postgres-'))
  const databasePath = join(folder, 'care')
  const url = made.as('care_app')
  return {
    ...made,
    url,
    databasePath,
    sql: (text: string) => runSql(made.owner, text),
    open: (
      over: {
        readonly keyRing?: KeyRing
        readonly chainKeysPath?: string
        readonly keys?: ChainKeys
        readonly clock?: Clock
        readonly random?: () => string
        readonly url?: string
      } = {},
    ) =>
      openPostgresRecordStore({
        clock: manualClock(TEST_START_MS),
        checkpointSeed: TEST_SEED,
        origin: TEST_ORIGIN,
        databasePath,
        url,
        pause,
        ...over,
      }),
    end: async (): Promise<void> => {
      await made.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Changes a stored entry behind the store's back; a sealed one is resealed, in its slot, under the ring's key. */
export async function tamperPostgresEntry(
  { databasePath, owner }: { readonly databasePath: string; readonly owner: string },
  {
    change,
    keyRing,
    slot,
    version,
  }: {
    readonly slot: NamedChain
    readonly version: number
    readonly change: (entry: string) => string
    readonly keyRing?: KeyRing | undefined
  },
): Promise<void> {
  const { freed = 0 } = slot
  const keys =
    keyRing === undefined ? undefined : await openFileKeys(chainKeysPath(databasePath), keyRing)
  const seal = await (keys ?? CLEAR_SEALS).sealFor([
    chainName({ ...slot, turn: Math.max(freed - 1, 0) }),
  ])
  const slotText = formatSlot({ ...slot, turn: Math.max(freed - 1, 0) })(version)
  const table = `care.${slot.audience}_versions`
  const where = `version = ${version} AND chain = (SELECT id FROM care.chains
    WHERE patient = ${literal(slot.patient)} AND domain = ${literal(slot.domain)} AND freed = ${freed})`
  const { rows } = await runSql(owner, `SELECT body FROM ${table} WHERE ${where}`)
  const entry = seal.open(bodyOfBytes((rows[0] as { readonly body: Buffer }).body), slotText) ?? ''
  const body = Buffer.from(seal.close(change(entry), slotText)).toString('hex')
  // The administrator switches triggers off; no role of the service can.
  await runSql(
    owner,
    `SET session_replication_role = replica; UPDATE ${table} SET body = '\\x${body}' WHERE ${where}`,
  )
  await keys?.close()
}

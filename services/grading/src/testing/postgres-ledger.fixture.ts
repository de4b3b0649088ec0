/** Ledgers on a PostgreSQL server for tests, each in a database of its own, brought up to date by its owner. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import {
  migratePostgresStore,
  openPostgresProcess,
  PostgresDoor,
  type PostgresReaderOptions,
} from '@tallystick/journal-store/postgres'
import {
  type PostgresServer,
  runSql,
  startPostgres,
} from '@tallystick/journal-store/postgres-server'
import { openPostgresGradingStore } from '../adapters/postgres-grading-store.ts'
import { POSTGRES_LEDGER } from '../adapters/postgres-schema.ts'
import { openPostgresReservationStore } from '../adapters/reservation-store.ts'
import { type GradingStore, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'

const pause = (ms: number): Promise<void> => pauseFor(ms, undefined, { ref: false })

const CLEAR = `SET session_replication_role = replica;
  TRUNCATE grading.entries, grading.entries_nodes, grading.events, grading.picks, grading.truth, grading.payloads, grading.reservations;
  UPDATE grading.journals SET size = 0, peaks = ''`

export type PostgresLedger = Awaited<ReturnType<typeof makePostgresLedger>>

/** An empty ledger, with a folder for what its processes sign; `end` closes what was opened of it. */
async function makePostgresLedger(server: PostgresServer) {
  const database = await server.database()
  const folder = mkdtempSync(join(process.env['LEDGER_FOLDERS'] ?? tmpdir(), 'grading-postgres-'))
  const url = database.as('grading_app')
  /** Includes stores still being opened: their reads and the emptying of the ledger would wait for each other. */
  const opened: Promise<{ close(): Promise<void> }>[] = []
  const identity = {
    url,
    pause,
    databasePath: join(folder, 'grading'),
    checkpointSeed: new Uint8Array(32).fill(3),
    origin: 'grading.test/ledger',
  }
  await migratePostgresStore(POSTGRES_LEDGER, { url: database.owner, pause })
  /** Closes it with the ledger, unless the test does. */
  const keep = <Store extends { close(): Promise<void> }>(store: Store): Store => {
    opened.push(Promise.resolve(store))
    return store
  }
  /** Closes what was opened of it. */
  const close = async (): Promise<void> => {
    for (const opening of opened.splice(0)) {
      const store = await opening.catch(() => undefined)
      await store?.close()
    }
  }
  return {
    folder,
    /** Connection string of the service's role. */
    url,
    ownerUrl: database.owner,
    identity,
    keep,
    open: (by: Partial<PostgresReaderOptions> = {}): Promise<GradingStore> => {
      const opening = openPostgresGradingStore({ ...identity, ...by })
      opened.push(opening)
      return opening
    },
    /** The payments beside it, as a process of its own has them open; `owner` names it. */
    openReservations: async (
      options: Omit<Parameters<typeof openPostgresReservationStore>[0], 'door' | 'process'>,
      through = url,
    ) => {
      const named = { ...identity, url: through, Unavailable: GradingStoreUnavailable }
      const door = new PostgresDoor(named)
      const process = await openPostgresProcess(door, POSTGRES_LEDGER, {
        onProblem: () => undefined,
      })
      const store = await openPostgresReservationStore({ ...options, door, process })
      const end = async (): Promise<void> => {
        await store.close()
        await process.close()
      }
      return keep({ ...store, close: end, owner: () => process.id() })
    },
    /** Does what no role of the service can: triggers are off. */
    tamper: (sql: string) =>
      runSql(database.owner, `SET session_replication_role = replica; ${sql}`),
    close,
    /** Closes it, and takes everything out. */
    async clear(): Promise<void> {
      await close()
      rmSync(`${identity.databasePath}.checkpoint`, { force: true })
      await runSql(database.owner, CLEAR)
    },
    async end(): Promise<void> {
      await close()
      // A server of the test's own ends with its databases.
      const known = process.env['DATABASE_URL']
      if (known !== undefined) await runSql(known, `DROP DATABASE ${database.name} WITH (FORCE)`)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server, and the ledgers that a test makes on it. */
export function startLedgerServer() {
  const server = startPostgres()
  const ledgers: PostgresLedger[] = []
  return {
    server,
    ledger: async (): Promise<PostgresLedger> => {
      const made = await makePostgresLedger(server)
      ledgers.push(made)
      return made
    },
    /** Ends the ledgers that were made since. */
    async endLedgers(): Promise<void> {
      for (const ledger of ledgers.splice(0)) await ledger.end()
    },
    end: () => server.end(),
  }
}

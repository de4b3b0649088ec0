/** Which engine keeps the ledger and the reservations: PostgreSQL if a connection string is given, else SQLite's files. */
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  checkpointOrigin,
  loadCheckpointSeed,
  OWN_LEASE,
  openDiskProbe,
  type PostgresFigures,
  placeFigures,
  type StoreOwner,
  type WriteTrouble,
} from '@tallystick/journal-store'
import { chooseSeed, reachServer, type Secret } from '@tallystick/service-kit'
import { DEFAULT_DATABASE_PATH } from '../config.ts'
import { type GradingStore, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { openPolledStore, POLLER, type Polling } from './polled-store.ts'
import {
  type OpenReservationStore,
  openPostgresReservationStore,
  openSqliteReservationStore,
} from './reservation-store.ts'
import { type LedgerOpening, openSqliteGradingStore } from './sqlite-grading-store.ts'

/** The variables that say where; with DATABASE_URL the key is there (storeConfigFault). */
export type StoreConfig = {
  readonly DATABASE_PATH: string
  readonly DATABASE_URL?: Secret | undefined
  readonly CHECKPOINT_KEY?: Secret | undefined
  readonly BASE_URL: string
}

/** The key that signs checkpoints, made beside the file if there is none. Throws GradingStoreUnavailable. */
export function ledgerOwner(config: StoreConfig): StoreOwner {
  const { BASE_URL, DATABASE_PATH: databasePath } = config
  // The default folder alone is made: another that is not there is a slip.
  if (databasePath === DEFAULT_DATABASE_PATH)
    mkdirSync(dirname(databasePath), { recursive: true, mode: 0o700 })
  return {
    databasePath,
    checkpointSeed: chooseSeed(config) ?? loadCheckpointSeed(databasePath, GradingStoreUnavailable),
    origin: checkpointOrigin(BASE_URL, 'ledger'),
  }
}

/** The engine behind a connection string; a ledger in a file loads no driver. */
export async function loadPostgres() {
  const [engine, schema, events, stores, moves] = await Promise.all([
    import('@tallystick/journal-store/postgres'),
    import('./postgres-schema.ts'),
    import('./postgres-events.ts'),
    import('./postgres-grading-store.ts'),
    import('./move-ledger.ts'),
  ])
  return { ...engine, ...schema, ...events, ...stores, ...moves }
}

/** Opens the ledger for a command, which may read all of it. Rejects with GradingStoreUnavailable. */
export async function openLedger(
  config: StoreConfig,
  opening: LedgerOpening,
): Promise<GradingStore> {
  const { DATABASE_URL } = config
  const options = { ...ledgerOwner(config), ...opening }
  if (DATABASE_URL === undefined) return openSqliteGradingStore(options)
  const { openPostgresGradingStore, UPKEEP_ANSWER_MS: answerMs } = await loadPostgres()
  return openPostgresGradingStore({ ...options, ...reachServer(DATABASE_URL), answerMs })
}

/** What a service has open. */
export type Stores = {
  readonly ledger: GradingStore
  readonly reservations: OpenReservationStore
  /** Why a write would fail or wait now; undefined if it would not. */
  readonly writeTrouble: () => Promise<WriteTrouble | undefined>
  /** What the connections to PostgreSQL know of it; absent with a file. */
  readonly postgres?: () => PostgresFigures
  /** For the process that polls (G12). */
  readonly polling: Polling
  /** How many equal processes serve the store now, this one included. */
  readonly countProcesses: () => number
  /** How often to ask for the payments of processes that ended; undefined where no other process serves the store. */
  readonly resumeEveryMs: number | undefined
  /** The process stops: from now on nothing waits long. */
  stopping(): void
  close(): Promise<void>
}

/** Opens all of them, or none. Rejects with GradingStoreUnavailable. */
export async function openStores(
  config: StoreConfig,
  opening: LedgerOpening & { readonly onProblem: (error: unknown) => void },
): Promise<Stores> {
  const { DATABASE_PATH: databasePath, DATABASE_URL } = config
  const { clock, onProblem } = opening
  const owner = { ...ledgerOwner(config), ...opening }
  if (DATABASE_URL === undefined) {
    const ledger = await openSqliteGradingStore(owner)
    return closingTogether(ledger, () => openSqliteReservationStore({ databasePath, clock }), {
      writeTrouble: openDiskProbe(databasePath, onProblem).trouble,
      polling: { mayPoll: async () => OWN_LEASE.isHeld(), store: ledger },
      countProcesses: () => 1,
      resumeEveryMs: undefined,
      stopping: () => undefined,
    })
  }
  const {
    openPostgresGradingStore,
    openPostgresLease,
    openPostgresProcess,
    openWriteProbe,
    POSTGRES_LEDGER,
    PostgresDoor,
  } = await loadPostgres()
  const server = { ...reachServer(DATABASE_URL), databasePath }
  const door = new PostgresDoor({ ...server, Unavailable: GradingStoreUnavailable })
  const ledger = await openPostgresGradingStore({ ...owner, ...server, door })
  const poller = await openPostgresLease(
    door,
    { schema: 'grading', name: POLLER, process: randomUUID() },
    { onProblem },
  )
  const process = await openPostgresProcess(door, POSTGRES_LEDGER, { onProblem })
  const probe = openWriteProbe(door, onProblem, POSTGRES_LEDGER)
  return closingTogether(ledger, () => openPostgresReservationStore({ door, clock, process }), {
    writeTrouble: probe.trouble,
    postgres: () => ({ ...door.figures(), ...placeFigures({ process, lease: poller }) }),
    polling: openPolledStore(ledger, poller),
    countProcesses: () => process.living(),
    resumeEveryMs: RESUME_EVERY_MS,
    stopping: () => door.stop(onProblem),
    close: async () => void (await Promise.all([poller.close(), process.close(), probe.end()])),
  })
}

/** With the six seconds after which a silent process is taken for dead, its payments are another's well within ten. */
const RESUME_EVERY_MS = 1_000

async function closingTogether(
  ledger: GradingStore,
  openReservations: () => OpenReservationStore | Promise<OpenReservationStore>,
  rest: Omit<Stores, 'ledger' | 'reservations' | 'close'> & Partial<Pick<Stores, 'close'>>,
): Promise<Stores> {
  try {
    const reservations = await openReservations()
    const close = async (): Promise<void> => {
      await reservations.close()
      // What this process left open is free from here on.
      await rest.close?.()
      await ledger.close()
    }
    return { ...rest, ledger, reservations, close }
  } catch (error) {
    await ledger.close()
    throw error
  }
}

/** Which engine keeps the ledger and the reservations: PostgreSQL if a connection string is given, else SQLite's files. */
import { checkpointOrigin, loadCheckpointSeed, type StoreOwner } from '@tallystick/journal-store'
import { type Clock, checkpointSeedOf, type Secret, serverOf } from '@tallystick/service-kit'
import { type GradingStore, GradingStoreUnavailable } from '../domain/grading-store.ts'
import {
  type OpenReservationStore,
  openPostgresReservationStore,
  openSqliteReservationStore,
} from './reservation-store.ts'
import { type LedgerOpening, openSqliteLedger } from './sqlite-grading-store.ts'

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
  return {
    databasePath,
    checkpointSeed:
      checkpointSeedOf(config) ?? loadCheckpointSeed(databasePath, GradingStoreUnavailable),
    origin: checkpointOrigin(BASE_URL, 'ledger'),
  }
}

/** The engine behind a connection string; a ledger in a file loads no driver. */
export async function loadPostgres() {
  const [engine, schema, stores, moves] = await Promise.all([
    import('@tallystick/journal-store/postgres'),
    import('./postgres-schema.ts'),
    import('./postgres-grading-store.ts'),
    import('./move-ledger.ts'),
  ])
  return { ...engine, ...schema, ...stores, ...moves }
}

/** Opens the ledger. Rejects with GradingStoreUnavailable. */
export async function openLedger(
  config: StoreConfig,
  opening: LedgerOpening,
): Promise<GradingStore> {
  const { DATABASE_URL } = config
  const options = { ...ledgerOwner(config), ...opening }
  if (DATABASE_URL === undefined) return openSqliteLedger(options)
  const { openPostgresGradingStore } = await loadPostgres()
  return openPostgresGradingStore({ ...options, ...serverOf(DATABASE_URL) })
}

/** Opens the reservations. Rejects with GradingStoreUnavailable. */
export async function openReservations(
  config: StoreConfig,
  clock: Clock,
): Promise<OpenReservationStore> {
  const { DATABASE_PATH: databasePath, DATABASE_URL } = config
  if (DATABASE_URL === undefined) return openSqliteReservationStore({ databasePath, clock })
  return openPostgresReservationStore({ ...serverOf(DATABASE_URL), clock })
}

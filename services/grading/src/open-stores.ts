import type { Clock } from '@tallystick/service-kit'
import { loadCheckpointSeed } from './adapters/checkpoint-seed.ts'
import { ledgerOrigin } from './adapters/ledger-origin.ts'
import { openSqliteGradingStore } from './adapters/sqlite-grading-store.ts'
import {
  openSqliteReservationStore,
  type SqliteReservationStore,
} from './adapters/sqlite-reservation-store.ts'
import type { GradingConfig } from './config.ts'
import type { GradingStore } from './domain/grading-store.ts'

/** The files of one ledger, open. */
export type Stores = {
  readonly store: GradingStore
  readonly reservations: SqliteReservationStore
  close(): Promise<void>
}

/** Opens the ledger and the reservations, or none of them. Throws GradingStoreUnavailable. */
export async function openStores({
  config,
  clock,
}: {
  readonly config: GradingConfig
  readonly clock: Clock
}): Promise<Stores> {
  const databasePath = config.DATABASE_PATH
  const opened: { close(): void | Promise<void> }[] = []
  const close = async (): Promise<void> => {
    for (const one of opened.splice(0).toReversed()) await one.close()
  }
  try {
    const store = openSqliteGradingStore({
      databasePath,
      clock,
      checkpointSeed: loadCheckpointSeed(databasePath),
      origin: ledgerOrigin(config.BASE_URL),
    })
    opened.push(store)
    const reservations = openSqliteReservationStore({ databasePath, clock })
    opened.push(reservations)
    return { store, reservations, close }
  } catch (error) {
    await close()
    throw error
  }
}

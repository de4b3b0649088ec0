import { existsSync } from 'node:fs'
import { BadUsage, type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { requireStoreConfig } from '@tallystick/service-kit/database-verbs'
import { z } from 'zod'
import { openLedger, type StoreConfig } from '../adapters/open-stores.ts'
import type { LedgerOpening } from '../adapters/sqlite-grading-store.ts'
import { gradingConfigSchema } from '../config.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'

/** The service's variables that opening its ledger needs. */
const { BASE_URL, CHECKPOINT_KEY, DATABASE_PATH, DATABASE_URL } = gradingConfigSchema.shape
const storeConfig = z.object({ DATABASE_PATH, DATABASE_URL, CHECKPOINT_KEY, BASE_URL })

/** Reads the ledger's variables. Throws BadUsage, naming every bad one. */
export function readStoreConfig(terminal: CommandTerminal): StoreConfig {
  return requireStoreConfig(readVariables(terminal, storeConfig))
}

/** Whether there is a ledger already; in a database, opening tells. */
export function isLedgerThere(terminal: CommandTerminal): boolean {
  const config = readStoreConfig(terminal)
  return config.DATABASE_URL !== undefined || existsSync(config.DATABASE_PATH)
}

/**
 * Where an existing ledger is. Throws BadUsage if its file is not there: a mistyped path must not pass for an empty ledger.
 * A database without one is refused when it is opened.
 */
export function existingLedger(terminal: CommandTerminal): StoreConfig {
  if (!isLedgerThere(terminal)) throw new BadUsage('There is no ledger at DATABASE_PATH.')
  return readStoreConfig(terminal)
}

/** Like withStore, but never creates a ledger. */
export async function withLedger<Result>(
  terminal: CommandTerminal,
  use: (store: GradingStore) => Promise<Result>,
  checkpoint: 'checked' | 'unchecked' = 'checked',
): Promise<Result> {
  existingLedger(terminal)
  return await withStore(terminal, use, { checkpoint })
}

/** Opens or creates the service's ledger. */
export const openStore = (
  terminal: CommandTerminal,
  how: Pick<LedgerOpening, 'checkpoint' | 'isImport'>,
): Promise<GradingStore> => openLedger(readStoreConfig(terminal), { clock: terminal.clock, ...how })

/** Opens or creates the service's ledger, uses it and closes it. */
export async function withStore<Result>(
  terminal: CommandTerminal,
  use: (store: GradingStore) => Promise<Result>,
  how: Pick<LedgerOpening, 'checkpoint' | 'isImport'> = {},
): Promise<Result> {
  const store = await openStore(terminal, how)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

import { existsSync } from 'node:fs'
import { BadUsage, type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { z } from 'zod'
import { ledgerOrigin, loadCheckpointSeed } from '../adapters/ledger-upkeep.ts'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import { gradingConfigSchema } from '../config.ts'
import type { GradingStore } from '../domain/grading-store.ts'

/** The service's variables that opening its ledger needs. */
const { BASE_URL, DATABASE_PATH } = gradingConfigSchema.shape
const storeConfig = z.object({ DATABASE_PATH, BASE_URL })

/** Reads the ledger's variables. Throws BadUsage, naming every bad one. */
export function readStoreConfig(terminal: CommandTerminal) {
  return readVariables(terminal, storeConfig)
}

/** The path of an existing ledger. Throws BadUsage if there is none: a mistyped path must not pass for an empty ledger. */
export function existingLedger(terminal: CommandTerminal): string {
  const { DATABASE_PATH: databasePath } = readStoreConfig(terminal)
  if (!existsSync(databasePath)) throw new BadUsage('There is no ledger at DATABASE_PATH.')
  return databasePath
}

/** The ledger's place and checkpoint signer; creates the key if there is none. */
export function ledgerOptions(terminal: CommandTerminal) {
  const { DATABASE_PATH: databasePath, BASE_URL: baseUrl } = readStoreConfig(terminal)
  return {
    databasePath,
    checkpointSeed: loadCheckpointSeed(databasePath),
    origin: ledgerOrigin(baseUrl),
  }
}

/** Like withStore, but never creates a ledger. */
export async function withLedger<Result>(
  terminal: CommandTerminal,
  use: (store: GradingStore) => Promise<Result>,
  checkpoint: 'checked' | 'unchecked' = 'checked',
): Promise<Result> {
  existingLedger(terminal)
  return await withStore(terminal, use, checkpoint)
}

/** Opens or creates the service's ledger, uses it and closes it. */
export async function withStore<Result>(
  terminal: CommandTerminal,
  use: (store: GradingStore) => Promise<Result>,
  checkpoint: 'checked' | 'unchecked' = 'checked',
): Promise<Result> {
  const { clock } = terminal
  const store = openSqliteGradingStore({ ...ledgerOptions(terminal), clock, checkpoint })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

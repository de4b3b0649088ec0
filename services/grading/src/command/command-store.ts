import { existsSync } from 'node:fs'
import { BadUsage, type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { z } from 'zod'
import { ledgerOrigin, loadCheckpointSeed } from '../adapters/checkpoint-file.ts'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import { gradingConfigSchema } from '../config.ts'
import type { GradingStore } from '../domain/grading-store.ts'

/** The variables of the service that opening its ledger takes. */
const { BASE_URL, DATABASE_PATH } = gradingConfigSchema.shape
const storeConfig = z.object({ DATABASE_PATH, BASE_URL })

/** Reads the ledger's variables. Throws BadUsage, naming every bad one. */
export function readStoreConfig(terminal: CommandTerminal) {
  return readVariables(terminal, storeConfig)
}

/** The path of a ledger that is there. Throws BadUsage for one that is not: it is a slip, and must not pass for an empty ledger. */
export function existingLedger(terminal: CommandTerminal): string {
  const { DATABASE_PATH: databasePath } = readStoreConfig(terminal)
  if (!existsSync(databasePath)) throw new BadUsage('There is no ledger at DATABASE_PATH.')
  return databasePath
}

/** Where the ledger is, and how its checkpoints are signed; makes the key where there is none. */
export function ledgerOptions(terminal: CommandTerminal) {
  const { DATABASE_PATH: databasePath, BASE_URL: baseUrl } = readStoreConfig(terminal)
  return {
    databasePath,
    checkpointSeed: loadCheckpointSeed(databasePath),
    origin: ledgerOrigin(baseUrl),
  }
}

/** Like withStore, but makes no ledger where there is none. */
export async function withLedger<Result>(
  terminal: CommandTerminal,
  use: (store: GradingStore) => Promise<Result>,
  checkpoint: 'checked' | 'unchecked' = 'checked',
): Promise<Result> {
  existingLedger(terminal)
  return await withStore(terminal, use, checkpoint)
}

/** Opens the service's ledger, or makes it, uses it and closes it. */
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

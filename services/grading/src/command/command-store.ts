import { baseUrlField, textField } from '@tallystick/service-kit'
import { type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { z } from 'zod'
import { loadCheckpointSeed } from '../adapters/checkpoint-seed.ts'
import { ledgerOrigin } from '../adapters/ledger-origin.ts'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import type { GradingStore } from '../domain/grading-store.ts'

/** The variables of the service that opening its ledger takes. */
const storeConfig = z.object({
  DATABASE_PATH: textField('the path of a file').prefault('grading.db'),
  BASE_URL: baseUrlField('http://localhost:3003'),
})

/** Reads the ledger's variables. Throws BadUsage, naming every bad one. */
export function readStoreConfig(terminal: CommandTerminal) {
  return readVariables(terminal, storeConfig)
}

/** Opens the service's ledger, uses it and closes it. */
export async function withStore<Result>(
  terminal: CommandTerminal,
  use: (store: GradingStore) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_PATH: databasePath, BASE_URL: baseUrl } = readStoreConfig(terminal)
  const store = openSqliteGradingStore({
    databasePath,
    clock: terminal.clock,
    checkpointSeed: loadCheckpointSeed(databasePath),
    origin: ledgerOrigin(baseUrl),
  })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

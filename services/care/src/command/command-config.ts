import { checkpointOrigin } from '@tallystick/journal-store'
import { type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { z } from 'zod'
import { loadCheckpointSeed } from '../adapters/record-upkeep.ts'
import { careConfigSchema, checkpointSeed } from '../config.ts'

type Shape = typeof careConfigSchema.shape

/** Reads the variables of the service's environment that a verb needs. Throws BadUsage naming every bad one. */
export function commandConfig<Name extends keyof Shape>(
  terminal: CommandTerminal,
  names: readonly Name[],
): z.output<z.ZodObject<Pick<Shape, Name>>> {
  const fields = Object.fromEntries(names.map((name) => [name, careConfigSchema.shape[name]]))
  return readVariables(terminal, z.object(fields as Pick<Shape, Name>))
}

/** What it takes to open the service's store, from its environment. */
export function storeOptions(terminal: CommandTerminal) {
  const config = commandConfig(terminal, [
    'DATABASE_PATH',
    'SEAL_KEYS',
    'CHECKPOINT_KEY',
    'BASE_URL',
    'SERVICE_NAME',
  ])
  const databasePath = config.DATABASE_PATH
  return {
    databasePath,
    checkpointSeed: loadCheckpointSeed(databasePath, checkpointSeed(config)),
    origin: checkpointOrigin(config.BASE_URL, config.SERVICE_NAME),
    keyRing: config.SEAL_KEYS,
  }
}

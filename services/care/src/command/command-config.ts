import { type Secret, storeConfigFault } from '@tallystick/service-kit'
import { BadUsage, type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { z } from 'zod'
import type { StoreConfig } from '../adapters/open-stores.ts'
import { careConfigSchema } from '../config.ts'

type Shape = typeof careConfigSchema.shape

/** Reads the variables of the service's environment that a verb needs. Throws BadUsage naming every bad one. */
export function commandConfig<Name extends keyof Shape>(
  terminal: CommandTerminal,
  names: readonly Name[],
): z.output<z.ZodObject<Pick<Shape, Name>>> {
  const fields = Object.fromEntries(names.map((name) => [name, careConfigSchema.shape[name]]))
  return readVariables(terminal, z.object(fields as Pick<Shape, Name>))
}

/** What it takes to open the service's store, from its environment. Throws BadUsage. */
export function storeConfig(terminal: CommandTerminal): StoreConfig {
  const config = commandConfig(terminal, [
    'DATABASE_PATH',
    'DATABASE_URL',
    'SEAL_KEYS',
    'CHECKPOINT_KEY',
    'BASE_URL',
    'SERVICE_NAME',
  ])
  const fault = storeConfigFault(config)
  if (fault !== undefined) throw new BadUsage(`${fault.path[0]}: ${fault.message}.`)
  return config
}

/** The database that the environment names. Throws BadUsage where it names none. */
export function databaseUrl(terminal: CommandTerminal): Secret {
  const { DATABASE_URL } = commandConfig(terminal, ['DATABASE_URL'])
  if (DATABASE_URL === undefined) throw new BadUsage('DATABASE_URL names no database.')
  return DATABASE_URL
}

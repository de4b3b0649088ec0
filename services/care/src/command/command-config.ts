import { BadUsage, type CommandTerminal, readVariables } from '@tallystick/service-kit/command'
import { requireStoreConfig } from '@tallystick/service-kit/database-verbs'
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
    'CHAIN_KEYS_PATH',
    'CHECKPOINT_KEY',
    'BASE_URL',
    'SERVICE_NAME',
  ])
  return requireStoreConfig(config)
}

/** Bytes of who does something and why: a line, not a document. */
const LINE_BYTES_MAX = 1_024

/** A line that an operator has to give. Throws BadUsage. */
export function lineOf(given: string | undefined, name: string): string {
  const text = given?.trim() ?? ''
  if (text === '' || Buffer.byteLength(text) > LINE_BYTES_MAX || /\p{Cc}/u.test(text))
    throw new BadUsage(`${name} takes a line of at most ${LINE_BYTES_MAX} bytes.`)
  return text
}

import type { z } from 'zod'
import { configMessage } from '../load-config.ts'
import { readConfig } from '../read-config.ts'
import { BadUsage, type CommandTerminal } from './command-verb.ts'

/** Reads the variables that a verb needs. Throws BadUsage, naming every bad one. */
export function readVariables<Schema extends z.ZodObject>(
  { environment }: CommandTerminal,
  schema: Schema,
): z.output<Schema> {
  const reading = readConfig(schema, environment)
  if (reading.kind === 'invalid') throw new BadUsage(configMessage(reading.problems))
  return reading.config
}

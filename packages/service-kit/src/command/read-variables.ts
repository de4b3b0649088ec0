import type { z } from 'zod'
import { configMessage } from '../load-config.ts'
import { readConfig } from '../read-config.ts'
import { BadUsage, type CommandTerminal } from './command-verb.ts'

/** Reads the variables that a verb needs. Throws BadUsage, naming every bad one. */
export function readVariables<Shape extends z.ZodRawShape>(
  { environment }: CommandTerminal,
  schema: z.ZodObject<Shape>,
): z.output<z.ZodObject<Shape>> {
  const reading = readConfig(schema, environment)
  if (reading.kind === 'invalid') throw new BadUsage(configMessage(reading.problems))
  return reading.config
}

import type { z } from 'zod'
import { type ConfigProblem, type Environment, readConfig } from './read-config.ts'

/** The one message that names every bad variable and what was expected of it, never a value. */
export function configMessage(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ variable, expected }) => `  ${variable}: expected ${expected}`)
  return ['The configuration is not usable:', ...lines].join('\n')
}

/** Reads the configuration; a bad one is printed to stderr, every variable at once, and ends the process with 1 (S3). */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.output<Schema> {
  const reading = readConfig(schema, environment)
  if (reading.kind === 'valid') return reading.config
  process.stderr.write(`${configMessage(reading.problems)}\n`)
  return process.exit(1)
}

import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { fieldMetaOf } from './config-field.ts'

/** The process environment, or what a test puts in its place. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One bad variable: what was expected, never what was found (S3). */
export type ConfigProblem = { readonly variable: string; readonly expected: string }

export type ConfigReading<Config> =
  | { readonly kind: 'valid'; readonly config: Config }
  | { readonly kind: 'invalid'; readonly problems: readonly ConfigProblem[] }

type VariableReading =
  | { readonly kind: 'value'; readonly value: string | undefined }
  | { readonly kind: 'problem'; readonly problem: ConfigProblem }

/** Editors and `echo` end a file with a newline that nobody means as part of the secret. */
const withoutFinalNewline = (text: string): string => text.replace(/\r?\n$/, '')

function readSecret(variable: string, environment: Environment): VariableReading {
  const fileVariable = `${variable}_FILE`
  const value = environment[variable] || undefined
  const path = environment[fileVariable] || undefined
  if (path === undefined) return { kind: 'value', value }
  if (value !== undefined)
    return {
      kind: 'problem',
      problem: { variable, expected: `either ${variable} or ${fileVariable}, not both` },
    }
  try {
    return { kind: 'value', value: withoutFinalNewline(readFileSync(path, 'utf8')) || undefined }
  } catch {
    return {
      kind: 'problem',
      problem: { variable: fileVariable, expected: 'the path of a readable file' },
    }
  }
}

/**
 * Parses the environment by a schema whose keys are variable names and finds every problem at once. An empty variable
 * counts as unset; secrets are also read from `<NAME>_FILE`.
 */
export function readConfig<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): ConfigReading<z.output<Schema>> {
  const problems: ConfigProblem[] = []
  const values: Record<string, string> = {}
  for (const [variable, field] of Object.entries(schema.shape)) {
    const reading: VariableReading =
      fieldMetaOf(field).isSecret === true
        ? readSecret(variable, environment)
        : { kind: 'value', value: environment[variable] || undefined }
    if (reading.kind === 'problem') problems.push(reading.problem)
    else if (reading.value !== undefined) values[variable] = reading.value
  }
  const parsed = schema.safeParse(values)
  for (const issue of parsed.error?.issues ?? []) {
    const variable = String(issue.path[0] ?? 'configuration')
    if (problems.some((known) => known.variable.replace(/_FILE$/, '') === variable)) continue
    const field = schema.shape[variable]
    const expected =
      (field === undefined ? undefined : fieldMetaOf(field).expected) ?? issue.message
    problems.push({
      variable,
      expected: values[variable] === undefined ? `${expected} (it is not set)` : expected,
    })
  }
  return parsed.success && problems.length === 0
    ? { kind: 'valid', config: parsed.data }
    : { kind: 'invalid', problems }
}

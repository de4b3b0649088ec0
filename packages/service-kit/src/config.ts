/**
 * A service's environment, read by a schema of fields (config-field.ts) that also documents it. All problems are reported
 * at once.
 */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { readFieldMeta, unwrapField } from './config-field.ts'
import { findSlips, type VariableSlip } from './variable-slips.ts'

/** The process environment, or what a test puts in its place. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One bad variable: what was expected, never what was found (S3). */
export type ConfigProblem = { readonly variable: string; readonly expected: string }

type ConfigReading<Config> =
  | {
      readonly kind: 'valid'
      readonly config: Config
      /** Variables that nobody reads, and what was probably meant. */
      readonly slips: readonly VariableSlip[]
    }
  | { readonly kind: 'invalid'; readonly problems: readonly ConfigProblem[] }

const nameFileVariable = (variable: string): string => `${variable}_FILE`

/** Whether a variable is set: it or, for a secret, the one that names its file. An empty one counts as unset. */
export function isVariableSet(environment: Environment, variable: string): boolean {
  return Boolean(environment[variable]) || Boolean(environment[nameFileVariable(variable)])
}

/** The text of a secret, from the variable or from the file that `<NAME>_FILE` names. Adds any problem to `problems`. */
function readSecret(
  variable: string,
  environment: Environment,
  problems: ConfigProblem[],
): string | undefined {
  const fileVariable = nameFileVariable(variable)
  const value = environment[variable] || undefined
  const path = environment[fileVariable] || undefined
  if (path === undefined) return value
  if (value !== undefined) {
    problems.push({ variable, expected: `either ${variable} or ${fileVariable}, not both` })
    return undefined
  }
  try {
    // Editors and `echo` end a file with a newline that is not part of the secret.
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '') || undefined
  } catch {
    problems.push({ variable: fileVariable, expected: 'the path of a readable file' })
    return undefined
  }
}

/** Slips in the names of variables (S11), apart from those whose meant one guards data or a door. */
function readSlips(schema: z.ZodObject, environment: Environment) {
  const known = new Set<string>()
  const guards = new Set<string>()
  for (const [variable, field] of Object.entries(schema.shape)) {
    const { isGuard, isSecret } = readFieldMeta(field)
    const names = isSecret === true ? [variable, nameFileVariable(variable)] : [variable]
    for (const name of names) {
      known.add(name)
      if (isSecret === true || isGuard === true) guards.add(name)
    }
  }
  const present = Object.keys(environment).filter((name) => Boolean(environment[name]))
  // Beside the variable itself, one with a prefix is another program's.
  const unset = [...guards].filter(
    (name) => !isVariableSet(environment, name.replace(/_FILE$/, '')),
  )
  const found = findSlips(present, known, unset)
  return {
    slips: found.filter(({ meant }) => !guards.has(meant)),
    problems: found
      .filter(({ meant }) => guards.has(meant))
      .map(({ meant, variable }) => ({
        variable,
        expected: `the name ${meant}: nobody reads ${variable}`,
      })),
  }
}

/** Explains a slip to people. */
export function slipSentence({ meant, variable }: VariableSlip): string {
  return `Nobody reads ${variable}; is ${meant} meant?`
}

/**
 * Parses the environment by a schema whose keys are variable names, and reports all problems at once. An empty variable
 * counts as unset; secrets are also read from `<NAME>_FILE`.
 */
export function readConfig<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): ConfigReading<z.output<Schema>> {
  const { problems: slipProblems, slips } = readSlips(schema, environment)
  const problems: ConfigProblem[] = [...slipProblems]
  const values: Record<string, string> = {}
  for (const [variable, field] of Object.entries(schema.shape)) {
    const value =
      readFieldMeta(field).isSecret === true
        ? readSecret(variable, environment, problems)
        : environment[variable] || undefined
    if (value !== undefined) values[variable] = value
  }
  const parsed = schema.safeParse(values)
  for (const issue of parsed.error?.issues ?? []) {
    const variable = String(issue.path[0] ?? 'configuration')
    if (problems.some((known) => known.variable.replace(/_FILE$/, '') === variable)) continue
    const field = schema.shape[variable]
    // A field that is good by itself failed a check across fields, whose message says what the others require of it.
    const isBad = field !== undefined && !z.safeParse(field, values[variable]).success
    const wanted = isBad ? readFieldMeta(field).expected : undefined
    // A field may add what the text is instead.
    const expected =
      wanted === undefined || issue.message.startsWith(wanted) ? issue.message : wanted
    problems.push({
      variable,
      expected: values[variable] === undefined ? `${expected} (it is not set)` : expected,
    })
  }
  return parsed.success && problems.length === 0
    ? { kind: 'valid', config: parsed.data, slips }
    : { kind: 'invalid', problems }
}

/** The one message that names every bad variable and what was expected of it, never a value. */
export function configMessage(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ variable, expected }) => `  ${variable}: expected ${expected}`)
  return ['The configuration is not usable:', ...lines].join('\n')
}

/** The configuration of a service inside the caller's process. Throws an error that names every bad variable. */
export function requireConfig<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.output<Schema> {
  const reading = readConfig(schema, environment)
  if (reading.kind === 'invalid') throw new Error(configMessage(reading.problems))
  return reading.config
}

/** Reads the configuration. If it is bad, prints every bad variable at once to stderr and exits 1 (S3). */
export function loadConfig<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): { readonly config: z.output<Schema>; readonly slips: readonly VariableSlip[] } {
  const reading = readConfig(schema, environment)
  if (reading.kind === 'valid') return reading
  process.stderr.write(`${configMessage(reading.problems)}\n`)
  return process.exit(1)
}

const describeDefault = (field: z.core.$ZodType): string => {
  if (field instanceof z.ZodPrefault || field instanceof z.ZodDefault)
    return String(field.def.defaultValue)
  const inner = unwrapField(field)
  return inner === undefined ? '' : describeDefault(inner)
}

/** The variables of a configuration schema as the documentation shows them, in the schema's order. */
export function describeConfig(schema: z.ZodObject) {
  return Object.entries(schema.shape).map(([variable, field]) => {
    const { expected, ...meta } = readFieldMeta(field)
    if (expected === undefined) throw new Error(`${variable} does not say what it expects`)
    return {
      variable,
      description: meta.description ?? '',
      expected,
      /** Empty if there is none; a description if it depends on the machine. */
      defaultText: meta.defaultText ?? describeDefault(field),
      /** Whether `defaultText` can be assigned literally. */
      isDefaultLiteral: meta.defaultText === undefined,
      isRequired: !z.safeParse(field, undefined).success,
      /** Also read from `<variable>_FILE`. */
      isSecret: meta.isSecret === true,
    }
  })
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** A markdown table of the variables, for a README. */
export function environmentTable(schema: z.ZodObject): string {
  const rows = describeConfig(schema).map((row) => {
    const file = row.isSecret ? ` (or \`${row.variable}_FILE\`)` : ''
    const name = `\`${row.variable}\`${file}`
    const optional = row.defaultText === '' ? '–' : `\`${row.defaultText}\``
    const fallback = row.isRequired ? '**required**' : optional
    return `| ${name} | ${cell(row.description)} | ${cell(row.expected)} | ${cell(fallback)} |`
  })
  const head = ['| Variable | Meaning | Expected | Default |', '|---|---|---|---|']
  return [...head, ...rows, ''].join('\n')
}

/** The variables as the text of an `.env.example`: required ones to fill in, the others commented out with their defaults. */
export function environmentExample(schema: z.ZodObject): string {
  const blocks = describeConfig(schema).map((row) => {
    const file = row.isSecret ? `; or the path of a file in ${row.variable}_FILE` : ''
    const fallback = row.isDefaultLiteral ? '' : ` Default: ${row.defaultText}.`
    const comment = `# ${row.description} Expected: ${row.expected}${file}.${fallback}`
    const value = row.isDefaultLiteral ? row.defaultText : ''
    const assignment = row.isRequired ? `${row.variable}=` : `#${row.variable}=${value}`
    return `${comment}\n${assignment}\n`
  })
  return blocks.join('\n')
}

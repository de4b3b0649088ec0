import { z } from 'zod'
import { fieldMetaOf, innerOf } from './config-field.ts'

/** One environment variable as the documentation shows it. */
export type ConfigRow = {
  readonly variable: string
  readonly description: string
  readonly expected: string
  /** Empty where there is none; in words where it depends on the surroundings. */
  readonly defaultText: string
  /** Whether `defaultText` can be assigned as it stands. */
  readonly isDefaultLiteral: boolean
  readonly isRequired: boolean
  /** Also read from `<variable>_FILE`. */
  readonly isSecret: boolean
}

const defaultOf = (field: z.core.$ZodType): string => {
  if (field instanceof z.ZodPrefault || field instanceof z.ZodDefault)
    return String(field.def.defaultValue)
  const inner = innerOf(field)
  return inner === undefined ? '' : defaultOf(inner)
}

/** The variables of a configuration schema, in its order. */
export function describeConfig(schema: z.ZodObject): readonly ConfigRow[] {
  return Object.entries(schema.shape).map(([variable, field]) => {
    const meta = fieldMetaOf(field)
    return {
      variable,
      description: meta.description ?? '',
      expected: meta.expected ?? 'a text',
      defaultText: meta.defaultText ?? defaultOf(field),
      isDefaultLiteral: meta.defaultText === undefined,
      isRequired: !z.safeParse(field, undefined).success,
      isSecret: meta.isSecret === true,
    }
  })
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** A markdown table of the variables, for a README. */
export function environmentTable(schema: z.ZodObject): string {
  const rows = describeConfig(schema).map((row) => {
    const name = row.isSecret
      ? `\`${row.variable}\` (or \`${row.variable}_FILE\`)`
      : `\`${row.variable}\``
    const fallback = row.isRequired
      ? '**required**'
      : row.defaultText === ''
        ? '–'
        : `\`${row.defaultText}\``
    return `| ${name} | ${cell(row.description)} | ${cell(row.expected)} | ${cell(fallback)} |`
  })
  return ['| Variable | Meaning | Expected | Default |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  )
}

/** The variables as the text of an `.env.example`: required ones to fill in, the rest commented out at their defaults. */
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

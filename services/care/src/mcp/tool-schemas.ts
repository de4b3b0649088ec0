import { z } from 'zod'
import { cardBinding } from './card.ts'
import { patientName, sinceTime } from './prompt-methods.ts'

const audience = z.enum(['user', 'assistant']).describe('assistant: never to be spoken')

/** What each tool takes; a tool refuses what it does not know. */
export const TOOL_INPUTS = {
  list_records: z.strictObject({
    patient: patientName.optional().describe('Only this patient’s records'),
    cursor: z.string().optional().describe('nextCursor of the page before'),
  }),
  read_record: z.strictObject({
    uri: z
      .string()
      .describe('care://<patient>/<domain>, optionally /<version>; or care-internal://…'),
  }),
  whats_changed: z.strictObject({
    patient: patientName.describe('Whose records'),
    since: sinceTime.optional().describe('ISO 8601 time; everything without it'),
  }),
} as const

const changedRecord = z.object({
  uri: z.string(),
  domain: z.string(),
  audience,
  version: z.int(),
  revisions: z.int().describe('Versions written since'),
  value: z.string(),
  previousValue: z.string().nullable(),
  withdrawn: z.array(z.string()).describe('Earlier values that no longer hold'),
  age: z.string(),
  authorLabel: z.string(),
  writtenAt: z.string(),
  retraction: z.string().optional().describe('Say this first'),
})

const TOOL_OUTPUTS = {
  list_records: z.object({
    records: z.array(
      z.object({
        uri: z.string(),
        patient: z.string(),
        domain: z.string(),
        audience,
        version: z.int(),
        writtenAt: z.string(),
        priority: z.number().optional(),
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  read_record: z.object({
    uri: z.string(),
    patient: z.string(),
    domain: z.string(),
    audience,
    version: z.int(),
    latestVersion: z.int(),
    value: z.string(),
    previousValue: z.string().nullable(),
    age: z.string(),
    stale: z.boolean(),
    authorLabel: z.string(),
    writtenAt: z.string(),
    retraction: z.string().optional().describe('Say this first'),
  }),
  whats_changed: z.object({
    patient: z.string(),
    asOf: z.string(),
    revisions: z.int(),
    changed: z.array(changedRecord),
    failed: z.array(z.string()).describe('Records that failed verification: say nothing of them'),
  }),
} as const

type ToolName = keyof typeof TOOL_INPUTS

const WORDS: Readonly<Record<ToolName, { readonly title: string; readonly description: string }>> =
  {
    list_records: {
      title: 'List care records',
      description: 'Lists the care records that you may read, one line per record.',
    },
    read_record: {
      title: 'Read a care record',
      description:
        'Reads a record with its age. Read right before speaking; say a retraction first. Records of audience "assistant" are never spoken.',
    },
    whats_changed: {
      title: 'What has changed',
      description:
        'What changed in a patient’s records since a time, with previous values and retractions to say.',
    },
  }

const TOOL_NAMES = ['list_records', 'read_record', 'whats_changed'] as const
/** Tools whose answer the card can show. */
const WITH_CARD: ReadonlySet<ToolName> = new Set(['read_record', 'whats_changed'])

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): object =>
  z.toJSONSchema(schema, { target: 'draft-2020-12', io })

const SCHEMAS = TOOL_NAMES.map((name) => ({
  name,
  inputSchema: schemaOf(TOOL_INPUTS[name], 'input'),
  outputSchema: schemaOf(TOOL_OUTPUTS[name], 'output'),
}))

/** The tools as `tools/list` shows them. */
export function toolDescriptions(serviceName: string): readonly object[] {
  return SCHEMAS.map(({ name, inputSchema, outputSchema }) => ({
    name,
    ...WORDS[name],
    inputSchema,
    outputSchema,
    annotations: {
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    ...(WITH_CARD.has(name) ? { _meta: cardBinding(serviceName) } : {}),
  }))
}

/** `GET /reads`: who read a person's records, newest first. */
import { z } from 'zod'
import { uriExample, writeExample } from './examples.ts'
import { nameText } from './records.ts'

/** Rows of one answer unless it asks for fewer, and the most: some 60 KB. */
const ROWS_MAX = 200

export const readsQuery = z.object({
  patient: nameText.meta({ description: 'Whose records.', examples: [writeExample.patient] }),
  before: z.coerce
    .number({ error: 'a sequence' })
    .int()
    .min(1)
    .optional()
    .meta({ description: 'For the next page: `next` of the one before.' }),
  limit: z.coerce
    .number({ error: `a whole number from 1 to ${ROWS_MAX}` })
    .int()
    .min(1)
    .max(ROWS_MAX)
    .default(ROWS_MAX)
    .meta({ examples: [50] }),
})

const readRow = z.object({
  sequence: z.int(),
  at: z.string().describe('ISO 8601.'),
  actor: z.string().describe('The principal that read.'),
  label: z
    .string()
    .optional()
    .describe('The name that is shown for it, where the service decides (BEARER_AUTHOR=sub).'),
  way: z.string().describe('The method, tool or route: `resources/read`, `verify/export`.'),
  outcome: z
    .enum(['served', 'not_found', 'broken'])
    .describe(
      '`not_found`: also what the reader may not see; `broken`: what is stored does not hold.',
    ),
  uri: z
    .string()
    .meta({ examples: [uriExample] })
    .describe('The version that was read; `care://*` where all speakable records were exported.'),
})

export type ReadShown = z.infer<typeof readRow>

export const readsAnswer = z.object({
  recording: z.enum(['off', 'all']).describe('`off`: reads are not recorded now (READ_AUDIT).'),
  days: z.int().describe('How long rows are kept.'),
  reads: z.array(readRow),
  next: z.int().optional().describe('There is more: the value of `before` that gives it.'),
})

export type ReadsAnswer = z.infer<typeof readsAnswer>

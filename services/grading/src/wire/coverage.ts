/** What `/api/coverage` takes and answers: whether a close is recorded, never a price. */
import { z } from 'zod'
import { findingSchema } from './audit.ts'
import { ROW_MEANINGS, type RowCode } from './card-codes.ts'
import { cardEventSchema, reasonSchema, ungradedCodeSchema } from './cards.ts'
import { issuesSchema } from './errors.ts'
import { coverageExample } from './examples.ts'
import {
  askedSchema,
  dayText,
  MARKET_CHARACTERS_MAX,
  picksSchema,
  shownText,
  trackerMembers,
} from './requests.ts'

const TEXT_CHARACTERS_MAX = 120

const bodyText = 'an object with market, or with sport, date and text, or with picks or csv'

/** A request, except the contents of its picks. */
export const coverageFrameSchema = z
  .strictObject(
    {
      market: shownText(MARKET_CHARACTERS_MAX)
        .optional()
        .describe('A market key: sport/event/type/period[/line][@participant].'),
      sport: z
        .string('a sport such as soccer')
        .regex(/^[a-z0-9_-]{1,40}$/, 'a sport such as soccer')
        .optional(),
      date: dayText().optional().describe('Day of the start, UTC.'),
      text: shownText(TEXT_CHARACTERS_MAX).optional().describe('Teams, in anyone’s spelling.'),
      picks: picksSchema(z.unknown()),
      ...trackerMembers,
    },
    bodyText,
  )
  .refine(({ market, sport, date, text, picks, csv }) => {
    const isSearch = sport !== undefined || date !== undefined || text !== undefined
    const ways = [market !== undefined, isSearch, picks !== undefined, csv !== undefined]
    return ways.filter(Boolean).length === 1
  }, bodyText)

/** As documented. */
export const coverageRequestSchema = coverageFrameSchema
  .safeExtend({
    picks: picksSchema(askedSchema).describe(
      'The picks of an audit: what would become of each, before any payment.',
    ),
  })
  .meta({ id: 'CoverageRequest', examples: [coverageExample] })
export type CoverageRequest = z.output<typeof coverageFrameSchema>

const closeStatusSchema = z.enum(['final', 'pending', 'none'])
export type CoverageStatus = z.output<typeof closeStatusSchema>

const coveredEventSchema = z.object({
  event: z.string(),
  home: z.string(),
  away: z.string(),
  starts_at: z.string(),
  start_precision: z.enum(['second', 'day']),
  synthetic: z.boolean(),
  result: z.enum(['final', 'void', 'pending']),
  markets: z.array(z.object({ market: z.string(), close: closeStatusSchema })).readonly(),
})
export type CoveredEvent = z.output<typeof coveredEventSchema>

const pickToSend = z.record(z.string(), z.unknown())

const rowOptionSchema = z
  .object({
    label: z.string().describe('What it means, in words.'),
    send: pickToSend.optional().describe('The pick as an audit takes it, if this is the answer.'),
    set: z
      .object({
        odds_notation: trackerMembers.odds_notation,
        date_order: trackerMembers.date_order,
      })
      .optional()
      .describe('Otherwise members of the request that answer it for the whole file: look again.'),
  })
  .meta({ id: 'RowOption' })
export type RowOption = z.output<typeof rowOptionSchema>

const rowCauseSchema = z
  .object({
    kind: z
      .enum(['graded', 'question', 'not_gradable'])
      .describe('A question has options, or a code that says what to name.'),
    code: z
      .enum([...(Object.keys(ROW_MEANINGS) as RowCode[]), ...ungradedCodeSchema.options])
      .describe('Stable; ungraded rows have the code of their reason.'),
    field: z.string().optional().describe('What it is about, such as odds or date.'),
    options: z
      .array(rowOptionSchema)
      .readonly()
      .optional()
      .describe('The answers to a question: one of them is meant.'),
  })
  .meta({ id: 'RowCause' })
export type RowCause = z.output<typeof rowCauseSchema>

const previewRowSchema = z.object({
  pick: z.int().optional().describe('Its place in picks, from 0.'),
  line: z.int().optional().describe('Its line in the file, from 1.'),
  written: z.string().optional().describe('The bet as the file has it.'),
  status: z.enum([
    'gradable',
    'ungraded',
    'unreadable',
    'unconfirmed',
    'repeated',
    'not_looked_at',
  ]),
  cause: rowCauseSchema
    .optional()
    .describe('Why, for machines; absent if the row was not looked at.'),
  market: z.string().optional(),
  selection: z.string().optional(),
  event: cardEventSchema.optional(),
  reason: reasonSchema.optional().describe('Why it would be UNGRADED, and be paid for.'),
  issues: issuesSchema.readonly().optional().describe('Why it cannot be sent.'),
  repeats: z.int().optional().describe('The line of the bet that this one repeats.'),
  findings: z
    .array(findingSchema.omit({ ledger: true }))
    .readonly()
    .optional()
    .describe(
      'Where your own record differs from the ledger: its result and profit, and a closing price only if it is far off.',
    ),
  send: pickToSend.optional().describe('The pick as an audit takes it; a gradable one by its key.'),
})
export type PreviewRow = z.output<typeof previewRowSchema>

const previewSchema = z
  .object({
    picks: z.int(),
    gradable: z.int(),
    ungraded: z.int(),
    unreadable: z.int(),
    unconfirmed: z
      .int()
      .describe('Rows whose price is far from any recorded one: a question, whose answer is sent.'),
    repeated: z.int().describe('Rows of a file that repeat an earlier one: one pick, not two.'),
    not_looked_at: z
      .int()
      .describe('Beyond the CPU time that one free request has: ask for them again.'),
    rows: z.array(previewRowSchema).readonly(),
  })
  .meta({
    id: 'Preview',
    description: 'What an audit would make of each pick, without prices and grades.',
  })
export type PreviewAnswer = z.output<typeof previewSchema>

const coveredSchema = z
  .object({
    close: closeStatusSchema.describe('final: can be graded now; pending: before the close.'),
    candidates: z.array(coveredEventSchema).readonly(),
  })
  .meta({ id: 'Coverage' })
export type CoverageAnswer = z.output<typeof coveredSchema>

export const coverageAnswerSchema = z.union([coveredSchema, previewSchema])

/** What `/api/coverage` takes and answers: whether a close is recorded, never a price. */
import { z } from 'zod'
import { coverageExample } from './examples.ts'
import { dayText, MARKET_CHARACTERS_MAX, shownText } from './requests.ts'

const TEXT_CHARACTERS_MAX = 120

const bodyText = 'an object with market, or with sport, date and text'

export const coverageRequestSchema = z
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
    },
    bodyText,
  )
  .refine(
    ({ market, sport, date, text }) =>
      market === undefined
        ? sport !== undefined || date !== undefined || text !== undefined
        : sport === undefined && date === undefined && text === undefined,
    bodyText,
  )
  .meta({ id: 'CoverageRequest', examples: [coverageExample] })
export type CoverageRequest = z.output<typeof coverageRequestSchema>

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

export const coverageAnswerSchema = z
  .object({
    close: closeStatusSchema.describe('final: can be graded now; pending: before the close.'),
    candidates: z.array(coveredEventSchema).readonly(),
  })
  .meta({ id: 'Coverage' })
export type CoverageAnswer = z.output<typeof coverageAnswerSchema>

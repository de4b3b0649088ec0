import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { z } from 'zod'
import type { CoverageAnswer, CoverageQuery } from '../domain/coverage-answer.ts'
import type { Grader } from '../domain/grader.ts'
import { isoSeconds } from '../domain/iso-time.ts'
import { formatMarketKey } from '../domain/market-key.ts'
import { marketShape, marketTypesNamed } from '../domain/market-types.ts'
import { parseMarket } from '../domain/parse-market.ts'
import { invalidRequest } from '../errors.ts'
import { coverageExample } from './examples.ts'
import { freeBody } from './free-body.ts'
import { shownText } from './pick-schema.ts'
import { freeErrorRows } from './schemas.ts'

/** A key or a few words. */
const COVERAGE_BODY_BYTES_MAX = 4_096
const KEY_CHARACTERS_MAX = 350
const TEXT_CHARACTERS_MAX = 120

const bodyText = 'an object with market, or with sport, date and text'
const dateText = 'a day such as 2026-06-01'

const requestSchema = z
  .strictObject(
    {
      market: shownText(KEY_CHARACTERS_MAX)
        .optional()
        .describe('A market key: sport/event/type/period[/line][@participant].'),
      sport: z
        .string('a sport such as soccer')
        .regex(/^[a-z0-9_-]{1,40}$/, 'a sport such as soccer')
        .optional(),
      date: z
        .string(dateText)
        .regex(/^\d{4}-\d{2}-\d{2}$/, dateText)
        .optional()
        .describe('Day of the start, UTC.'),
      text: shownText(TEXT_CHARACTERS_MAX).optional().describe('Teams, as anybody writes them.'),
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

const closeStatusSchema = z.enum(['final', 'pending', 'none'])

export const coverageAnswerSchema = z
  .object({
    close: closeStatusSchema.describe('final: can be graded now; pending: before the close.'),
    candidates: z
      .array(
        z.object({
          event: z.string(),
          home: z.string(),
          away: z.string(),
          starts_at: z.string(),
          start_precision: z.enum(['second', 'day']),
          synthetic: z.boolean(),
          result: z.enum(['final', 'void', 'pending']),
          markets: z.array(z.object({ market: z.string(), close: closeStatusSchema })).readonly(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'Coverage' }) satisfies z.ZodType<CoverageAnswer>

/** The canonical key of what was written, or what is wrong with it. */
function readKey(market: string): string | { readonly field: string; readonly expected: string } {
  const [sport = '', , type = ''] = market.toLowerCase().split('/')
  const [named] = marketTypesNamed(type, { sport })
  // Any selection will do: whether a close is recorded is asked of the market.
  const selection = named === undefined ? 'any' : (marketShape(named).selections?.[0] ?? 'any')
  const parsed = parseMarket({ market, selection })
  if (parsed.kind === 'market') return formatMarketKey(parsed.key)
  if (parsed.kind === 'ambiguous')
    return { field: 'body.market', expected: `one of ${parsed.candidates.join(', ')}` }
  const part = parsed.path === 'line' ? 'market' : parsed.path
  return { field: `body.${part}`, expected: parsed.expected }
}

function readQuery(
  body: z.output<typeof requestSchema>,
): CoverageQuery | { readonly field: string; readonly expected: string } {
  const { market, sport, date, text } = body
  if (market !== undefined) {
    const key = readKey(market)
    return typeof key === 'string' ? { kind: 'key', market: key } : key
  }
  const daySeconds = date === undefined ? undefined : isoSeconds(date)
  if (date !== undefined && daySeconds === undefined)
    return { field: 'body.date', expected: dateText }
  return {
    kind: 'search',
    ...(sport === undefined ? {} : { sport }),
    ...(daySeconds === undefined ? {} : { daySeconds }),
    text: text ?? '',
  }
}

/** Serves `POST /api/coverage`: whether a close is recorded, free, and never a price. */
export function addCoverageRoute(
  app: ServiceApp,
  { grader }: { readonly grader: Pick<Grader, 'coverage'> },
): void {
  app.post(
    '/api/coverage',
    {
      bodyLimit: COVERAGE_BODY_BYTES_MAX,
      schema: {
        tags: ['free'],
        summary: 'Whether a final close is recorded, for a key or for what one knows. Free.',
        body: requestSchema,
        response: { 200: coverageAnswerSchema, ...freeErrorRows },
      },
      ...freeBody(requestSchema, undefined),
    },
    async (request, reply) => {
      const query = readQuery(request.body)
      if ('field' in query) return sendError(reply, invalidRequest([query]))
      return reply.send(await grader.coverage(query))
    },
  )
}

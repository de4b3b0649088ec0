/**
 * The free look before a payment: whether a close is recorded, by key or by teams and day, and what would become of each
 * pick of an audit. It shows neither a price nor a grade (G7), and is limited by address and by time, because it is free.
 */
import {
  type Clock,
  type ErrorAnswer,
  type RequestIssue,
  type ServiceApp,
  sendError,
} from '@tallystick/service-kit'
import { isoSeconds } from '@tallystick/service-kit/clock'
import type { FastifyRequest } from 'fastify'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { LongWork } from '../domain/grading/long-work.ts'
import { type CoverageQuery, coverageAnswer } from '../domain/markets/coverage.ts'
import { formatMarketKey } from '../domain/markets/markets.ts'
import { parseWholeMarket } from '../domain/markets/parse-market.ts'
import { invalidRequest } from '../errors.ts'
import {
  type CoverageRequest,
  coverageAnswerSchema,
  coverageFrameSchema,
  coverageRequestSchema,
} from '../wire/coverage.ts'
import { type CountProcesses, createAddressLimit } from './address-limit.ts'
import { freeErrorRows, tooManyRow } from './error-rows.ts'
import { freeBody, sendJson } from './read-body.ts'

export type CoverageDeps = {
  readonly longWork: Pick<LongWork, 'preview' | 'search'>
  readonly store: Pick<GradingStore, 'events' | 'searchEvents'>
  readonly clock: Clock
  /** CPU time used by this thread so far, ms. */
  readonly cpuMs: () => number
  readonly countProcesses?: CountProcesses | undefined
}

/** A tracker's file of 1,000 bets, or as many picks. */
const COVERAGE_BODY_BYTES_MAX = 500_000

/** Looks at picks, and market look-ups, per address and minute: a reader types, looks and corrects. */
const PREVIEWS_PER_MINUTE = 60
const LOOKUPS_PER_MINUTE = 1_200
/** The cost of a look at picks, in look-ups. */
const PREVIEW_COST = LOOKUPS_PER_MINUTE / PREVIEWS_PER_MINUTE
/** No market look-up has a larger body; half a megabyte crafted to be slow takes 45 ms of CPU before it is found malformed. */
const LOOKUP_BYTES_MAX = 4_096

/** The cost of reading a body of this size, whatever it turns out to be. */
const requestCost = (bytes: number): number => (bytes > LOOKUP_BYTES_MAX ? PREVIEW_COST : 1)

/** A look-up by its canonical key, or what is wrong with the key. */
function readKey(market: string): CoverageQuery | RequestIssue {
  const parsed = parseWholeMarket(market)
  if (parsed.kind === 'market') return { kind: 'key', market: formatMarketKey(parsed.key) }
  if (parsed.kind === 'ambiguous')
    return { field: 'body.market', expected: `one of ${parsed.candidates.join(', ')}` }
  const part = parsed.path === 'line' ? 'market' : parsed.path
  return { field: `body.${part}`, expected: parsed.expected }
}

function readQuery({ market, sport, date, text }: CoverageRequest): CoverageQuery | RequestIssue {
  if (market !== undefined) return readKey(market)
  const daySeconds = date === undefined ? undefined : isoSeconds(date)
  return { kind: 'search', sport, daySeconds, text: text ?? '' }
}

type Look =
  /** The answer as JSON. */
  | { readonly kind: 'answered'; readonly json: string }
  | { readonly kind: 'malformed'; readonly issues: readonly RequestIssue[] }
  | { readonly kind: 'limited'; readonly refusal: ErrorAnswer }

/** Who asks. */
export type Asker = {
  readonly address: string
  /** Of the body. */
  readonly bytes: number
  /** This thread's CPU time when it began to read the body, so that the meter includes the reading. */
  readonly readFromMs?: number | undefined
}

export type CoverageLook = ReturnType<typeof createCoverageLook>

/** The look behind both doors, the route and the MCP tool: an address's requests at one count at the other. */
export function createCoverageLook(deps: CoverageDeps) {
  const { clock, countProcesses, cpuMs, longWork, store } = deps
  const findRefusal = createAddressLimit(clock, LOOKUPS_PER_MINUTE, countProcesses)
  return {
    /** Counts a request before its body is read; returns the refusal if this address asked too often. */
    refuseAddress: ({ address, bytes }: Asker): ErrorAnswer | undefined =>
      findRefusal(address, requestCost(bytes)),
    async look(body: CoverageRequest, { address, bytes, readFromMs }: Asker): Promise<Look> {
      if (body.picks !== undefined || body.csv !== undefined) {
        const refusal = findRefusal(address, PREVIEW_COST - requestCost(bytes))
        if (refusal !== undefined) return { kind: 'limited', refusal }
        const spentMs = readFromMs === undefined ? 0 : cpuMs() - readFromMs
        return await longWork.preview({ body, spentMs })
      }
      const query = readQuery(body)
      if ('field' in query) return { kind: 'malformed', issues: [query] }
      const json =
        query.kind === 'key'
          ? JSON.stringify(await coverageAnswer(store, query))
          : await longWork.search(query)
      return { kind: 'answered', json }
    },
  }
}

/** A body that does not say how large it is may be the largest. */
const readAsker = ({ headers, ip }: FastifyRequest): Asker => ({
  address: ip,
  bytes: Number(headers['content-length'] ?? COVERAGE_BODY_BYTES_MAX),
})

export function addCoverageRoute(
  app: ServiceApp,
  { coverage, cpuMs }: { readonly coverage: CoverageLook } & Pick<CoverageDeps, 'cpuMs'>,
): void {
  const readFromMs = new WeakMap<FastifyRequest, number>()
  app.post(
    '/api/coverage',
    {
      bodyLimit: COVERAGE_BODY_BYTES_MAX,
      onRequest: async (request, reply) => {
        const refusal = coverage.refuseAddress(readAsker(request))
        return refusal && sendError(reply, refusal)
      },
      preParsing: async (request, _reply, payload) => {
        // The body is here, and parsed next.
        payload.once('end', () => readFromMs.set(request, cpuMs()))
        return payload
      },
      schema: {
        tags: ['free'],
        summary: 'Whether closes are recorded: of one market, or of all picks of an audit. Free.',
        description: `By key or by what one knows of a match; with picks, or a tracker’s file as csv, what would become of each before any payment. At most ${PREVIEWS_PER_MINUTE} looks at picks a minute from one address.`,
        body: coverageRequestSchema,
        response: {
          200: coverageAnswerSchema,
          ...freeErrorRows,
          ...tooManyRow,
        },
      },
      ...freeBody(coverageFrameSchema, undefined),
    },
    async (request, reply) => {
      const look = await coverage.look(request.body, {
        ...readAsker(request),
        readFromMs: readFromMs.get(request),
      })
      if (look.kind === 'answered') return sendJson(reply, look.json)
      return sendError(reply, look.kind === 'limited' ? look.refusal : invalidRequest(look.issues))
    },
  )
}

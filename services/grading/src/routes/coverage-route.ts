/**
 * The free look before a payment: whether a close is recorded, by key or by teams and day, and what would become of each
 * pick of an audit. It shows neither a price nor a grade (G7), and is limited by address and by time, because it is free.
 */
import { setImmediate as nextIteration } from 'node:timers/promises'
import {
  type Clock,
  type ErrorAnswer,
  type RequestIssue,
  type ServiceApp,
  sendError,
} from '@tallystick/service-kit'
import type { FastifyRequest } from 'fastify'
import type { PricedCard } from '../domain/combined-bets.ts'
import { type CoverageQuery, coverageAnswer } from '../domain/coverage.ts'
import type { Grader } from '../domain/grader.ts'
import type { GradingStore } from '../domain/grading-store.ts'
import { formatMarketKey } from '../domain/markets.ts'
import { parseWholeMarket } from '../domain/parse-market.ts'
import { DEFAULT_GRADE_OPTIONS, type MatchChoice } from '../domain/pick-request.ts'
import { invalidRequest } from '../errors.ts'
import { inSteps } from '../tracker/steps.ts'
import type { Card, UngradedCode } from '../wire/cards.ts'
import {
  type CoverageAnswer,
  type CoverageRequest,
  coverageAnswerSchema,
  coverageFrameSchema,
  coverageRequestSchema,
  type PreviewAnswer,
  type PreviewRow,
  type RowCause,
} from '../wire/coverage.ts'
import type { WirePick } from '../wire/requests.ts'
import { isoSeconds } from '../wire/times.ts'
import { createAddressLimit } from './address-limit.ts'
import { freeErrorRows, tooManyRow } from './error-rows.ts'
import { freeBody } from './read-body.ts'
import { type Place, type ReadRow, type Rows, readPicks } from './read-picks.ts'

export type CoverageDeps = {
  readonly grader: Pick<Grader, 'preview' | 'asksPrice' | 'matchChoices' | 'lookFindings'>
  readonly store: GradingStore
  readonly clock: Clock
  /** CPU time used by this thread so far, ms. Waiting for a database uses none. */
  readonly cpuMs: () => number
}

/** A tracker's file of 1,000 bets, or as many picks. */
const COVERAGE_BODY_BYTES_MAX = 500_000

/** CPU time that one request may take, ms: some hundreds of picks. */
const PREVIEW_CPU_MS_MAX = 50

/** Looks at picks, and market look-ups, per address and minute: a reader types, looks and corrects. */
const PREVIEWS_PER_MINUTE = 60
const LOOKUPS_PER_MINUTE = 1_200
/** The cost of a look at picks, in look-ups. */
const PREVIEW_COST = LOOKUPS_PER_MINUTE / PREVIEWS_PER_MINUTE
/** No market look-up has a larger body; half a megabyte crafted to be slow takes 45 ms of CPU before it is found malformed. */
const LOOKUP_BYTES_MAX = 4_096

/** The cost of reading a body of this size, whatever it turns out to be. */
const costOf = (bytes: number): number => (bytes > LOOKUP_BYTES_MAX ? PREVIEW_COST : 1)

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

/** A resolved pick by its key, so that nothing has to be looked up again; a parlay as it came. */
function byKey(wire: WirePick, { market, selection }: Card['pick']): Record<string, unknown> {
  if ('legs' in wire) return wire
  const { line: _line, date: _date, starts_at: _start, ...rest } = wire
  const { league: _league, either_order: _order, ...bet } = rest
  return { ...bet, market, selection }
}

const placeOf = ({ index, line, written }: Place) => ({
  pick: line === undefined ? index : undefined,
  line,
  written,
})

/** A name of several markets is a question: which of their keys is meant. */
function causeOfUngraded(
  { pick, wire }: Extract<ReadRow, { kind: 'asked' }>,
  code: UngradedCode,
): RowCause {
  if (pick.kind !== 'ambiguous' || 'legs' in wire) return { kind: 'not_gradable', code }
  const { line: _line, ...rest } = wire
  const options = pick.candidates.map((market) => ({ label: market, send: { ...rest, market } }))
  return { kind: 'question', code, field: 'market', options }
}

/** A price far from anything recorded, answered by one click: the same pick, confirmed. */
function priceQuestion(wire: WirePick, send: Record<string, unknown>): RowCause {
  const label = `Yes, ${wire.odds} was my price`
  const options = [{ label, send: { ...send, confirmed: true } }]
  return { kind: 'question', code: 'price_far_from_recorded', field: 'odds', options }
}

/** Which match a bet's names mean, answered by one click. */
function matchQuestion(wire: WirePick, choices: readonly MatchChoice[]): RowCause {
  const options = choices.map(({ label, market, selection }) => ({
    label,
    send: byKey(wire, { market, selection }),
  }))
  return { kind: 'question', code: 'ambiguous_market', field: 'event', options }
}

type Asked = { readonly isPriceAsked: boolean; readonly choices: readonly MatchChoice[] }

/** What is asked about a row before it can be graded. */
async function questionsOf(
  grader: CoverageDeps['grader'],
  row: ReadRow,
  priced: PricedCard | undefined,
): Promise<Asked> {
  if (row.kind !== 'asked' || priced === undefined) return { isPriceAsked: false, choices: [] }
  const { pick, wire } = row
  const { card } = priced
  if (card.outcome === 'GRADED') {
    const isPriceAsked = wire.confirmed !== true && (await grader.asksPrice(priced))
    return { isPriceAsked, choices: [] }
  }
  const isMatch = card.reason.code === 'ambiguous_market' && pick.kind === 'pick'
  return { isPriceAsked: false, choices: isMatch ? await grader.matchChoices(pick) : [] }
}

function previewRow(
  row: ReadRow,
  card: Card | undefined,
  { choices, isPriceAsked }: Asked,
): PreviewRow {
  const place = placeOf(row)
  if (row.kind === 'faulty') {
    const { cause, issues } = row
    return { ...place, status: 'unreadable', cause, issues }
  }
  if (card === undefined) return { ...place, status: 'not_looked_at' }
  const { market, selection, event } = card.pick
  const known = { ...place, market, selection, event }
  if (row.repeats !== undefined) {
    const cause = { kind: 'not_gradable', code: 'same_bet' } as const
    return { ...known, status: 'repeated', cause, repeats: row.repeats.line }
  }
  if (card.outcome === 'GRADED' && isPriceAsked) {
    const cause = priceQuestion(row.wire, byKey(row.wire, card.pick))
    return { ...known, status: 'unconfirmed', cause }
  }
  if (card.outcome === 'GRADED') {
    const cause = { kind: 'graded', code: 'graded' } as const
    return { ...known, status: 'gradable', cause, send: byKey(row.wire, card.pick) }
  }
  const { reason } = card
  const cause =
    choices.length === 0 ? causeOfUngraded(row, reason.code) : matchQuestion(row.wire, choices)
  return { ...known, status: 'ungraded', cause, reason, send: row.wire }
}

/** Without what the ledger has: a look shows no price. */
const shownFindings = (
  findings: Awaited<ReturnType<Grader['lookFindings']>>,
): Pick<PreviewRow, 'findings'> =>
  findings.length === 0
    ? {}
    : { findings: findings.map(({ kind, message, stated }) => ({ kind, message, stated })) }

const countOf = (rows: readonly PreviewRow[], status: PreviewRow['status']): number =>
  rows.filter((row) => row.status === status).length

/** Rows read and graded between two other requests. */
const ROWS_PER_SLICE = 25

/** Counts the CPU time of a request from a moment on, ms, without what others use in its pauses. */
function createMeter(cpuMs: CoverageDeps['cpuMs'], fromMs: number) {
  let ofOthersMs = fromMs
  return {
    spentMs: () => cpuMs() - ofOthersMs,
    /** Lets other requests run. */
    pause: async (): Promise<void> => {
      const beganMs = cpuMs()
      await nextIteration()
      ofOthersMs += cpuMs() - beganMs
    },
  }
}

async function previewAnswer(
  grader: CoverageDeps['grader'],
  { places, rows: unread }: Rows,
  meter: ReturnType<typeof createMeter>,
): Promise<PreviewAnswer> {
  const shown: PreviewRow[] = []
  while (shown.length < places.length) {
    if (shown.length > 0 && meter.spentMs() >= PREVIEW_CPU_MS_MAX) break
    const rows: ReadRow[] = []
    for (let next = unread.next(); next.done !== true; next = unread.next()) {
      rows.push(next.value)
      if (rows.length === ROWS_PER_SLICE) break
    }
    const asked = rows.flatMap((row) => (row.kind === 'asked' ? [row] : []))
    const cards = await grader.preview(asked.map(({ pick }) => pick))
    const byIndex = new Map(asked.map(({ index }, place) => [index, cards[place]]))
    for (const row of rows) {
      const priced = byIndex.get(row.index)
      const findings =
        priced === undefined || row.kind !== 'asked'
          ? []
          : await grader.lookFindings(priced, row.pick)
      const asks = await questionsOf(grader, row, priced)
      shown.push({ ...previewRow(row, priced?.card, asks), ...shownFindings(findings) })
    }
    await meter.pause()
  }
  for (const place of places.slice(shown.length))
    shown.push({ ...placeOf(place), status: 'not_looked_at' })
  return {
    picks: shown.length,
    gradable: countOf(shown, 'gradable'),
    ungraded: countOf(shown, 'ungraded'),
    unreadable: countOf(shown, 'unreadable'),
    unconfirmed: countOf(shown, 'unconfirmed'),
    repeated: countOf(shown, 'repeated'),
    not_looked_at: countOf(shown, 'not_looked_at'),
    rows: shown,
  }
}

type Look =
  | { readonly kind: 'answered'; readonly answer: CoverageAnswer | PreviewAnswer }
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
export function createCoverageLook({ clock, cpuMs, grader, store }: CoverageDeps) {
  const refusalOf = createAddressLimit(clock, LOOKUPS_PER_MINUTE)
  return {
    /** Counts a request before its body is read; returns the refusal if this address asked too often. */
    refusalOf: ({ address, bytes }: Asker): ErrorAnswer | undefined =>
      refusalOf(address, costOf(bytes)),
    async look(body: CoverageRequest, { address, bytes, readFromMs }: Asker): Promise<Look> {
      if (body.picks !== undefined || body.csv !== undefined) {
        const refusal = refusalOf(address, PREVIEW_COST - costOf(bytes))
        if (refusal !== undefined) return { kind: 'limited', refusal }
        const meter = createMeter(cpuMs, readFromMs ?? cpuMs())
        const read = await inSteps(readPicks(body, DEFAULT_GRADE_OPTIONS), meter.pause)
        if (read.kind === 'unreadable') return { kind: 'malformed', issues: read.issues }
        return { kind: 'answered', answer: await previewAnswer(grader, read, meter) }
      }
      const query = readQuery(body)
      if ('field' in query) return { kind: 'malformed', issues: [query] }
      return { kind: 'answered', answer: await coverageAnswer(store, query) }
    },
  }
}

/** A body that does not say how large it is may be the largest. */
const askerOf = ({ headers, ip }: FastifyRequest): Asker => ({
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
        const refusal = coverage.refusalOf(askerOf(request))
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
        ...askerOf(request),
        readFromMs: readFromMs.get(request),
      })
      if (look.kind === 'answered') return reply.send(look.answer)
      return sendError(reply, look.kind === 'limited' ? look.refusal : invalidRequest(look.issues))
    },
  )
}

/**
 * Parses a market as people write it into a key. Three outcomes: the key; `ambiguous`, which becomes UNGRADED with the
 * candidates; `malformed`, which becomes a 400 with the member's path. It does not check whether the ledger knows the
 * event.
 */
import { PERIOD } from '../../wire/period.ts'
import type { WireSingle } from '../../wire/requests.ts'
import {
  cutKey,
  cutMarketPath,
  type EventMarket,
  formatMarketKey,
  MARKET_TYPES,
  type MarketKey,
  type MarketType,
  marketFamily,
  marketPeriod,
  marketShape,
  marketTypesNamed,
  ownValue,
  selectionNamed,
} from './markets.ts'
import { sportNamed } from './team-names.ts'

/** A key as text, or its parts. */
type MarketInput = WireSingle['market']

type ParsedMarket =
  | { readonly kind: 'market'; readonly key: MarketKey; readonly selection: string }
  /** The name means several markets: fail closed. */
  | { readonly kind: 'ambiguous'; readonly candidates: readonly string[] }
  | { readonly kind: 'malformed'; readonly path: string; readonly expected: string }

const SPORT = /^[a-z0-9_-]{1,40}$/
/** An id, or free text with spaces to look up among the ledger's events. */
const EVENT = /^[\p{L}\p{N}][\p{L}\p{N} ._'&()-]{0,119}$/u
const PARTICIPANT = /^[a-z0-9][a-z0-9_.-]{0,79}$/
const PERIOD_ALIASES: Readonly<Record<string, string>> = {
  full_time: 'ft',
  fulltime: 'ft',
  match: 'ft',
  game: 'ft',
  regulation: 'reg',
  first_half: 'h1',
  second_half: 'h2',
}
/** A larger line is a typing error: no sport's total comes near. */
const LINE_MAX = 1_000

const malformed = (path: string, expected: string): ParsedMarket => ({
  kind: 'malformed',
  path,
  expected,
})

/** Whether a number can be a line: a multiple of 0.25 within ±1000. */
const isLine = (line: number): boolean => Number.isInteger(line * 4) && Math.abs(line) <= LINE_MAX

type Parts = Readonly<Record<'sport' | 'event' | 'type' | 'period', string>> & {
  readonly line: number | undefined
  readonly participant: string | undefined
}

/** The form of a line in a key: `Number` alone would read a blank as 0 and accept hexadecimal. */
const LINE_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/

const lineIn = (text: string): number => (LINE_TEXT.test(text) ? Number(text) : Number.NaN)

/** A key's text with its line as a number. */
function readKey(text: string): Parts | undefined {
  const parts = cutKey(text)
  const line = parts?.line === undefined ? undefined : lineIn(parts.line)
  return parts && { ...parts, line }
}

const KEY_FORM = 'sport/event/type/period[/line][@participant]'

/** An event as keys write it: `@` and `/` separate a key's parts, and people type several apostrophes and dashes. */
const eventText = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFC')
    // The remainder of a Turkish İ in lower case.
    .replaceAll('\u0307', '')
    .replace(/\s@\s/gu, ' at ')
    .replace(/[‘’`´]/gu, "'")
    .replace(/[‒–—−]/gu, '-')
    .replace(/[/@,+]/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim()

function readParts(input: MarketInput): Parts | undefined {
  if (typeof input === 'string') return readKey(input.toLowerCase())
  return {
    sport: input.sport.toLowerCase(),
    event: eventText(input.event),
    type: input.type.toLowerCase(),
    period: (input.period ?? 'ft').toLowerCase(),
    line: undefined,
    participant: input.participant?.toLowerCase(),
  }
}

function lineProblem(
  type: MarketType,
  {
    lineStated: stated,
    inKey,
  }: { readonly lineStated: number | undefined; readonly inKey: number | undefined },
): ParsedMarket | undefined {
  const line = stated ?? inKey
  const { hasLine } = marketShape(type)
  if (line !== undefined && !isLine(line))
    return malformed('line', `a multiple of 0.25 from -${LINE_MAX} to ${LINE_MAX}`)
  if (stated !== undefined && inKey !== undefined && stated !== inKey)
    return malformed('line', 'the line that the market key has, or none')
  if (hasLine === 'always' && line === undefined)
    return malformed('line', `a line: ${type} markets have one`)
  if (hasLine === 'never' && line !== undefined)
    return malformed('line', `no line: ${type} markets have none`)
  return undefined
}

function partProblem(parts: Parts): ParsedMarket | undefined {
  if (!SPORT.test(parts.sport)) return malformed('market.sport', 'a sport such as soccer')
  if (!EVENT.test(parts.event))
    return malformed('market.event', 'an event id such as epl.20240423.ars-che, or team names')
  if (!PERIOD.test(parts.period)) return malformed('market.period', 'a period such as ft, h1 or q2')
  if (parts.participant !== undefined && !PARTICIPANT.test(parts.participant))
    return malformed('market.participant', 'a name in lower case with dashes')
  return undefined
}

/** Reads a market, its selection and line. Never throws. */
export function parseMarket(pick: Pick<WireSingle, 'market' | 'selection' | 'line'>): ParsedMarket {
  const read = readParts(pick.market)
  if (read === undefined) return malformed('market', `a market key: ${KEY_FORM}`)
  const { period, sport } = read
  const parts = {
    ...read,
    sport: sportNamed(sport) ?? (sport === 'football' ? 'soccer' : sport),
    period: ownValue(PERIOD_ALIASES, period) ?? period,
  }
  const problem = partProblem(parts)
  if (problem !== undefined) return problem
  const types = marketTypesNamed(parts.type, { sport: parts.sport })
  const [type] = types
  if (type === undefined)
    return malformed('market.type', `one of ${MARKET_TYPES.join(', ')} or prop:<statistic>`)
  const line = pick.line ?? parts.line
  const keyWith = (candidate: MarketType): MarketKey => ({
    sport: parts.sport,
    event: parts.event,
    type: candidate,
    period: marketPeriod(parts.sport, candidate, parts.period),
    line: line === 0 ? 0 : line,
    participant: parts.participant,
  })
  if (types.length > 1)
    return {
      kind: 'ambiguous',
      candidates: types.map((candidate) => formatMarketKey(keyWith(candidate))),
    }
  const wrongLine = lineProblem(type, { lineStated: pick.line, inKey: parts.line })
  if (wrongLine !== undefined) return wrongLine
  if (marketShape(type).hasParticipant !== (parts.participant !== undefined))
    return malformed(
      'market.participant',
      parts.participant === undefined ? 'whose: home, away or a name' : `nobody: ${type} has none`,
    )
  const selection = selectionNamed(type, pick.selection.toLowerCase())
  if (selection === undefined) {
    const names = marketShape(type).selections?.join(', ') ?? 'a name in lower case with dashes'
    return malformed('selection', names)
  }
  return { kind: 'market', key: keyWith(type), selection }
}

/** Reads a key for a whole market, whatever the selection. */
export function parseWholeMarket(market: string): ParsedMarket {
  const [sport = '', , type = ''] = market.toLowerCase().split('/')
  const [named] = marketTypesNamed(type, { sport })
  const selections = named === undefined ? undefined : marketShape(named).selections
  return parseMarket({ market, selection: selections?.[0] ?? 'any' })
}

/** The parts of a market path within its event, `ah/ft/-0.75`, as the ledger writes it. Throws RangeError for any other text. */
export function readMarketPath(path: string): EventMarket & { readonly family: string } {
  const parts = cutMarketPath(path)
  if (parts === undefined) throw new RangeError(`${path} is not a market path`)
  const { period, participant } = parts
  const type = parts.type as MarketType
  const line = parts.line === undefined ? undefined : lineIn(parts.line)
  return { type, period, line, participant, family: marketFamily({ type, period, participant }) }
}

/**
 * Markets: their keys, `sport/event/type/period[/line][@participant]`, all lower case, such as
 * `soccer/epl.20240423.ars-che/ah/ft/-0.75`, and what each market type means. Names that mean different things in
 * different sports stay ambiguous on purpose. parse-market.ts reads what people write.
 */

/** What the bet is on: `ah` Asian handicap, `ml` two-way winner, `cs` correct score, `place` a finish in the first N (its line). */
export type MarketType = (typeof MARKET_TYPES)[number] | `prop:${string}`

/** One market, its parts in canonical form. */
export type MarketKey = {
  /** `soccer`, `baseball`. */
  readonly sport: string
  /** The event's id within its sport, `epl.20240423.ars-che`. */
  readonly event: string
  readonly type: MarketType
  /** `ft` full time, `reg` regulation, `h1`, `q1`, … */
  readonly period: string
  /** Handicap of the home side, or the total; a multiple of 0.25. Only if the type has lines. */
  readonly line?: number | undefined
  /** Whose total or statistic. */
  readonly participant?: string | undefined
}

/** A market within its event. */
export type EventMarket = Pick<MarketKey, 'type' | 'period' | 'line' | 'participant'>

const KEY = /^([^/@]*)\/([^/@]*)\/([^/@]*)\/([^/@]*)(?:\/([^/@]+))?(?:@(.*))?$/s

/** The parts of a key's text as written; undefined if it has too few or too many. */
export function cutKey(text: string) {
  const match = KEY.exec(text)
  if (match === null) return undefined
  const [, sport = '', event = '', type = '', period = '', line, participant] = match
  return { sport, event, type, period, line, participant }
}

const MARKET_PATH = /^([^/@]*)\/([^/@]*)(?:\/([^/@]+))?(?:@(.*))?$/s

/** The same of a market path within its event. */
export function cutMarketPath(text: string) {
  const match = MARKET_PATH.exec(text)
  if (match === null) return undefined
  const [, type = '', period = '', line, participant] = match
  return { type, period, line, participant }
}

/** The event’s path, `sport/event`, under which the ledger files it. */
export const eventPath = ({ sport, event }: Pick<MarketKey, 'sport' | 'event'>): string =>
  `${sport}/${event}`

/** A line as keys write it: `-0.75`, `2.5`, `0` (never `-0`). */
export const lineText = (line: number): string => String(line === 0 ? 0 : line)

/** The market within its event, without its line; all its lines share it. `ah/ft`, `team_total/ft@home`. */
export function marketFamily({
  type,
  period,
  participant,
}: Pick<MarketKey, 'type' | 'period' | 'participant'>): string {
  return participant === undefined ? `${type}/${period}` : `${type}/${period}@${participant}`
}

/** The market within its event, with its line: `ah/ft/-0.75`, `prop:points/ft/25.5@lebron-james`. */
export function marketPath(key: EventMarket): string {
  const line = key.line === undefined ? '' : `/${lineText(key.line)}`
  const participant = key.participant === undefined ? '' : `@${key.participant}`
  return `${key.type}/${key.period}${line}${participant}`
}

export const formatMarketKey = (key: MarketKey): string => `${eventPath(key)}/${marketPath(key)}`

type MarketShape = {
  /** Selections in the close's order; undefined if every market has its own. */
  readonly selections: readonly string[] | undefined
  readonly hasLine: 'always' | 'never' | 'maybe'
  readonly hasParticipant: boolean
  /** False if selections overlap, so that the margin cannot be removed as one book's. */
  readonly isOneBook: boolean
}

const shape = (
  selections: readonly string[] | undefined,
  over: Partial<MarketShape> = {},
): MarketShape => ({
  selections,
  hasLine: 'never',
  hasParticipant: false,
  isOneBook: true,
  ...over,
})

const HOME_AWAY = ['home', 'away']
const OVER_UNDER = ['over', 'under']

const SHAPES = {
  '1x2': shape(['home', 'draw', 'away']),
  ml: shape(HOME_AWAY),
  dnb: shape(HOME_AWAY),
  dc: shape(['home_draw', 'home_away', 'draw_away'], { isOneBook: false }),
  ah: shape(HOME_AWAY, { hasLine: 'always' }),
  spread: shape(HOME_AWAY, { hasLine: 'always' }),
  total: shape(OVER_UNDER, { hasLine: 'always' }),
  team_total: shape(OVER_UNDER, { hasLine: 'always', hasParticipant: true }),
  btts: shape(['yes', 'no']),
  cs: shape(undefined),
  outright: shape(undefined),
  place: shape(undefined, { hasLine: 'always' }),
  prop: shape(undefined, { hasLine: 'maybe', hasParticipant: true }),
}

/** Market types, besides `prop:<stat>`. */
export const MARKET_TYPES = Object.keys(SHAPES).filter(
  (type) => type !== 'prop',
) as readonly Exclude<keyof typeof SHAPES, 'prop'>[]

export const marketShape = (type: MarketType): MarketShape =>
  SHAPES[type.startsWith('prop:') ? 'prop' : (type as (typeof MARKET_TYPES)[number])]

const isNamedType = (text: string): text is (typeof MARKET_TYPES)[number] =>
  (MARKET_TYPES as readonly string[]).includes(text)

const PROP = /^prop:[a-z0-9_.-]{1,40}$/

/** Other names of our types; several types if the name alone does not decide. */
const ALIASES: Readonly<Record<string, readonly MarketType[]>> = {
  match_odds: ['1x2'],
  match_result: ['1x2'],
  full_time_result: ['1x2'],
  '3way': ['1x2'],
  draw_no_bet: ['dnb'],
  double_chance: ['dc'],
  asian_handicap: ['ah'],
  totals: ['total'],
  over_under: ['total'],
  ou: ['total'],
  team_totals: ['team_total'],
  both_teams_to_score: ['btts'],
  correct_score: ['cs'],
  futures: ['outright'],
  point_spread: ['spread'],
  run_line: ['spread'],
  puck_line: ['spread'],
}

/** Sports whose matches can be drawn at full time, where "moneyline" may mean three-way or draw-no-bet. */
const DRAW_SPORTS: ReadonlySet<string> = new Set(['soccer', 'rugby', 'handball', 'futsal'])
export const canDraw = (sport: string): boolean => DRAW_SPORTS.has(sport)

/** Sports whose final score includes overtime, so that only regulation can end level. */
const OVERTIME_SPORTS: ReadonlySet<string> = new Set([
  'american_football',
  'baseball',
  'basketball',
  'ice_hockey',
])
const WITH_A_DRAW: ReadonlySet<string> = new Set(['1x2', 'dc', 'dnb'])

/** The period that a market is on: one with a draw is on regulation where the whole game cannot end level. */
export const marketPeriod = (sport: string, type: MarketType, period: string): string =>
  period === 'ft' && WITH_A_DRAW.has(type) && OVERTIME_SPORTS.has(sport) ? 'reg' : period

/** The types that a name may mean in a sport: none for an unknown name, several for an ambiguous one. */
export function marketTypesNamed(
  name: string,
  { sport }: { readonly sport: string },
): readonly MarketType[] {
  if (['ml', 'moneyline', 'h2h', 'winner'].includes(name))
    return canDraw(sport) ? (name === 'h2h' ? ['1x2'] : ['1x2', 'dnb']) : ['ml']
  if (name === 'handicap' || name === 'spreads') return canDraw(sport) ? ['ah'] : ['spread']
  if (isNamedType(name)) return [name]
  if (PROP.test(name)) return [name as MarketType]
  return ownValue(ALIASES, name) ?? []
}

const SELECTION_ALIASES: Readonly<Record<string, string>> = {
  '1': 'home',
  x: 'draw',
  '2': 'away',
  h: 'home',
  d: 'draw',
  a: 'away',
  o: 'over',
  u: 'under',
  '1x': 'home_draw',
  '12': 'home_away',
  x2: 'draw_away',
}

const OPEN_SELECTION = /^[a-z0-9][a-z0-9_.-]{0,79}$/

/** A selection in canonical form; undefined if the type has none by that name. */
export function selectionNamed(type: MarketType, name: string): string | undefined {
  const { selections } = marketShape(type)
  if (selections === undefined) return OPEN_SELECTION.test(name) ? name : undefined
  if (selections.includes(name)) return name
  const alias = ownValue(SELECTION_ALIASES, name)
  return alias !== undefined && selections.includes(alias) ? alias : undefined
}

/**
 * A record's own member under a name that a stranger chose: `constructor` is on every object's prototype, but is not a
 * price, result or alias.
 */
export const ownValue = <Value>(
  record: Readonly<Record<string, Value>> | undefined,
  name: string,
): Value | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined

/** The event's path in a market key's text: its first two parts. */
export function eventPathIn(market: string): string {
  const end = market.indexOf('/', market.indexOf('/') + 1)
  return end === -1 ? market : market.slice(0, end)
}

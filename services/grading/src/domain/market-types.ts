/**
 * What every type of market is: its selections, whether it has lines and participants, and what people call it. Names
 * that mean different things in different sports are left ambiguous on purpose.
 */
import { MARKET_TYPES, type MarketType } from './market-key.ts'
import { ownValue } from './own-value.ts'

/** How a type of market works. */
export type MarketShape = {
  /** Its selections in the order of the close; undefined where every market has its own. */
  readonly selections: readonly string[] | undefined
  readonly hasLine: 'always' | 'never' | 'maybe'
  readonly hasParticipant: boolean
  /** False where selections overlap, so that their margin cannot be removed as that of one book. */
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

const SHAPES: Readonly<Record<(typeof MARKET_TYPES)[number] | 'prop', MarketShape>> = {
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
  prop: shape(undefined, { hasLine: 'maybe', hasParticipant: true }),
}

/** The shape of a type. */
export const marketShape = (type: MarketType): MarketShape =>
  SHAPES[type.startsWith('prop:') ? 'prop' : (type as (typeof MARKET_TYPES)[number])]

const isNamedType = (text: string): text is (typeof MARKET_TYPES)[number] =>
  (MARKET_TYPES as readonly string[]).includes(text)

const PROP = /^prop:[a-z0-9_.-]{1,40}$/

/** What other people call our types; several where the name alone does not say. */
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

/** Sports whose matches can end in a draw at full time, so that "moneyline" may be three-way or draw-no-bet. */
const DRAW_SPORTS: ReadonlySet<string> = new Set(['soccer', 'rugby', 'handball', 'futsal'])

/** The types that a name may mean in a sport: none for an unknown name, several for an ambiguous one. */
export function marketTypesNamed(
  name: string,
  { sport }: { readonly sport: string },
): readonly MarketType[] {
  const canDraw = DRAW_SPORTS.has(sport)
  if (['ml', 'moneyline', 'h2h', 'winner'].includes(name))
    return canDraw ? (name === 'h2h' ? ['1x2'] : ['1x2', 'dnb']) : ['ml']
  if (name === 'handicap' || name === 'spreads') return canDraw ? ['ah'] : ['spread']
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

/** A selection in canonical form; undefined where the type has none of that name. */
export function selectionNamed(type: MarketType, name: string): string | undefined {
  const { selections } = marketShape(type)
  if (selections === undefined) return OPEN_SELECTION.test(name) ? name : undefined
  if (selections.includes(name)) return name
  const alias = ownValue(SELECTION_ALIASES, name)
  return alias !== undefined && selections.includes(alias) ? alias : undefined
}

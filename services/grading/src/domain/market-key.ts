/**
 * Market keys: the one name of a market, `sport/event/type/period[/line][@participant]`, all lower case, such as
 * `soccer/epl.20240423.ars-che/ah/ft/-0.75`. Reading what people write into a key is in parse-market.ts.
 */

/** Types of market whose selections are the same everywhere; `prop:<stat>` besides. */
export const MARKET_TYPES = [
  '1x2',
  'ml',
  'dnb',
  'dc',
  'ah',
  'spread',
  'total',
  'team_total',
  'btts',
  'cs',
  'outright',
] as const

/** What is bet on: `ah` is an Asian handicap, `ml` a two-way winner, `cs` a correct score. */
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
  /** Handicap of the home side, or the total; a multiple of 0.25. Only where the type has lines. */
  readonly line?: number
  /** Whose total or statistic. */
  readonly participant?: string
}

/** The event's path, `sport/event`: what the ledger files under. */
export const eventPath = ({ sport, event }: Pick<MarketKey, 'sport' | 'event'>): string =>
  `${sport}/${event}`

/** A line as keys write it: `-0.75`, `2.5`, `0` (never `-0`). */
export const lineText = (line: number): string => String(line === 0 ? 0 : line)

/** The market within its event, without its line: all of its lines share it. `ah/ft`, `team_total/ft@home`. */
export function marketFamily({
  type,
  period,
  participant,
}: Pick<MarketKey, 'type' | 'period' | 'participant'>): string {
  return participant === undefined ? `${type}/${period}` : `${type}/${period}@${participant}`
}

/** The market within its event, with its line: `ah/ft/-0.75`, `prop:points/ft/25.5@lebron-james`. */
export function marketPath(
  key: Pick<MarketKey, 'type' | 'period' | 'line' | 'participant'>,
): string {
  const line = key.line === undefined ? '' : `/${lineText(key.line)}`
  const participant = key.participant === undefined ? '' : `@${key.participant}`
  return `${key.type}/${key.period}${line}${participant}`
}

/** The whole key as text. */
export const formatMarketKey = (key: MarketKey): string => `${eventPath(key)}/${marketPath(key)}`

/** A key's texts, as maps are asked for them. */
export type KeyTexts = { readonly event: string; readonly market: string }

const texts = new WeakMap<MarketKey, KeyTexts>()

/** The event's path and the market's within it, joined once per key: a text that is joined anew is hashed anew by every map. */
export function keyTexts(key: MarketKey): KeyTexts {
  let joined = texts.get(key)
  if (joined === undefined) {
    joined = { event: eventPath(key), market: marketPath(key) }
    texts.set(key, joined)
  }
  return joined
}

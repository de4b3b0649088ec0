/** Market keys in words: `soccer/epl.20240423.ars-che/ah/ft/-0.75` → `Asian handicap −0.75`. */
import { cutKey, MARKET_TYPES, marketShape } from '../../domain/markets/markets.ts'

type NamedMarketType = (typeof MARKET_TYPES)[number]

const TYPES: Readonly<Record<NamedMarketType, string>> = {
  '1x2': 'Match result',
  ml: 'Winner',
  dnb: 'Draw no bet',
  dc: 'Double chance',
  ah: 'Asian handicap',
  spread: 'Spread',
  total: 'Total',
  team_total: 'Team total',
  btts: 'Both teams to score',
  cs: 'Correct score',
  outright: 'Outright',
  place: 'Placed among',
}

const PERIODS: Readonly<Record<string, string>> = {
  ft: '',
  reg: 'regulation',
  h1: 'first half',
  h2: 'second half',
}

const namedType = (text: string): NamedMarketType | undefined =>
  MARKET_TYPES.find((type) => type === text)

const words = (name: string): string => name.replaceAll(/[-_.]+/g, ' ')

const withMinus = (line: string): string => (line.startsWith('-') ? `−${line.slice(1)}` : line)

/** What a market is, without its event; its line is the home side's. */
export const marketWords = (key: string): string => namedMarket(key, true)

function namedMarket(key: string, hasLine: boolean): string {
  const parts = cutKey(key.trim())
  if (parts === undefined || Object.values(parts).includes('')) return eventWords(key)
  const { type, period, line, participant } = parts
  const named = namedType(type)
  const name = named === undefined ? words(type.replace(/^prop:/, '')) : TYPES[named]
  const when = PERIODS[period] ?? period.toUpperCase()
  const shownLine = hasLine && line && withMinus(line)
  return [name, shownLine, participant === undefined ? '' : `(${words(participant)})`, when]
    .filter(Boolean)
    .join(' ')
}

/** What a pick without a known event is called: a parlay, or its key as written. */
export const eventWords = (market: string): string => (market === 'parlay' ? 'Parlay' : market)

/** The selections of a key's type; none if every market has its own. */
export function marketSelections(key: string): readonly string[] {
  const type = namedType(cutKey(key.trim())?.type ?? '')
  return type === undefined ? [] : (marketShape(type).selections ?? [])
}

/** A selection in words, with the team if the event is known. */
export function selectionWords(
  selection: string,
  event: { readonly home: string; readonly away: string } | undefined,
): string {
  if (selection === 'home') return event === undefined ? 'Home' : `${event.home} (home)`
  if (selection === 'away') return event === undefined ? 'Away' : `${event.away} (away)`
  const text = words(selection)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A handicap as the backed side has it: at home −6, the away side is +6. */
function backedLine(line: string, selection: string): string {
  const backed = selection === 'away' ? -Number(line) : Number(line)
  return backed > 0 ? `+${backed}` : withMinus(String(backed === 0 ? 0 : backed))
}

/** A bet in words: its market and its selection, with a handicap beside the side that was backed. */
export function betWords(
  key: string,
  selection: string,
  event: { readonly home: string; readonly away: string } | undefined,
): string {
  const { line, type } = cutKey(key.trim()) ?? {}
  const backed = selectionWords(selection, event)
  if (line === undefined || (type !== 'ah' && type !== 'spread'))
    return `${marketWords(key)}: ${backed}`
  return `${namedMarket(key, false)}: ${backed} ${backedLine(line, selection)}`
}

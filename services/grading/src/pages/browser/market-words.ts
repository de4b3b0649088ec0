/** Market keys in words: `soccer/epl.20240423.ars-che/ah/ft/-0.75` → `Asian handicap −0.75`. */
import { cutKey, MARKET_TYPES, marketShape } from '../../domain/markets.ts'

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

/** What a market is, without its event. */
export function marketWords(key: string): string {
  const parts = cutKey(key.trim())
  if (parts === undefined || Object.values(parts).includes('')) return eventWords(key)
  const { type, period, line, participant } = parts
  const named = namedType(type)
  const name = named === undefined ? words(type.replace(/^prop:/, '')) : TYPES[named]
  const when = PERIODS[period] ?? period.toUpperCase()
  const shownLine = line?.startsWith('-') ? `−${line.slice(1)}` : line
  return [name, shownLine, participant === undefined ? '' : `(${words(participant)})`, when]
    .filter(Boolean)
    .join(' ')
}

/** What a pick without a known event is called: a parlay, or its key as written. */
export const eventWords = (market: string): string => (market === 'parlay' ? 'Parlay' : market)

/** The selections of a key's type; none if every market has its own. */
export function selectionsOf(key: string): readonly string[] {
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

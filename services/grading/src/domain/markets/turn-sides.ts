/** A bet on a fixture, as the same bet on the fixture with its teams in the other order. */
import { type EventMarket, ownValue } from './markets.ts'

const TURNED: Readonly<Record<string, string>> = {
  home: 'away',
  away: 'home',
  home_draw: 'draw_away',
  draw_away: 'home_draw',
}

const turnName = (name: string): string => ownValue(TURNED, name) ?? name

/** The turned bet; undefined for a market that has no sides of its own to turn. */
export function turnSides(
  market: EventMarket,
  selection: string,
): { readonly market: EventMarket; readonly selection: string } | undefined {
  const { line, participant, type } = market
  switch (type) {
    case '1x2':
    case 'ml':
    case 'dnb':
    case 'dc':
      return { market, selection: turnName(selection) }
    case 'ah':
    case 'spread': {
      const turned = line === undefined || line === 0 ? line : -line
      return { market: { ...market, line: turned }, selection: turnName(selection) }
    }
    case 'team_total':
      return { market: { ...market, participant: participant && turnName(participant) }, selection }
    case 'cs':
      return { market, selection: selection.split('-').toReversed().join('-') }
    case 'total':
    case 'btts':
      return { market, selection }
    case 'outright':
    case 'place':
    default:
      return undefined
  }
}

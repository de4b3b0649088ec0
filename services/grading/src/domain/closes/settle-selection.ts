/** How a selection ended, from the ledger's results alone. */
import { type LineResult, settledReturn, settleLine } from '@tallystick/odds'
import type { SelectionResult } from '../../wire/upload.ts'
import { type EventMarket, marketPath, ownValue } from '../markets/markets.ts'
import type { EventState } from './event-state.ts'

type Score = { readonly home: number; readonly away: number }

const wonIf = (isWon: boolean): LineResult => (isWon ? 'won' : 'lost')

const DOUBLE_CHANCES: Readonly<Record<string, (margin: number) => boolean>> = {
  home_draw: (margin) => margin >= 0,
  home_away: (margin) => margin !== 0,
  draw_away: (margin) => margin <= 0,
}

function handicapResult(margin: number, line: number, selection: string): LineResult {
  return selection === 'home'
    ? settleLine({ margin, line })
    : settleLine({ margin: -margin, line: -line })
}

function totalResult(total: number, line: number, selection: string): LineResult {
  return selection === 'over'
    ? settleLine({ margin: total, line: -line })
    : settleLine({ margin: -total, line })
}

/**
 * Whether a score settles a market of its sport. A score of tennis counts sets: it says who won a whole match, and nothing
 * of games; after a retirement, books differ about the rest. What it does not say has to be recorded as a result.
 */
function isByScore(sport: string | undefined, { type }: EventMarket, { away, home }: Score) {
  if (sport !== 'tennis') return true
  const sets = Math.max(home, away)
  return type === 'ml' && home !== away && (sets === 2 || sets === 3)
}

/** A selection's result by score; undefined for markets that a score does not settle. */
function resultByScore(
  { line = 0, participant, type }: EventMarket,
  selection: string,
  score: Score,
): LineResult | undefined {
  const margin = score.home - score.away
  switch (type) {
    case '1x2':
      return wonIf(selection === (margin > 0 ? 'home' : margin < 0 ? 'away' : 'draw'))
    // Level in a two-way market: the stake is returned.
    case 'ml':
    case 'dnb':
      return handicapResult(margin, 0, selection)
    case 'dc':
      return wonIf(DOUBLE_CHANCES[selection]?.(margin) ?? false)
    case 'ah':
    case 'spread':
      return handicapResult(margin, line, selection)
    case 'total':
      return totalResult(score.home + score.away, line, selection)
    case 'team_total':
      return participant === 'home' || participant === 'away'
        ? totalResult(score[participant], line, selection)
        : undefined
    case 'btts':
      return wonIf((selection === 'yes') === (score.home > 0 && score.away > 0))
    case 'cs':
      return /^\d+-\d+$/.test(selection)
        ? wonIf(selection === `${score.home}-${score.away}`)
        : undefined
    case 'outright':
    case 'place':
      return undefined
    default:
      return undefined
  }
}

/** A selection's result; undefined while the ledger has none. */
export function settleSelection(
  state: Pick<EventState, 'outcomes'> & { readonly info?: Pick<EventState['info'], 'sport'> },
  market: EventMarket,
  selection: string,
): SelectionResult | undefined {
  const outcome = state.outcomes.find(({ period }) => period === market.period)
  if (outcome === undefined) return undefined
  if (outcome.status === 'void') return { result: 'void' }
  const stated = ownValue(outcome.results?.[marketPath(market)], selection)
  if (stated !== undefined) return stated
  const { score } = outcome
  if (score === undefined || !isByScore(state.info?.sport, market, score)) return undefined
  const result = resultByScore(market, selection, score)
  return result && { result }
}

/** Profit per unit of a flat stake at decimal odds. */
export function returnAt(settled: SelectionResult, odds: number): number {
  return settledReturn({ ...settled, odds }).returnUnits
}

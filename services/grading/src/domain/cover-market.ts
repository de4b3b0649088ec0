/** What is recorded of a market or an event, never a price (G7). */
import type { CoverageStatus, CoveredEvent } from '../wire/coverage.ts'
import type { EventState } from './event-state.ts'
import { isoText } from './iso-time.ts'

/** Markets listed of one event. */
const MARKETS_MAX = 100

const statusOf = (statuses: readonly ('provisional' | 'final')[]): CoverageStatus => {
  if (statuses.includes('final')) return 'final'
  return statuses.length > 0 ? 'pending' : 'none'
}

/** Whether a market's close is recorded. Prices before the close make it pending. */
export function closeStatus(state: EventState | undefined, market: string): CoverageStatus {
  if (state === undefined) return 'none'
  const status = statusOf(
    state.closes.filter((close) => close.market === market).map((close) => close.status),
  )
  if (status !== 'none') return status
  return state.snapshots.some((price) => price.market === market) ? 'pending' : 'none'
}

/** An event with every market that the ledger has of it. */
export function coveredEvent(state: EventState): CoveredEvent {
  const { info, closes, snapshots, outcomes } = state
  const markets = [...new Set([...closes, ...snapshots].map(({ market }) => market))].toSorted()
  return {
    event: info.path,
    home: info.home,
    away: info.away,
    starts_at: isoText(info.startAtSeconds),
    start_precision: info.startPrecision,
    synthetic: [...closes, ...snapshots].some(({ isSynthetic }) => isSynthetic),
    result: outcomes.find(({ period }) => period === 'ft')?.status ?? 'pending',
    markets: markets.slice(0, MARKETS_MAX).map((market) => ({
      market: `${info.path}/${market}`,
      close: closeStatus(state, market),
    })),
  }
}

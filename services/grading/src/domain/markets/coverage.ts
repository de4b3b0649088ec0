/** What the ledger records about a market or an event, never a price (G7). */

import { DAY_SECONDS, isoText } from '@tallystick/service-kit/clock'
import type { CoverageAnswer, CoverageStatus, CoveredEvent } from '../../wire/coverage.ts'
import type { EventState } from '../closes/event-state.ts'
import type { LedgerReader } from '../closes/grading-store.ts'
import { searchWords } from './find-events.ts'
import { eventPathIn } from './markets.ts'

/** Markets listed of one event. */
const MARKETS_MAX = 100

const bestStatus = (statuses: readonly CoverageStatus[]): CoverageStatus =>
  (['final', 'pending'] as const).find((status) => statuses.includes(status)) ?? 'none'

/** Whether a market’s close is recorded. Prices before the close make it pending. */
function closeStatus(state: EventState | undefined, market: string): CoverageStatus {
  const closes = state?.closes.filter((close) => close.market === market) ?? []
  if (closes.some(({ status }) => status === 'final')) return 'final'
  const isPriced =
    closes.length > 0 || (state !== undefined && new Set(state.snapshots.markets).has(market))
  return isPriced ? 'pending' : 'none'
}

function coveredEvent(state: EventState): CoveredEvent {
  const { info, closes, snapshots, outcomes } = state
  const markets = [
    ...new Set([...closes.map(({ market }) => market), ...snapshots.markets]),
  ].toSorted()
  return {
    event: info.path,
    home: info.home,
    away: info.away,
    starts_at: isoText(info.startAtSeconds),
    start_precision: info.startPrecision,
    synthetic: snapshots.hasSynthetic || closes.some(({ isSynthetic }) => isSynthetic),
    result: outcomes.find(({ period }) => period === 'ft')?.status ?? 'pending',
    markets: markets.slice(0, MARKETS_MAX).map((market) => ({
      market: `${info.path}/${market}`,
      close: closeStatus(state, market),
    })),
  }
}

/** Most events in one search answer: a matchday of a big league. */
const CANDIDATES_MAX = 20

/** A key, or what a person knows about an event. */
export type CoverageQuery =
  | { readonly kind: 'key'; readonly market: string }
  | {
      readonly kind: 'search'
      readonly sport: string | undefined
      /** Midnight UTC of the day, Unix seconds. */
      readonly daySeconds: number | undefined
      readonly text: string
    }

/** Whether a close is recorded, by key or by such knowledge. */
export async function coverageAnswer(
  store: Pick<LedgerReader, 'events' | 'searchEvents'>,
  query: CoverageQuery,
): Promise<CoverageAnswer> {
  if (query.kind === 'key') {
    const path = eventPathIn(query.market)
    const [state] = await store.events([path])
    const close = closeStatus(state, query.market.slice(path.length + 1))
    return { close, candidates: state === undefined ? [] : [coveredEvent(state)] }
  }
  const { sport, daySeconds, text } = query
  const states = await store.searchEvents({
    sport,
    from: daySeconds,
    to: daySeconds === undefined ? undefined : daySeconds + DAY_SECONDS,
    words: searchWords(text),
    limit: CANDIDATES_MAX,
  })
  const candidates = states.map(coveredEvent)
  const closes = candidates.flatMap(({ markets }) => markets.map(({ close }) => close))
  return { close: bestStatus(closes), candidates }
}

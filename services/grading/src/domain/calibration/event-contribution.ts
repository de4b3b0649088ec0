/**
 * What an event adds to the truth table: the settled rows of its snapshots (mechanical) and of the committed picks that
 * count (committed). It is a pure function of the event and its picks, so the table can always be recounted.
 */
import { bandPrice, parseOdds } from '@tallystick/odds'
import type { GradeBasis, Population } from '../../wire/cards.ts'
import { isOwnFeed } from '../../wire/own-feeds.ts'
import { countedPicks } from '../closes/committed-pick.ts'
import type { CloseRecord, EarliestStart, EventState } from '../closes/event-state.ts'
import type { CommittedPick } from '../closes/pick-opening.ts'
import type { PriceRecord } from '../closes/price-log.ts'
import {
  bestClose,
  type FairClose,
  fairClose,
  fairProbabilityIn,
} from '../closes/reference-close.ts'
import { returnAt, settleSelection } from '../closes/settle-selection.ts'
import { type EventMarket, marketFamily } from '../markets/markets.ts'
import { parseMarket } from '../markets/parse-market.ts'
import { SCOPE_SYNTHETIC, type SettledRow, toMicro } from './truth-table.ts'

/** An event whose rows are counted, with its fair closes: every price needs them. */
type Counted = {
  readonly state: EventState
  /** By the close's place in the event. */
  readonly fair: (FairClose | undefined)[]
}

function readFair({ fair, state }: Counted, close: CloseRecord): FairClose | undefined {
  const place = state.closes.indexOf(close)
  if (!(place in fair)) fair[place] = fairClose(close, 'power')
  return fair[place]
}

type PricedSelection = {
  readonly market: EventMarket & { readonly family: string }
  readonly selection: string
  readonly odds: number
  readonly population: Population
  /** The narrowest of the pick, whether or not its close is real. */
  readonly scope: string
}

/** Adds the rows of a price to those of its event. */
function addRows(rows: SettledRow[], counted: Counted, pick: PricedSelection): void {
  const { market, odds: taken, population, selection } = pick
  const settled = settleSelection(counted.state, market, selection)
  if (settled === undefined || settled.result === 'void') return
  const { family, line } = market
  const close = bestClose(counted.state.closes, { family, line, selection })
  const closing = close?.odds[selection]
  if (close === undefined || closing === undefined) return
  // Made-up prices never mix with real ones: their rows have scopes of their own.
  const scope = close.isSynthetic ? `${SCOPE_SYNTHETIC}/${pick.scope}` : pick.scope
  const { result } = settled
  const returnMicro = toMicro(returnAt(settled, taken))
  const addRow = (basis: GradeBasis, fairProbability: number | undefined): void => {
    const { band, value } = bandPrice({ taken, close: closing, fairProbability })
    rows.push({ population, scope, result, returnMicro, basis, band, clvMicro: toMicro(value) })
  }
  // Every pick also gets a letter on price alone; otherwise this column would be a small sample of odd markets.
  addRow('price', undefined)
  const fairProbability = fairProbabilityIn(readFair(counted, close), selection)
  if (fairProbability !== undefined) addRow('fair', fairProbability)
}

const isBeforeStart = (start: EarliestStart, atSeconds: number | undefined): boolean =>
  atSeconds === undefined || atSeconds < start.startAtSeconds

/** Our feeds' book keeps its name; an upload's book has its source in the name (G15). */
const bookScope = ({ book, feed }: PriceRecord): string =>
  isOwnFeed(feed) ? book : `${feed}:${book}`

/** Adds the rows of every recorded pre-close price of every selection. */
function addMechanical(rows: SettledRow[], counted: Counted): void {
  const { state } = counted
  const population = 'mechanical'
  for (const snapshot of state.snapshots) {
    if (!isBeforeStart(state.earliestStart, snapshot.capturedAtSeconds)) continue
    const scope = `${state.info.sport}/${snapshot.type}/${bookScope(snapshot)}`
    for (const selection in snapshot.odds) {
      const odds = snapshot.odds[selection] ?? 0
      addRows(rows, counted, { market: snapshot, selection, odds, population, scope })
    }
  }
}

/** Adds the rows of the committed picks that count. */
function addCommitted(rows: SettledRow[], counted: Counted, picks: readonly CommittedPick[]): void {
  const population = 'committed'
  for (const { opening } of countedPicks(counted.state.earliestStart, picks)) {
    const parsed = parseMarket({ market: opening.market, selection: opening.selection })
    const odds = parseOdds(opening.odds)
    if (parsed.kind !== 'market' || odds.kind !== 'odds') continue
    const { key, selection } = parsed
    const market = { ...key, family: marketFamily(key) }
    const scope = `${key.sport}/${key.type}`
    addRows(rows, counted, { market, selection, odds: odds.decimal, population, scope })
  }
}

/** Everything an event adds; nothing if the ledger does not know it. */
export function eventContribution(
  state: EventState | undefined,
  picks: readonly CommittedPick[],
): readonly SettledRow[] {
  if (state === undefined || state.outcomes.length === 0) return []
  const counted = { state, fair: [] }
  const rows: SettledRow[] = []
  addMechanical(rows, counted)
  addCommitted(rows, counted, picks)
  return rows
}

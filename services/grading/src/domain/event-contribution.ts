/**
 * What an event adds to the truth table: the settled rows of its snapshots (mechanical) and of the committed picks that
 * count (committed). It is a pure function of the event and its picks, so the table can always be recounted.
 */
import { gradePrice } from '@tallystick/odds'
import type { GradeBasis, Population } from '../wire/cards.ts'
import type { SelectionResult } from '../wire/upload.ts'
import { type CommittedPick, countedPicks, takenOdds } from './committed-pick.ts'
import type { CloseRecord, EarliestStart, EventState, PriceRecord } from './event-state.ts'
import { type EventMarket, ownValue } from './markets.ts'
import { parseMarket, readMarketPath } from './parse-market.ts'
import { chooseClose, fairClose, fairProbabilityOf, isOwnFeed } from './reference-close.ts'
import { returnOf, settleSelection } from './settle-selection.ts'
import { SCOPE_ALL, SCOPE_SYNTHETIC, type SettledRow, toMicro } from './truth-table.ts'

type PricedSelection = {
  readonly state: EventState
  readonly market: EventMarket
  readonly selection: string
  readonly odds: number
  readonly population: Population
  readonly scopes: readonly string[]
}

/** Made-up prices never mix with real ones: their rows have scopes of their own. */
const syntheticScope = (scope: string): string =>
  scope === SCOPE_ALL ? SCOPE_SYNTHETIC : `${SCOPE_SYNTHETIC}/${scope}`

function rowsOf(
  pick: PricedSelection,
  close: CloseRecord,
  settled: SelectionResult,
): readonly SettledRow[] {
  if (settled.result === 'void') return []
  const { odds: taken, selection, population } = pick
  const scopes = close.isSynthetic ? pick.scopes.map(syntheticScope) : pick.scopes
  const closing = ownValue(close.odds, selection)
  if (closing === undefined) return []
  const common = {
    population,
    scopes,
    result: settled.result,
    returnMicro: toMicro(returnOf(settled, taken)),
  }
  const row = (fairProbability: number | undefined): SettledRow => {
    const grade = gradePrice({
      taken,
      close: closing,
      ...(fairProbability === undefined ? {} : { fairProbability }),
    })
    const basis: GradeBasis = grade.basis
    const clv = grade.basis === 'fair' ? grade.fair : grade.price
    return { ...common, basis, band: grade.band, clvMicro: toMicro(clv) }
  }
  const fairProbability = fairProbabilityOf(fairClose(close, 'power'), selection)
  // Every pick also gets a letter on price alone, so that this column is not a small sample of odd markets.
  return fairProbability === undefined ? [row(undefined)] : [row(undefined), row(fairProbability)]
}

function settledRows(pick: PricedSelection): readonly SettledRow[] {
  const settled = settleSelection(pick.state, pick.market, pick.selection)
  if (settled === undefined) return []
  const chosen = chooseClose(pick.state, { key: pick.market, selection: pick.selection })
  return chosen.kind === 'close' ? rowsOf(pick, chosen.close, settled) : []
}

const isBeforeStart = (start: EarliestStart, atSeconds: number | undefined): boolean =>
  atSeconds === undefined || atSeconds < start.startAtSeconds

/** The book under its name for our feeds; an upload's is another book, with its source in the name (G15). */
const bookScope = ({ book, feed }: PriceRecord): string =>
  isOwnFeed(feed) ? book : `${feed}:${book}`

/** Rows of every recorded pre-close price of every selection. */
function mechanicalRows(state: EventState): readonly SettledRow[] {
  if (state.outcomes.length === 0) return []
  const rows: SettledRow[] = []
  for (const snapshot of state.snapshots) {
    if (!isBeforeStart(state.earliestStart, snapshot.capturedAtSeconds)) continue
    const market = readMarketPath(snapshot.market)
    const type = `${state.info.sport}/${market.type}`
    const scopes = [SCOPE_ALL, type, `${type}/${bookScope(snapshot)}`]
    for (const [selection, odds] of Object.entries(snapshot.odds)) {
      const population = 'mechanical'
      rows.push(...settledRows({ state, market, selection, odds, population, scopes }))
    }
  }
  return rows
}

/** Rows of the committed picks that count. */
function committedRows(state: EventState, picks: readonly CommittedPick[]): readonly SettledRow[] {
  if (state.outcomes.length === 0) return []
  const rows: SettledRow[] = []
  for (const { opening } of countedPicks(state.earliestStart, picks)) {
    const parsed = parseMarket({ market: opening.market, selection: opening.selection })
    const odds = takenOdds(opening)
    if (parsed.kind !== 'market' || odds.kind !== 'odds') continue
    const { key, selection } = parsed
    const scopes = [SCOPE_ALL, `${key.sport}/${key.type}`]
    const population = 'committed'
    rows.push(
      ...settledRows({ state, market: key, selection, odds: odds.decimal, population, scopes }),
    )
  }
  return rows
}

/** Everything an event adds; nothing if the ledger does not know it. */
export function eventContribution(
  state: EventState | undefined,
  picks: readonly CommittedPick[],
): readonly SettledRow[] {
  if (state === undefined) return []
  return [...mechanicalRows(state), ...committedRows(state, picks)]
}

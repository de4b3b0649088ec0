/**
 * What an event adds to the truth table: the settled rows of its snapshots (mechanical) and of the committed picks that
 * count (committed). It is a pure function of the event and its picks, so the table can always be recounted.
 */
import { bandPrice } from '@tallystick/odds'
import { BoundedMap } from '@tallystick/service-kit'
import type { GradeBasis, Population } from '../wire/cards.ts'
import type { SelectionResult } from '../wire/upload.ts'
import { type CommittedPick, countedPicks, takenOdds } from './committed-pick.ts'
import type { CloseRecord, EarliestStart, EventState, PriceRecord } from './event-state.ts'
import { type EventMarket, ownValue } from './markets.ts'
import { parseMarket, readMarketPath } from './parse-market.ts'
import {
  chooseClose,
  type FairClose,
  fairProbabilityOf,
  isOwnFeed,
  withoutMargin,
} from './reference-close.ts'
import { returnOf, settleSelection } from './settle-selection.ts'
import { SCOPE_ALL, SCOPE_SYNTHETIC, type SettledRow, toMicro } from './truth-table.ts'

/** An event whose rows are counted, with its closes without their margins: each is asked for once for every price. */
type Counted = {
  readonly state: EventState
  /** By the close's place in the event. */
  readonly fair: (FairClose | undefined)[]
}

function fairOf({ fair, state }: Counted, close: CloseRecord): FairClose | undefined {
  const place = state.closes.indexOf(close)
  if (!(place in fair)) fair[place] = withoutMargin(close, 'power')
  return fair[place]
}

type PricedSelection = Counted & {
  readonly market: EventMarket
  readonly selection: string
  readonly odds: number
  readonly population: Population
  readonly scopes: Scopes
}

/** The scopes of a pick. Made-up prices never mix with real ones: their rows have scopes of their own. */
type Scopes = { readonly real: readonly string[]; readonly synthetic: readonly string[] }

/** Lists of scopes that rows share: few sports, markets and books come again and again. */
const SCOPES_MAX = 1_024
const known = new BoundedMap<string, Scopes>(SCOPES_MAX)

/** `all`, the sport's market, and the book of it, if one is named. */
function scopesOf(type: string, book = ''): Scopes {
  const name = `${type}/${book}`
  const found = known.get(name)
  if (found !== undefined) return found
  const own = book === '' ? [type] : [type, name]
  const scopes = {
    real: [SCOPE_ALL, ...own],
    synthetic: [SCOPE_SYNTHETIC, ...own.map((scope) => `${SCOPE_SYNTHETIC}/${scope}`)],
  }
  known.set(name, scopes)
  return scopes
}

function rowsOf(
  pick: PricedSelection,
  close: CloseRecord,
  settled: SelectionResult,
): readonly SettledRow[] {
  if (settled.result === 'void') return []
  const { odds: taken, selection, population } = pick
  const scopes = close.isSynthetic ? pick.scopes.synthetic : pick.scopes.real
  const closing = ownValue(close.odds, selection)
  if (closing === undefined) return []
  const { result } = settled
  const returnMicro = toMicro(returnOf(settled, taken))
  const row = (fairProbability: number | undefined): SettledRow => {
    const basis: GradeBasis = fairProbability === undefined ? 'price' : 'fair'
    const { band, value } = bandPrice({ taken, close: closing, fairProbability })
    return { population, scopes, result, returnMicro, basis, band, clvMicro: toMicro(value) }
  }
  const fairProbability = fairProbabilityOf(fairOf(pick, close), selection)
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
function mechanicalRows(counted: Counted): readonly SettledRow[] {
  const { state } = counted
  const rows: SettledRow[] = []
  for (const snapshot of state.snapshots) {
    if (!isBeforeStart(state.earliestStart, snapshot.capturedAtSeconds)) continue
    const market = readMarketPath(snapshot.market)
    const scopes = scopesOf(`${state.info.sport}/${market.type}`, bookScope(snapshot))
    const population = 'mechanical'
    for (const selection in snapshot.odds) {
      const odds = snapshot.odds[selection] ?? 0
      rows.push(...settledRows({ ...counted, market, selection, odds, population, scopes }))
    }
  }
  return rows
}

/** Rows of the committed picks that count. */
function committedRows(counted: Counted, picks: readonly CommittedPick[]): readonly SettledRow[] {
  const { state } = counted
  const rows: SettledRow[] = []
  for (const { opening } of countedPicks(state.earliestStart, picks)) {
    const parsed = parseMarket({ market: opening.market, selection: opening.selection })
    const odds = takenOdds(opening)
    if (parsed.kind !== 'market' || odds.kind !== 'odds') continue
    const { key, selection } = parsed
    const scopes = scopesOf(`${key.sport}/${key.type}`)
    const population = 'committed'
    rows.push(
      ...settledRows({
        ...counted,
        market: key,
        selection,
        odds: odds.decimal,
        population,
        scopes,
      }),
    )
  }
  return rows
}

/** Everything an event adds; nothing if the ledger does not know it. */
export function eventContribution(
  state: EventState | undefined,
  picks: readonly CommittedPick[],
): readonly SettledRow[] {
  if (state === undefined || state.outcomes.length === 0) return []
  const counted = { state, fair: [] }
  return [...mechanicalRows(counted), ...committedRows(counted, picks)]
}

/**
 * What an event adds to the truth table: the settled rows of its snapshots (mechanical) and of its committed picks that
 * count (committed). A pure function of the event and its picks, so that a table can always be counted anew.
 */
import { gradePrice, parseOdds } from '@tallystick/odds'
import type { GradeBasis, NotCountedReason, Population } from '../wire/cards.ts'
import type { SelectionResult } from '../wire/upload.ts'
import type { CloseRecord, EventInfo, EventState } from './event-state.ts'
import type { PickOpening } from './ledger-entry.ts'
import { type MarketKey, ownValue } from './markets.ts'
import { parseMarket, readMarketPath } from './parse-market.ts'
import { chooseClose, fairClose, fairProbabilityOf } from './reference-close.ts'
import { returnOf, settleSelection } from './settle-selection.ts'
import { SCOPE_ALL, SCOPE_SYNTHETIC, type SettledRow, toMicro } from './truth-table.ts'

/** A pick may be this much above the best price that the ledger had of its selection. */
const ABOVE_RECORDED_MAX = 0.01
/** Room for the rounding of a division: 2.02 / 2 is above 1.01 in binary. */
const ROUNDING = 1e-9

type Market = Pick<MarketKey, 'type' | 'period' | 'line' | 'participant'>

type PricedSelection = {
  readonly state: EventState
  readonly market: Market
  readonly selection: string
  readonly odds: number
  readonly population: Population
  readonly scopes: readonly string[]
}

/** What was made up never stands beside what happened: its rows have scopes of their own. */
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
  // The letters on price alone are kept for every pick, so that their column is no small sample of odd markets.
  return fairProbability === undefined ? [row(undefined)] : [row(undefined), row(fairProbability)]
}

function settledRows(pick: PricedSelection): readonly SettledRow[] {
  const settled = settleSelection(pick.state, pick.market, pick.selection)
  if (settled === undefined) return []
  const chosen = chooseClose(pick.state, { key: pick.market, selection: pick.selection })
  return chosen.kind === 'close' ? rowsOf(pick, chosen.close, settled) : []
}

const isBeforeStart = (info: EventInfo, atSeconds: number | undefined): boolean =>
  atSeconds === undefined || atSeconds < info.startAtSeconds

/** Rows of every recorded pre-close price of every selection. */
export function mechanicalRows(state: EventState): readonly SettledRow[] {
  if (state.outcomes.length === 0) return []
  const rows: SettledRow[] = []
  for (const snapshot of state.snapshots) {
    if (!isBeforeStart(state.info, snapshot.capturedAtSeconds)) continue
    const market = readMarketPath(snapshot.market)
    const type = `${state.info.sport}/${market.type}`
    const scopes = [SCOPE_ALL, type, `${type}/${snapshot.book}`]
    for (const [selection, odds] of Object.entries(snapshot.odds)) {
      const population = 'mechanical'
      rows.push(...settledRows({ state, market, selection, odds, population, scopes }))
    }
  }
  return rows
}

/** A committed pick with its place in the ledger. */
export type CommittedPick = { readonly seq: number; readonly opening: PickOpening }

/** Why a committed pick does not count, by itself; undefined where it does (G6). */
export function refusalOf(
  info: EventInfo,
  { opening }: Pick<CommittedPick, 'opening'>,
): Exclude<NotCountedReason, 'not_kept' | 'repeated_selection'> | undefined {
  if (opening.receivedAtSeconds >= info.startAtSeconds) return 'received_after_start'
  const best = parseOdds(opening.bestRecorded)
  const taken = parseOdds(opening.odds)
  if (best.kind !== 'odds' || taken.kind !== 'odds') return 'no_recorded_price'
  const isAbove = taken.decimal / best.decimal > 1 + ABOVE_RECORDED_MAX + ROUNDING
  return isAbove ? 'above_recorded_price' : undefined
}

/** What a payer may count once on an event: a selection of a market, whatever its line. */
export function repeatKey(opening: Pick<PickOpening, 'payerTag' | 'market' | 'selection'>): string {
  const [, , type, period] = opening.market.split('/')
  const participant = opening.market.split('@')[1] ?? ''
  return `${opening.payerTag} ${type}/${period}@${participant} ${opening.selection}`
}

/** The committed picks that count: the first of each payer and selection that no rule refuses. Picks in ledger order. */
export function countedPicks(
  info: EventInfo,
  picks: readonly CommittedPick[],
): readonly CommittedPick[] {
  const seen = new Set<string>()
  return picks.filter((pick) => {
    const key = repeatKey(pick.opening)
    if (seen.has(key) || refusalOf(info, pick) !== undefined) return false
    seen.add(key)
    return true
  })
}

/** Rows of the committed picks that count. */
export function committedRows(
  state: EventState,
  picks: readonly CommittedPick[],
): readonly SettledRow[] {
  if (state.outcomes.length === 0) return []
  const rows: SettledRow[] = []
  for (const { opening } of countedPicks(state.info, picks)) {
    const parsed = parseMarket({ market: opening.market, selection: opening.selection })
    const odds = parseOdds(opening.odds)
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

/** Everything that an event adds; nothing for one that the ledger does not know. */
export function eventContribution(
  state: EventState | undefined,
  picks: readonly CommittedPick[],
): readonly SettledRow[] {
  if (state === undefined) return []
  return [...mechanicalRows(state), ...committedRows(state, picks)]
}

/**
 * The reference study: what early and closing prices of real files returned, by this service's own ledger. Its figures are
 * a separate block, never rows of the live table. `studyOf` computes them from a ledger, reference-study.json keeps them,
 * and `studyLines` writes them as in the document.
 */
import { clusterInterval, clusterTotals } from '@tallystick/odds'
import { getOrMake } from '@tallystick/service-kit'
import type { ReferenceStudy } from '../../wire/calibration.ts'
import { applyEntry } from '../closes/apply-entry.ts'
import type { EventState } from '../closes/event-state.ts'
import type { GradingStore } from '../closes/grading-store.ts'
import { fairClose, fairProbabilityIn } from '../closes/reference-close.ts'
import { returnAt, settleSelection } from '../closes/settle-selection.ts'
import study from './reference-study.json' with { type: 'json' }
import { calibrationColumn } from './truth-rows.ts'
import type { TruthTable } from './truth-table.ts'

/** Early prices, by market and book; `all` first. */
const EARLY_SCOPES = [
  'all',
  'soccer/1x2/pinnacle',
  'soccer/1x2/best_of_books',
  'soccer/1x2/bet365',
  'soccer/1x2/market_average',
  'soccer/total/pinnacle',
  'soccer/ah/pinnacle',
  'baseball/ml/mlb_open_close',
] as const

/** Closing prices of tables that have few early ones, by market. */
const CLOSING_SCOPES = [
  'baseball/ml',
  'baseball/spread',
  'american_football/ml',
  'american_football/spread',
  'american_football/total',
] as const

const CLOSING_SPORTS: ReadonlySet<string> = new Set(['baseball', 'american_football'])

/** Figures have the document's precision: percentages to a hundredth, slopes to a thousandth. */
const rounded = (value: number | null | undefined, digits: number): number =>
  Number((value ?? Number.NaN).toFixed(digits))
const SLOPE_DIGITS = 3
const CHANCE_DIGITS = 4
const share = (value: number | null | undefined): number => rounded(value, 4)

/** What some picks promised and returned, as the study keeps it. */
const studied = (group: {
  readonly n: number
  readonly promised: number | null
  readonly roi: number | null | undefined
  readonly interval: readonly [number, number] | null
  readonly gap: number | null | undefined
}) => ({
  n: group.n,
  promised: share(group.promised),
  roi: share(group.roi),
  roi_ci95: [share(group.interval?.[0]), share(group.interval?.[1])] as const,
  gap_z: rounded(group.gap, 1),
})

function studyBands(truth: TruthTable, basis: 'fair' | 'price'): ReferenceStudy['bands'] {
  const column = calibrationColumn(truth, { population: 'mechanical', basis, scope: 'all' })
  return column.bands.map(({ band, expected_roi: promised, gap_z: gap, n, roi, roi_ci95 }) => ({
    band,
    basis,
    ...studied({ n, promised, roi, interval: roi_ci95, gap }),
  }))
}

function studyLine(truth: TruthTable, scope: string): ReferenceStudy['lines'][number] {
  const column = calibrationColumn(truth, { population: 'mechanical', basis: 'fair', scope })
  const { joint, line, refunded, total, verdict } = column
  return {
    scope,
    n: total.n,
    events: total.events,
    intercept: share(line?.intercept),
    intercept_se: share(line?.intercept_se),
    slope: rounded(line?.slope, SLOPE_DIGITS),
    slope_se: rounded(line?.slope_se, SLOPE_DIGITS),
    p_gaps: rounded(joint?.gaps.p, CHANCE_DIGITS),
    p_line: rounded(joint?.line.p, CHANCE_DIGITS),
    refunded: share(refunded),
    verdict,
  }
}

/** What closing prices promised and returned on one event. */
type EventSums = { count: number; promised: number; returned: number }

/** What an event's whole closes promised and returned, by market, to a bettor who took every selection. */
function closingOfEvent(state: EventState) {
  const byScope = new Map<string, EventSums>()
  for (const close of state.closes) {
    const fair = fairClose(close, 'power')
    if (fair?.kind !== 'fair' || close.status !== 'final') continue
    const scope = `${state.info.sport}/${close.type}`
    for (const [selection, odds] of Object.entries(close.odds)) {
      const settled = settleSelection(state, close, selection)
      if (settled === undefined || settled.result === 'void') continue
      const sums = getOrMake(byScope, scope, () => ({ count: 0, promised: 0, returned: 0 }))
      sums.count += 1
      sums.promised += odds * (fairProbabilityIn(fair, selection) ?? 0) - 1
      sums.returned += returnAt(settled, odds)
    }
  }
  return byScope
}

/** Each event's closing prices, by market, in the sports that have few early ones. */
async function closingSums(
  store: Pick<GradingStore, 'entries' | 'head'>,
): Promise<ReadonlyMap<string, readonly EventSums[]>> {
  const states = new Map<string, EventState>()
  const { size } = await store.head()
  for await (const { entry, hash, seq } of store.entries({ from: 0, to: size })) {
    if (entry.type === 'pick' || !CLOSING_SPORTS.has(entry.event.sport)) continue
    const { path } = entry.event
    states.set(path, applyEntry(states.get(path), entry, { seq, hash }))
  }
  const sums = new Map<string, EventSums[]>()
  for (const state of states.values())
    for (const [scope, ofEvent] of closingOfEvent(state))
      getOrMake(sums, scope, () => [] as EventSums[]).push(ofEvent)
  return sums
}

function studyClosing(
  scope: string,
  events: readonly EventSums[],
): ReferenceStudy['closing'][number] {
  const eventMean = (addUp: (event: EventSums) => number) =>
    clusterInterval(clusterTotals(events.map((event) => ({ ...event, sum: addUp(event) }))))
  const roi = eventMean(({ returned }) => returned)
  const gap = eventMean(({ promised, returned }) => returned - promised)
  const n = events.reduce((sum, { count }) => sum + count, 0)
  const figures = studied({
    n,
    promised: events.reduce((sum, event) => sum + event.promised, 0) / n,
    roi: roi.kind === 'mean' ? roi.mean : undefined,
    interval: roi.kind === 'mean' ? [roi.low, roi.high] : null,
    gap: gap.kind === 'mean' ? gap.mean / gap.standardError : undefined,
  })
  return { scope, events: events.length, ...figures }
}

/** The study of a ledger; parts without a pick are left out. */
export async function makeStudy(
  store: Pick<GradingStore, 'entries' | 'head' | 'truth'>,
): Promise<Omit<ReferenceStudy, 'label' | 'files' | 'document'>> {
  const truth = await store.truth()
  const closing = await closingSums(store)
  return {
    bands: [...studyBands(truth, 'fair'), ...studyBands(truth, 'price')].filter(({ n }) => n > 0),
    lines: EARLY_SCOPES.map((scope) => studyLine(truth, scope)).filter(({ n }) => n > 0),
    closing: CLOSING_SCOPES.flatMap((scope) => {
      const sums = closing.get(scope)
      return sums === undefined ? [] : [studyClosing(scope, sums)]
    }),
  }
}

/** The study, computed once from the files that it names. */
export const REFERENCE_STUDY: ReferenceStudy = {
  label:
    'Reference study: computed once from real files that may not be redistributed. Nothing of it is counted in the columns.',
  document: 'docs/grading-reference-study.md',
  ...(study as unknown as Omit<ReferenceStudy, 'label' | 'document'>),
}

const count = (value: number): string => value.toLocaleString('en')
const percent = (value: number): string =>
  `${value < 0 ? '-' : '+'}${Math.abs(value * 100).toFixed(2)} %`
const range = ([low, high]: readonly [number, number]): string =>
  `${percent(low).slice(0, -2)} … ${percent(high).slice(0, -2)}`

/** The study's tables in Markdown, to the digit of the document. */
export function studyLines({
  bands,
  closing,
  lines,
}: Pick<ReferenceStudy, 'bands' | 'closing' | 'lines'>): readonly string[] {
  return [
    '| grade, basis | picks | promised | return | 95 % | gap, standard errors |',
    '|---|---|---|---|---|---|',
    ...bands.map(
      ({ band, basis, gap_z, n, promised, roi, roi_ci95 }) =>
        `| ${band}, ${basis} | ${count(n)} | ${percent(promised)} | ${percent(roi)} | ${range(roi_ci95)} | ${gap_z.toFixed(1)} |`,
    ),
    '',
    '| early price | picks | matches | intercept | slope | all gaps, p | line, p | refunded | verdict |',
    '|---|---|---|---|---|---|---|---|---|',
    ...lines.map(
      (line) =>
        `| ${line.scope} | ${count(line.n)} | ${count(line.events)} | ${percent(line.intercept)} ± ${(line.intercept_se * 100).toFixed(2)} | ${line.slope.toFixed(3)} ± ${line.slope_se.toFixed(3)} | ${line.p_gaps.toFixed(4)} | ${line.p_line.toFixed(4)} | ${(line.refunded * 100).toFixed(2)} % | ${line.verdict} |`,
    ),
    '',
    '| closing price, every selection | picks | games | promised | return | 95 % | gap, standard errors |',
    '|---|---|---|---|---|---|---|',
    ...closing.map(
      ({ events, gap_z, n, promised, roi, roi_ci95, scope }) =>
        `| ${scope} | ${count(n)} | ${count(events)} | ${percent(promised)} | ${percent(roi)} | ${range(roi_ci95)} | ${gap_z.toFixed(1)} |`,
    ),
  ]
}

/**
 * Everything about one selection of one event that does not depend on the price taken: which close counts, its fair
 * probability, the part of the card that shows it, its flags and its result. It is computed once per event state, because
 * many people grade the same selections. An event's state is replaced, never changed.
 */
import type { MarginMethod } from '@tallystick/odds'
import { BoundedMap, getOrMake } from '@tallystick/service-kit'
import { isoDay, isoText } from '@tallystick/service-kit/clock'
import type { CardPick, GradedCard, GradeFlag, UngradedCode } from '../../wire/cards.ts'
import type { SelectionResult } from '../../wire/upload.ts'
import type { CloseRecord, EventInfo, EventState } from '../closes/event-state.ts'
import { type RecordedRange, withPrice } from '../closes/far-price.ts'
import { recordedRange, seenPrices } from '../closes/recorded-prices.ts'
import {
  chooseClose,
  type FairClose,
  fairClose,
  fairProbabilityIn,
} from '../closes/reference-close.ts'
import { settleSelection } from '../closes/settle-selection.ts'
import { formatMarketKey, marketPath } from '../markets/markets.ts'
import { DEFAULT_GRADE_OPTIONS, type PickRequest } from '../markets/pick-request.ts'
import { type QuarterClose, quarterClose } from '../markets/quarter-line.ts'

/** If the start moves by more than this after the close was taken, the close's anchor is stale; seconds. */
const ANCHOR_MOVED_SECONDS_MAX = 60
/** Closes whose fair prices differ by more than this disagree. */
const CLOSES_DIFFER_MAX = 0.03
/** Selections kept per event: enough for a rich one. */
const PREPARED_MAX = 2_048

/** Methods that always give proper probabilities. */
const SPREAD_METHODS: readonly MarginMethod[] = ['power', 'shin', 'odds_ratio', 'multiplicative']

/** A result, without the price. */
export type PreparedResult =
  | { readonly settled: SelectionResult; readonly score: string | undefined }
  | undefined

/** A selection that can grade a price. */
export type GradableSelection = {
  readonly kind: 'gradable'
  readonly closing: number
  /** Undefined on the price basis. */
  readonly probability: number | undefined
  readonly booksum: number | undefined
  /** Largest minus smallest probability over these methods; undefined on the price basis. */
  readonly spread: number | undefined
  readonly fieldSize: number
  readonly close: GradedCard['close']
  readonly flags: readonly GradeFlag[]
  /** The same for a pick received after the start. */
  readonly lateFlags: readonly GradeFlag[]
  readonly result: PreparedResult
  readonly event: NonNullable<CardPick['event']>
  readonly market: string
}

/** A selection that cannot be graded at any price. */
type UngradableSelection = Pick<GradableSelection, 'result' | 'event' | 'market'> & {
  readonly kind: 'ungradable'
  readonly code: UngradedCode
  readonly nearest?: readonly string[] | undefined
}

type PreparedSelection = (GradableSelection | UngradableSelection) & {
  /** Whether the ledger records such a price as standing at a time. */
  readonly isSeen: ReturnType<typeof seenPrices>
  /** Undefined if the ledger never had a price of it. */
  readonly recorded: RecordedRange | undefined
}

/** An event filed by its day has no known time, so only the day is given. */
const startText = ({ startAtSeconds, startPrecision }: EventInfo): string =>
  startPrecision === 'day' ? isoDay(startAtSeconds) : isoText(startAtSeconds)

/** The event as cards name it. */
const eventOnCard = (info: EventInfo): NonNullable<CardPick['event']> => ({
  home: info.home,
  away: info.away,
  starts_at: startText(info),
})

type Chosen = {
  readonly pick: PickRequest
  readonly state: EventState
  readonly close: CloseRecord
  readonly closing: number
  readonly fair: FairClose | undefined
  readonly probability: number | undefined
}

function closesDisagree({ state, close, pick, probability }: Chosen): boolean {
  if (probability === undefined) return false
  return state.closes.some((other) => {
    if (other === close || other.market !== close.market || other.status !== 'final') return false
    const fair = fairProbabilityIn(fairClose(other, pick.options.method), pick.selection)
    return fair !== undefined && Math.abs(fair / probability - 1) > CLOSES_DIFFER_MAX
  })
}

const isAnchorStale = ({ info }: EventState, close: CloseRecord): boolean =>
  Math.abs(info.startAtSeconds - close.anchoredStartSeconds) > ANCHOR_MOVED_SECONDS_MAX

function closeFlags(chosen: Chosen): readonly GradeFlag[] {
  const { pick, state, close, fair, probability } = chosen
  const flags: GradeFlag[] = []
  if (fair?.kind === 'improper') flags.push('method_improper')
  else if (probability === undefined && pick.options.basis !== 'price')
    flags.push('close_incomplete')
  if (isAnchorStale(state, close)) flags.push('stale_anchor')
  if (closesDisagree(chosen)) flags.push('closes_disagree')
  if (close.isSynthetic) flags.push('synthetic')
  return flags
}

/** A close's members without its margin; none on the price basis. */
export const fairOnCard = (
  probability: number | undefined,
  method: GradedCard['close']['method'],
): Pick<GradedCard['close'], 'fair_odds' | 'fair_prob' | 'method'> =>
  probability === undefined ? {} : { fair_odds: 1 / probability, fair_prob: probability, method }

function closeOnCard({ pick, close, closing, fair, probability }: Chosen): GradedCard['close'] {
  const captured = close.capturedAtSeconds
  return {
    odds: closing,
    line: close.line,
    ...fairOnCard(probability, pick.options.method),
    booksum: fair?.booksum,
    source: { feed: close.feed, book: close.book, synthetic: close.isSynthetic },
    captured_at: captured === undefined ? null : isoText(captured),
    seconds_before_start: captured === undefined ? null : close.anchoredStartSeconds - captured,
    rule: close.rule,
    status: 'final',
    record: close.record,
  }
}

function methodSpread(close: CloseRecord, selection: string): number | undefined {
  let [lowest, highest] = [Infinity, -Infinity]
  for (const method of SPREAD_METHODS) {
    const probability = fairProbabilityIn(fairClose(close, method), selection)
    if (probability === undefined) return undefined
    lowest = Math.min(lowest, probability)
    highest = Math.max(highest, probability)
  }
  return highest - lowest
}

function selectionResult(state: EventState, { key, selection }: PickRequest): PreparedResult {
  const settled = settleSelection(state, key, selection)
  if (settled === undefined) return undefined
  const score = state.outcomes.find(({ period }) => period === key.period)?.score
  return { settled, score: score && `${score.home}-${score.away}` }
}

/** What is prepared of a close that was chosen. */
const gradable = (
  { close, closing, fair, probability }: Chosen,
  own: Pick<GradableSelection, 'close' | 'flags' | 'spread'>,
) => ({
  kind: 'gradable' as const,
  closing,
  probability,
  booksum: fair?.booksum,
  fieldSize: Object.keys(close.odds).length,
  spread: own.spread,
  close: own.close,
  flags: own.flags,
  lateFlags: [...own.flags, 'received_after_start' as const],
})

/** The prices that a quarter line had by those of its halves, and its own if it had any. */
function quarterRange(
  state: EventState,
  { key, selection }: PickRequest,
  { halves, oddsAt }: QuarterClose,
): RecordedRange | undefined {
  const [half, whole] = halves.map(({ close }) =>
    recordedRange(state, { market: close.market, selection }),
  )
  const own = recordedRange(state, { market: marketPath(key), selection })
  if (half === undefined || whole === undefined) return own
  const range = {
    highest: oddsAt(half.highest, whole.highest),
    lowest: oddsAt(half.lowest, whole.lowest),
    isOpen: half.isOpen && whole.isOpen && own?.isOpen !== false,
  }
  return own === undefined ? range : withPrice(withPrice(range, own.lowest), own.highest)
}

/** A quarter line from its two recorded halves. */
function prepareQuarter(state: EventState, pick: PickRequest) {
  const { key, selection, options } = pick
  const { basis, method, reference } = options
  if (basis === 'price') return undefined
  const at = (by: MarginMethod) => quarterClose(state, { key, selection, reference, method: by })
  const quarter = at(method)
  if (quarter === undefined) return undefined
  const { halves, odds: closing, probability } = quarter
  const [{ close }] = halves
  const spread = SPREAD_METHODS.map((by) => at(by)?.probability ?? probability)
  const parts = { pick, state, close, closing, fair: undefined, probability }
  const flags: GradeFlag[] = ['line_from_halves']
  if (isAnchorStale(state, close)) flags.push('stale_anchor')
  if (close.isSynthetic) flags.push('synthetic')
  const card: GradedCard['close'] = {
    ...closeOnCard(parts),
    line: key.line,
    rule: 'from_both_halves',
    halves: halves.map((half) => ({
      line: half.close.line ?? 0,
      odds: half.odds,
      record: half.close.record,
    })),
  }
  const own = { spread: Math.max(...spread) - Math.min(...spread), close: card, flags }
  return { ...gradable(parts, own), recorded: quarterRange(state, pick, quarter) }
}

/** Prepares a pick's selection: all that does not depend on its price. */
export function prepareSelection(state: EventState, pick: PickRequest): PreparedSelection {
  const { key, selection, options } = pick
  const common = {
    result: selectionResult(state, pick),
    event: eventOnCard(state.info),
    market: formatMarketKey(key),
    isSeen: seenPrices(state, { market: marketPath(key), selection }),
    recorded: recordedRange(state, { market: marketPath(key), selection }),
  }
  const chosen = chooseClose(state, { key, selection, reference: options.reference })
  if (chosen.kind === 'none') {
    const quarter = chosen.code === 'line_not_recorded' ? prepareQuarter(state, pick) : undefined
    return quarter === undefined
      ? { ...common, kind: 'ungradable', code: chosen.code, nearest: chosen.nearest }
      : { ...common, ...quarter }
  }
  const { close, odds: closing } = chosen
  const fair = options.basis === 'price' ? undefined : fairClose(close, options.method)
  const probability = fairProbabilityIn(fair, selection)
  if (options.basis === 'fair' && probability === undefined)
    return { kind: 'ungradable', code: 'close_incomplete', ...common }
  const parts = { pick, state, close, closing, fair, probability }
  const spread = probability === undefined ? undefined : methodSpread(close, selection)
  const own = { spread, close: closeOnCard(parts), flags: closeFlags(parts) }
  return { ...common, ...gradable(parts, own) }
}

/** What a preparation depends on; nothing in it has a space. */
function selectionName({ key, options, selection }: PickRequest): string {
  const where = `${marketPath(key)} ${selection}`
  if (options === DEFAULT_GRADE_OPTIONS) return where
  const { basis, method, reference = '' } = options
  return `${where} ${method} ${basis} ${reference}`
}

/** The same, once for each state of an event: an audit and the grades before it ask for the same few. */
export function createPreparedSelections(): typeof prepareSelection {
  const cache = new WeakMap<EventState, BoundedMap<string, PreparedSelection>>()
  return (state, pick) => {
    const prepared = getOrMake(cache, state, () => new BoundedMap(PREPARED_MAX))
    return getOrMake(prepared, selectionName(pick), () => prepareSelection(state, pick))
  }
}

/**
 * Everything about one selection of one event that does not depend on the price taken: which close counts, its fair
 * probability, the part of the card that shows it, its flags and its result. It is computed once per event state, because
 * many people grade the same selections; an event's state is replaced, never changed.
 */
import type { MarginMethod } from '@tallystick/odds'
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card, CardPick, GradedCard, GradeFlag, UngradedCode } from '../wire/cards.ts'
import { isoText } from '../wire/times.ts'
import type { SelectionResult } from '../wire/upload.ts'
import type { CloseRecord, EventInfo, EventState } from './event-state.ts'
import { formatMarketKey, marketPath } from './markets.ts'
import { DEFAULT_GRADE_OPTIONS, type PickRequest } from './pick-request.ts'
import { chooseClose, type FairClose, fairClose, fairProbabilityOf } from './reference-close.ts'
import { settleSelection } from './settle-selection.ts'

/** If the start moves by more than this after the close was taken, the close's anchor is stale; seconds. */
const ANCHOR_MOVED_SECONDS_MAX = 60
/** Closes whose fair prices differ by more than this disagree. */
const CLOSES_DIFFER_MAX = 0.03
/** Markets kept per event, and selections per market: enough for a rich event. */
const MARKETS_MAX = 64
const PREPARED_MAX = 32

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
  readonly isSynthetic: boolean
  readonly close: GradedCard['close']
  readonly flags: readonly GradeFlag[]
  /** The same for a pick received after the start. */
  readonly lateFlags: readonly GradeFlag[]
  readonly result: PreparedResult
  readonly event: NonNullable<CardPick['event']>
  readonly market: string
}

/** A selection that cannot be graded at any price. */
type UngradableSelection = {
  readonly kind: 'ungradable'
  readonly code: UngradedCode
  readonly nearest?: readonly string[] | undefined
  readonly result: PreparedResult
  readonly event: NonNullable<CardPick['event']>
  readonly market: string
}

type PreparedSelection = GradableSelection | UngradableSelection

const kept = new WeakMap<EventState, Map<string, Map<string, PreparedSelection>>>()
const events = new WeakMap<EventInfo, NonNullable<CardPick['event']>>()

/** The event as cards name it; one object per event, so that it is serialised once. */
function eventOnCard(info: EventInfo): NonNullable<CardPick['event']> {
  let event = events.get(info)
  if (event === undefined) {
    event = { home: info.home, away: info.away, starts_at: isoText(info.startAtSeconds) }
    events.set(info, event)
  }
  return event
}

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
    const fair = fairProbabilityOf(fairClose(other, pick.options.method), pick.selection)
    return fair !== undefined && Math.abs(fair / probability - 1) > CLOSES_DIFFER_MAX
  })
}

function flagsOf(chosen: Chosen): readonly GradeFlag[] {
  const { pick, state, close, fair, probability } = chosen
  const flags: GradeFlag[] = []
  if (fair?.kind === 'improper') flags.push('method_improper')
  else if (probability === undefined && pick.options.basis !== 'price')
    flags.push('close_incomplete')
  const moved = Math.abs(state.info.startAtSeconds - close.anchoredStartSeconds)
  if (moved > ANCHOR_MOVED_SECONDS_MAX) flags.push('stale_anchor')
  if (closesDisagree(chosen)) flags.push('closes_disagree')
  if (close.isSynthetic) flags.push('synthetic')
  return flags
}

function closeOnCard({ pick, close, closing, fair, probability }: Chosen): GradedCard['close'] {
  const captured = close.capturedAtSeconds
  return {
    odds: closing,
    ...(close.line === undefined ? {} : { line: close.line }),
    ...(probability === undefined
      ? {}
      : { fair_odds: 1 / probability, fair_prob: probability, method: pick.options.method }),
    ...(fair === undefined ? {} : { booksum: fair.booksum }),
    source: { feed: close.feed, book: close.book, synthetic: close.isSynthetic },
    captured_at: captured === undefined ? null : isoText(captured),
    seconds_before_start: captured === undefined ? null : close.anchoredStartSeconds - captured,
    rule: close.rule,
    status: 'final',
    record: close.record,
  }
}

function spreadOf(close: CloseRecord, selection: string): number | undefined {
  let [lowest, highest] = [Infinity, -Infinity]
  for (const method of SPREAD_METHODS) {
    const probability = fairProbabilityOf(fairClose(close, method), selection)
    if (probability === undefined) return undefined
    lowest = Math.min(lowest, probability)
    highest = Math.max(highest, probability)
  }
  return highest - lowest
}

function resultOf(state: EventState, { key, selection }: PickRequest): PreparedResult {
  const settled = settleSelection(state, key, selection)
  if (settled === undefined) return undefined
  const score = state.outcomes.find(({ period }) => period === key.period)?.score
  return { settled, score: score && `${score.home}-${score.away}` }
}

function prepare(state: EventState, pick: PickRequest): PreparedSelection {
  const { key, selection, options } = pick
  const common = {
    result: resultOf(state, pick),
    event: eventOnCard(state.info),
    market: formatMarketKey(key),
  }
  const chosen = chooseClose(state, { key, selection, reference: options.reference })
  if (chosen.kind === 'none') {
    return { ...common, kind: 'ungradable', code: chosen.code, nearest: chosen.nearest }
  }
  const { close, odds: closing } = chosen
  const fair = options.basis === 'price' ? undefined : fairClose(close, options.method)
  const probability = fairProbabilityOf(fair, selection)
  if (options.basis === 'fair' && probability === undefined)
    return { kind: 'ungradable', code: 'close_incomplete', ...common }
  const parts = { pick, state, close, closing, fair, probability }
  const flags = flagsOf(parts)
  return {
    kind: 'gradable',
    closing,
    probability,
    booksum: fair?.booksum,
    spread: probability === undefined ? undefined : spreadOf(close, selection),
    fieldSize: Object.keys(close.odds).length,
    isSynthetic: close.isSynthetic,
    close: sharedPart(closeOnCard(parts)),
    flags,
    lateFlags: [...flags, 'received_after_start'],
    ...common,
  }
}

/** What a preparation depends on, besides the market. */
function nameOf({ options, selection }: PickRequest): string {
  if (options === DEFAULT_GRADE_OPTIONS) return selection
  const { basis, method, reference = '' } = options
  return `${selection} ${method} ${basis} ${reference}`
}

/** The map under a name, created if missing; at the limit all maps are dropped first. */
function mapUnder<Value>(maps: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  let map = maps.get(name)
  if (map === undefined) {
    if (maps.size >= MARKETS_MAX) maps.clear()
    map = new Map()
    maps.set(name, map)
  }
  return map
}

/** Prepares a pick's selection, or returns the prepared one. */
export function prepareSelection(state: EventState, pick: PickRequest): PreparedSelection {
  let markets = kept.get(state)
  if (markets === undefined) {
    markets = new Map()
    kept.set(state, markets)
  }
  const byName = mapUnder(markets, marketPath(pick.key))
  const name = nameOf(pick)
  let prepared = byName.get(name)
  if (prepared === undefined) {
    prepared = prepare(state, pick)
    if (byName.size >= PREPARED_MAX) byName.clear()
    byName.set(name, prepared)
  }
  return prepared
}

const texts = new WeakMap<object, string>()

/** The text of a part that cards share and that never changes. */
function sharedText(part: object): string {
  let text = texts.get(part)
  if (text === undefined) {
    text = JSON.stringify(part)
    texts.set(part, text)
  }
  return text
}

/** Marks a close as shared between cards; returns it. */
function sharedPart(close: GradedCard['close']): GradedCard['close'] {
  sharedText(close)
  return close
}

/** Texts that JSON does not escape; most are. */
const PLAIN = /^[ !#-[\]-~]*$/

const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

function pickText({ market, selection, event, ref }: Card['pick']): string {
  const eventText = event === undefined ? '' : `,"event":${sharedText(event)}`
  const refText = ref === undefined ? '' : `,"ref":${quoted(ref)}`
  return `{"market":${quoted(market)},"selection":${quoted(selection)}${eventText}${refText}}`
}

function clvText({ price, fair, log, points, beat_close }: GradedCard['clv']): string {
  const values = fair === undefined ? '' : `,"fair":${fair},"log":${log},"points":${points}`
  return `{"price":${price}${values},"beat_close":${beat_close}}`
}

function takenText({ odds, text, line }: GradedCard['taken']): string {
  return `{"odds":${odds},"text":"${text}"${line === undefined ? '' : `,"line":${line}`}}`
}

function scoreboardText(scoreboard: GradedCard['scoreboard']): string {
  if (scoreboard.status === 'pending') return '{"status":"pending"}'
  const { status, return_units, score } = scoreboard
  return `{"status":"${status}","return_units":${return_units}${score === undefined ? '' : `,"score":"${score}"`}}`
}

function gradedText(card: GradedCard): string {
  const { method_spread: spread, receipt } = card
  return `{"outcome":"GRADED","grade":"${card.grade}","basis":"${card.basis}","pick":${pickText(card.pick)},"clv":${clvText(card.clv)},"taken":${takenText(card.taken)},"close":${sharedText(card.close)},"scoreboard":${scoreboardText(card.scoreboard)},"calibration":${sharedText(card.calibration)}${spread === undefined ? '' : `,"method_spread":${spread}`},"grade_margin":${card.grade_margin},"flags":${sharedText(card.flags)},"summary":${quoted(card.summary)},"counted":${sharedText(card.counted)}${receipt === undefined ? '' : `,"receipt":"${receipt}"`}}`
}

export function cardText(card: Card): string {
  const isOurs = card.outcome === 'GRADED' && texts.has(card.close)
  return isOurs ? gradedText(card) : JSON.stringify(card)
}

export function answerText(answer: Card | AuditAnswer): string {
  if (!('picks' in answer)) return cardText(answer)
  const { picks, ...sums } = answer
  return `${JSON.stringify(sums).slice(0, -1)},"picks":[${picks.map(cardText).join(',')}]}`
}

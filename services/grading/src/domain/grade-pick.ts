/**
 * One pick against what the ledger knows of its event: a graded card or an ungraded one. Pure; it reads no clock, keeps
 * nothing, and every number on a graded card is of a recorded close.
 */
import { type GradeBand, gradePrice, methodSpread, type PriceGrade } from '@tallystick/odds'
import type {
  Card,
  CardCalibration,
  CardPick,
  GradedCard,
  GradeFlag,
  UngradedCard,
  UngradedCode,
} from './card.ts'
import { gradedSummary, UNGRADED_MESSAGES } from './card-summary.ts'
import type { CloseRecord, EventInfo, EventState } from './event-state.ts'
import { isoText } from './iso-time.ts'
import { formatMarketKey } from './market-key.ts'
import type { AmbiguousPick, PickRequest } from './pick-request.ts'
import {
  chooseClose,
  type FairClose,
  fairClose,
  fairProbabilityOf,
  selectionsOf,
} from './reference-close.ts'
import type { Scoreboard } from './selection-result.ts'
import { scoreboardOf } from './settle-selection.ts'

/** What a grade is made from. */
export type GradeContext = {
  readonly state: EventState | undefined
  /** How a band did so far. */
  readonly calibration: (column: {
    readonly band: GradeBand
    readonly basis: 'fair' | 'price'
    readonly isSynthetic: boolean
  }) => CardCalibration
}

/** A start that moved by more than this after the close was taken makes the close's anchor stale, seconds. */
const ANCHOR_MOVED_SECONDS_MAX = 60
/** Closes whose fair prices differ by more than this disagree. */
const CLOSES_DIFFER_MAX = 0.03
const SECONDS_PER_DAY = 86_400

const NOT_KEPT = { population: null, why: 'not_kept' } as const

/** The event as a card names it. */
const eventOnCard = (info: EventInfo): NonNullable<CardPick['event']> => ({
  home: info.home,
  away: info.away,
  starts_at: isoText(info.startAtSeconds),
})

function pickOnCard(pick: PickRequest, state: EventState | undefined): CardPick {
  return {
    market: formatMarketKey(pick.key),
    selection: pick.selection,
    ...(state === undefined ? {} : { event: eventOnCard(state.info) }),
    ...(pick.ref === undefined ? {} : { ref: pick.ref }),
  }
}

function ungraded(options: {
  readonly pick: CardPick
  readonly code: UngradedCode
  readonly nearest?: readonly string[] | undefined
  readonly scoreboard?: Scoreboard | undefined
}): UngradedCard {
  const { pick, code, nearest, scoreboard } = options
  const message = UNGRADED_MESSAGES[code]
  return {
    outcome: 'UNGRADED',
    grade: 'UNGRADED',
    pick,
    reason: { code, message, ...(nearest === undefined ? {} : { nearest }) },
    ...(scoreboard === undefined ? {} : { scoreboard }),
    counted: NOT_KEPT,
    summary: `Ungraded. ${message}`,
  }
}

/** The card of a pick whose market may be several. */
export function ambiguousCard(pick: AmbiguousPick): UngradedCard {
  const { market, selection, ref, candidates } = pick
  return ungraded({
    pick: { market, selection, ...(ref === undefined ? {} : { ref }) },
    code: 'ambiguous_market',
    nearest: candidates,
  })
}

/** The first moment at which a bet was surely placed too late, Unix seconds. */
const surelyStarted = ({ startAtSeconds, startPrecision }: EventInfo): number =>
  startPrecision === 'second' ? startAtSeconds : startAtSeconds + SECONDS_PER_DAY

function closesDisagree(
  state: EventState,
  { close, selection, probability }: { close: CloseRecord; selection: string; probability: number },
): boolean {
  return state.closes.some((other) => {
    if (other === close || other.market !== close.market || other.status !== 'final') return false
    const fair = fairProbabilityOf(fairClose(other, 'power'), selection)
    return fair !== undefined && Math.abs(fair / probability - 1) > CLOSES_DIFFER_MAX
  })
}

type Graded = {
  readonly pick: PickRequest
  readonly state: EventState
  readonly close: CloseRecord
  readonly closing: number
  readonly fair: FairClose | undefined
  readonly probability: number | undefined
  readonly grade: PriceGrade
}

function flagsOf({ pick, state, close, fair, probability, grade }: Graded): readonly GradeFlag[] {
  const flags: GradeFlag[] = []
  if (grade.isCapped && fair !== undefined && fair.booksum < 1) flags.push('booksum_below_one')
  if (grade.basis === 'price' && fair?.kind === 'improper') flags.push('method_improper')
  else if (grade.basis === 'price' && pick.options.basis !== 'price') flags.push('close_incomplete')
  const moved = Math.abs(state.info.startAtSeconds - close.anchoredStartSeconds)
  if (moved > ANCHOR_MOVED_SECONDS_MAX) flags.push('stale_anchor')
  if (
    probability !== undefined &&
    closesDisagree(state, { close, selection: pick.selection, probability })
  )
    flags.push('closes_disagree')
  if (close.isSynthetic) flags.push('synthetic')
  return flags
}

const spreads = new WeakMap<CloseRecord, readonly number[]>()

/** A close's prices in the order of its selections, once per close. */
function pricesOf(close: CloseRecord): readonly number[] {
  let prices = spreads.get(close)
  if (prices === undefined) {
    prices = selectionsOf(close).map((selection) => close.odds[selection] ?? Number.NaN)
    spreads.set(close, prices)
  }
  return prices
}

function closeOnCard({ pick, close, closing, fair, probability }: Graded): GradedCard['close'] {
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

function gradedCard(graded: Graded, context: GradeContext): GradedCard {
  const { pick, state, close, closing, fair, grade } = graded
  const { odds } = pick
  const scoreboard = scoreboardOf(state, {
    market: pick.key,
    selection: pick.selection,
    odds: odds.decimal,
  })
  const spread =
    grade.basis === 'fair' && fair !== undefined
      ? methodSpread({
          taken: odds.decimal,
          prices: pricesOf(close),
          selection: fair.selections.indexOf(pick.selection),
        })
      : undefined
  return {
    outcome: 'GRADED',
    grade: grade.band,
    basis: grade.basis,
    pick: pickOnCard(pick, state),
    clv: {
      price: grade.price,
      ...(grade.basis === 'fair' ? { fair: grade.fair, log: grade.log, points: grade.points } : {}),
      beat_close: grade.beatClose,
    },
    taken: {
      odds: odds.decimal,
      text: odds.text,
      ...(pick.key.line === undefined ? {} : { line: pick.key.line }),
    },
    close: closeOnCard(graded),
    scoreboard,
    calibration: context.calibration({
      band: grade.band,
      basis: grade.basis,
      isSynthetic: close.isSynthetic,
    }),
    ...(spread === undefined ? {} : { method_spread: spread }),
    grade_margin: grade.gradeMargin,
    flags: flagsOf(graded),
    summary: gradedSummary({
      scoreboard,
      grade,
      taken: odds.text,
      close: closing,
      isSynthetic: close.isSynthetic,
    }),
    counted: NOT_KEPT,
  }
}

/** Whether the field is another than when the bet was placed. */
const isFieldChanged = (pick: PickRequest, close: CloseRecord): boolean =>
  pick.fieldSize !== undefined && pick.fieldSize !== Object.keys(close.odds).length

/** Grades a pick against the ledger's close of its very market, line and selection, or says why it cannot. */
export function gradePick(pick: PickRequest, context: GradeContext): Card {
  const { state } = context
  const { key, selection, options, odds } = pick
  const onCard = pickOnCard(pick, state)
  if (state === undefined) return ungraded({ pick: onCard, code: 'no_close_recorded' })
  const refuse = (code: UngradedCode, nearest?: readonly string[]): UngradedCard =>
    ungraded({
      pick: onCard,
      code,
      nearest,
      scoreboard: scoreboardOf(state, { market: key, selection, odds: odds.decimal }),
    })
  const placed = pick.placedAtSeconds
  if (placed !== undefined && placed >= surelyStarted(state.info))
    return refuse('placed_after_start')
  const chosen = chooseClose(state, { key, selection, reference: options.reference })
  if (chosen.kind === 'none') return refuse(chosen.code, chosen.nearest)
  const { close, odds: closing } = chosen
  if (isFieldChanged(pick, close)) return refuse('field_changed')
  const fair = options.basis === 'price' ? undefined : fairClose(close, options.method)
  const probability = fairProbabilityOf(fair, selection)
  if (options.basis === 'fair' && probability === undefined) return refuse('close_incomplete')
  const grade = gradePrice({
    taken: odds.decimal,
    close: closing,
    ...(probability === undefined ? {} : { fairProbability: probability }),
  })
  return gradedCard({ pick, state, close, closing, fair, probability, grade }, context)
}

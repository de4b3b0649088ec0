/**
 * One pick against what the ledger knows of its event: a graded card or an ungraded one. Pure: it reads no clock and
 * keeps nothing, and every number on a graded card comes from a recorded close.
 */
import { type GradeBand, gradePrice, type PriceGrade } from '@tallystick/odds'
import { RESULT_WORDS, UNGRADED_MEANINGS } from '../../wire/card-codes.ts'
import type {
  Card,
  CardCalibration,
  CardPick,
  GradedCard,
  GradeFlag,
  Scoreboard,
  TakenPrice,
  UngradedCard,
  UngradedCode,
} from '../../wire/cards.ts'
import { mayBeLate } from '../closes/choose-start.ts'
import { type EventState, hasStarted } from '../closes/event-state.ts'
import { farFlags, isFar, isUnconfirmed } from '../closes/far-price.ts'
import { returnAt } from '../closes/settle-selection.ts'
import { formatMarketKey } from '../markets/markets.ts'
import type { AmbiguousPick, PickRequest } from '../markets/pick-request.ts'
import {
  type GradableSelection,
  type PreparedResult,
  prepareSelection,
} from './prepare-selection.ts'

export type GradeContext = {
  readonly state: EventState | undefined
  readonly prepare?: typeof prepareSelection
  /** Whether the pick came after the start: it is still graded, with a flag. */
  readonly isLate?: boolean
  /** A band's record so far. */
  readonly calibration: (column: {
    readonly band: GradeBand
    readonly basis: 'fair' | 'price'
    readonly isSynthetic: boolean
  }) => CardCalibration
}

const NOT_KEPT = { population: null, why: 'not_kept' } as const
const PENDING: Scoreboard = { status: 'pending' }

const pickOnCard = (
  { key, selection, ref }: PickRequest,
  known?: Pick<GradableSelection, 'market' | 'event'>,
): CardPick => ({
  market: known?.market ?? formatMarketKey(key),
  selection,
  event: known?.event,
  ref,
})

/** A handicap as the backed side has it; the key has the home side's. */
function backedLine({ key: { line, type }, selection }: PickRequest): number | undefined {
  const isTurned = (type === 'ah' || type === 'spread') && selection === 'away'
  return isTurned && line !== undefined && line !== 0 ? -line : line
}

const takenPrice = (pick: PickRequest, pays?: number): TakenPrice => ({
  odds: pick.odds.decimal,
  text: pick.odds.text,
  line: backedLine(pick),
  pays,
})

/** The lowest price of an exchange: no reduction goes below it. */
const PRICE_MIN = 1.01

/** The price after the deductions for withdrawn runners: the one graded and settled (G18). */
function payingOdds({ deductions, odds: { decimal } }: PickRequest): number {
  if (deductions === undefined) return decimal
  const { ofPrice, ofProfit } = deductions
  const price = ofPrice === 0 ? decimal : Math.max(PRICE_MIN, decimal * (1 - ofPrice))
  return 1 + (price - 1) * (1 - ofProfit)
}

function makeScoreboard(result: PreparedResult, odds: number): Scoreboard {
  if (result === undefined) return PENDING
  const { settled, score } = result
  return { status: settled.result, return_units: returnAt(settled, odds), score }
}

export function ungraded(options: {
  readonly pick: CardPick
  readonly taken?: TakenPrice
  readonly isSeen?: boolean
  readonly code: UngradedCode
  readonly nearest?: readonly string[] | undefined
  readonly scoreboard?: Scoreboard | undefined
  readonly flags?: readonly GradeFlag[]
}): UngradedCard {
  const { pick, taken, isSeen = false, code, flags = [], nearest, scoreboard } = options
  const isOfBook = code === 'no_close_recorded' && nearest !== undefined
  const message = isOfBook ? NO_CLOSE_OF_BOOK : UNGRADED_MEANINGS[code]
  return {
    outcome: 'UNGRADED',
    grade: 'UNGRADED',
    pick,
    ...(taken === undefined ? {} : { taken, price_seen: isSeen }),
    reason: { code, message, nearest },
    scoreboard,
    ...(flags.length === 0 ? {} : { flags }),
    counted: NOT_KEPT,
    summary: `Ungraded. ${message}`,
  }
}

export function ambiguousCard(pick: AmbiguousPick): UngradedCard {
  const { market, selection, ref, candidates } = pick
  return ungraded({
    pick: { market, selection, ref },
    code: 'ambiguous_market',
    nearest: candidates,
  })
}

/** The price's flags on top of the close's; usually there are none, so no list is made. */
function cardFlags(
  prepared: GradableSelection,
  grade: PriceGrade,
  own: Pick<PickRequest, 'foundBy'> & {
    readonly isLate: boolean
    readonly isReduced: boolean
    readonly ofPrice: readonly GradeFlag[]
  },
): readonly GradeFlag[] {
  const { foundBy = [], isLate, isReduced, ofPrice } = own
  const isHeld = grade.isCapped && prepared.booksum !== undefined && prepared.booksum < 1
  const closeFlags = isLate ? prepared.lateFlags : prepared.flags
  const reduced = isReduced ? [...closeFlags, 'price_reduced' as const] : closeFlags
  const isPlain = ofPrice.length === 0 && foundBy.length === 0
  const flags = isPlain ? reduced : [...foundBy, ...ofPrice, ...reduced]
  return isHeld ? ['booksum_below_one', ...flags] : flags
}

function valueOnCard(grade: PriceGrade): GradedCard['clv'] {
  if (grade.basis === 'price') return { price: grade.price, beat_close: grade.beatClose }
  const { price, fair, log, points } = grade
  return { price, fair, log, points, beat_close: grade.beatClose }
}

export function gradedCard(
  parts: Pick<GradedCard, 'pick' | 'taken' | 'price_seen' | 'close' | 'scoreboard' | 'flags'> & {
    readonly grade: PriceGrade
    /** Of the fair value over the methods; undefined if there is none. */
    readonly spread: number | undefined
  },
  calibration: GradeContext['calibration'],
): GradedCard {
  const { close, grade, scoreboard, spread, taken } = parts
  const { band, basis } = grade
  const isSynthetic = close.source.synthetic
  return {
    outcome: 'GRADED',
    grade: band,
    basis,
    pick: parts.pick,
    clv: valueOnCard(grade),
    taken,
    price_seen: parts.price_seen,
    close,
    scoreboard,
    calibration: calibration({ band, basis, isSynthetic }),
    method_spread: spread,
    grade_margin: grade.gradeMargin,
    flags: parts.flags,
    summary: gradedSummary({
      scoreboard,
      grade,
      taken: taken.text,
      close: close.odds,
      isSynthetic,
      isUnconfirmed: isUnconfirmed(parts),
    }),
    counted: NOT_KEPT,
  }
}

/** What a card says of its price beside those that were recorded (G21). */
const priceFlags = (
  { isConfirmed, odds }: PickRequest,
  { recorded }: ReturnType<typeof prepareSelection>,
): readonly GradeFlag[] =>
  farFlags(recorded !== undefined && isFar(odds.decimal, recorded), isConfirmed)

function cardOfPick(
  pick: PickRequest,
  prepared: GradableSelection & ReturnType<typeof prepareSelection>,
  { calibration, isLate = false }: GradeContext,
): GradedCard {
  const { closing, probability, spread } = prepared
  const paid = payingOdds(pick)
  const grade = gradePrice({ taken: paid, close: closing, fairProbability: probability })
  const isReduced = pick.deductions !== undefined
  return gradedCard(
    {
      grade,
      pick: pickOnCard(pick, prepared),
      taken: takenPrice(pick, isReduced ? paid : undefined),
      price_seen: prepared.isSeen(pick.odds.decimal, pick.placedAtSeconds),
      close: prepared.close,
      scoreboard: makeScoreboard(prepared.result, paid),
      // Fair CLV is linear in the probability, so its spread over methods is theirs times the price.
      spread: spread === undefined ? undefined : spread * paid,
      flags: cardFlags(prepared, grade, {
        foundBy: pick.foundBy,
        isLate,
        isReduced,
        ofPrice: priceFlags(pick, prepared),
      }),
    },
    calibration,
  )
}

/** Whether a bet came after the start, or may have. */
function lateness(
  { placedAtSeconds, placedClockSeconds }: PickRequest,
  { info }: EventState,
): UngradedCode | undefined {
  if (placedAtSeconds !== undefined && hasStarted(info, placedAtSeconds))
    return 'placed_after_start'
  const isUnclear = placedClockSeconds !== undefined && mayBeLate(placedClockSeconds, info)
  return isUnclear ? 'placed_clock_unclear' : undefined
}

/** Grades a pick against the recorded close of exactly its market, line and selection, or says why it cannot. */
export function gradePick(pick: PickRequest, context: GradeContext): Card {
  const { prepare = prepareSelection, state } = context
  if (state === undefined)
    return ungraded({
      pick: pickOnCard(pick),
      taken: takenPrice(pick),
      code: 'no_close_recorded',
    })
  const prepared = prepare(state, pick)
  const { placedAtSeconds: placed, fieldSize } = pick
  const late = lateness(pick, state)
  // A stated deduction already accounts for the change of the field.
  const isFieldChanged =
    prepared.kind === 'gradable' &&
    fieldSize !== undefined &&
    fieldSize !== prepared.fieldSize &&
    pick.deductions === undefined
  if (prepared.kind === 'gradable' && late === undefined && !isFieldChanged)
    return cardOfPick(pick, prepared, context)
  const refused = prepared.kind === 'ungradable' ? prepared : undefined
  return ungraded({
    pick: pickOnCard(pick, prepared),
    taken: takenPrice(pick),
    isSeen: prepared.isSeen(pick.odds.decimal, placed),
    code: late ?? refused?.code ?? 'field_changed',
    nearest: late === undefined ? refused?.nearest : undefined,
    scoreboard: makeScoreboard(prepared.result, payingOdds(pick)),
    flags: priceFlags(pick, prepared),
  })
}

const percent = (fraction: number): string => `${Math.abs(fraction * 100).toFixed(1)} %`

function priceWords(price: number): string {
  if (price > 0) return `${percent(price)} better than the close`
  return price < 0 ? `${percent(price)} worse than the close` : 'exactly the closing price'
}

export function gradedSummary(card: {
  readonly scoreboard: Scoreboard
  readonly grade: PriceGrade
  readonly taken: string
  readonly close: number
  readonly isSynthetic: boolean
  readonly isUnconfirmed: boolean
}): string {
  const { scoreboard, grade, taken, close, isSynthetic } = card
  const worth =
    grade.basis === 'fair'
      ? `worth ${grade.fair < 0 ? '-' : '+'}${percent(grade.fair)} at the fair close`
      : 'graded on price alone'
  const kind = isSynthetic ? 'Synthetic fixture, not a real market. ' : ''
  const doubt = card.isUnconfirmed
    ? 'Not counted: the price is far from any recorded one, and nobody has confirmed it. '
    : ''
  return `${doubt}${kind}${RESULT_WORDS[scoreboard.status]}. Taken at ${taken} against a close of ${Number(close.toFixed(4))}: ${priceWords(grade.price)}, ${worth}. Grade ${grade.band satisfies GradeBand}.`
}

/** The message of `no_close_recorded` when only the requested book lacks a close. */
const NO_CLOSE_OF_BOOK = 'The ledger has no closing price of this market at that book.'

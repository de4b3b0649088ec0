/**
 * Bets made of several (G18): a parlay is the product of its legs, an each-way bet the mean of its win half and its place
 * half. Both are built from the cards of their parts, so every figure can be recomputed from those.
 */
import { gradePrice } from '@tallystick/odds'
import type {
  Card,
  CardLeg,
  CardPick,
  GradedCard,
  GradeFlag,
  Scoreboard,
  TakenPrice,
  UngradedCard,
} from '../../wire/cards.ts'
import {
  farFlags,
  isFar,
  isFarFlag,
  isUnconfirmed,
  productRange,
  type RecordedRange,
  withPrice,
} from '../closes/far-price.ts'
import { isWithinReach } from '../closes/recorded-prices.ts'
import { eventPathIn } from '../markets/markets.ts'
import type { Parlay, PickRequest } from '../markets/pick-request.ts'
import { type GradeContext, gradedCard, gradePick, ungraded } from './grade-pick.ts'
import { fairOnCard } from './prepare-selection.ts'

/** The `market` of a parlay's card: its legs have the keys. */
const PARLAY_MARKET = 'parlay'

type Bet = {
  readonly pick: CardPick
  readonly taken: TakenPrice
  /** Closing price and probability of the whole. */
  readonly odds: number
  readonly probability: number | undefined
  readonly rule: 'product_of_legs' | 'win_and_place'
  readonly scoreboard: Scoreboard
  readonly isSeen: boolean
  /** What the card says of the whole price, if its parts do not say it. */
  readonly priceFlags?: readonly GradeFlag[]
}

const product = (values: readonly number[]): number => values.reduce((all, value) => all * value, 1)

/** The value that all share, otherwise `several`. */
const shared = (values: readonly string[]): string =>
  new Set(values).size === 1 ? (values[0] ?? 'several') : 'several'

const legOnCard = ({ pick, taken, close, scoreboard }: GradedCard): CardLeg => ({
  market: pick.market,
  selection: pick.selection,
  event: pick.event,
  taken: taken.odds,
  odds: close.odds,
  fair_prob: close.fair_prob,
  scoreboard,
  record: close.record,
})

function combinedClose(parts: readonly GradedCard[], bet: Bet): GradedCard['close'] {
  const { odds, probability, rule } = bet
  const [first] = parts
  if (first === undefined) throw new RangeError('a bet has parts')
  const sources = parts.map(({ close }) => close.source)
  return {
    odds,
    ...fairOnCard(probability, first.close.method),
    source: {
      feed: shared(sources.map(({ feed }) => feed)),
      book: shared(sources.map(({ book }) => book)),
      synthetic: sources.some(({ synthetic }) => synthetic),
    },
    captured_at: null,
    seconds_before_start: null,
    rule,
    legs: parts.map(legOnCard),
    status: 'final',
    record: first.close.record,
  }
}

function combinedFlags(
  parts: readonly GradedCard[],
  priceFlags: readonly GradeFlag[] | undefined,
): readonly GradeFlag[] {
  const flags = [...new Set(parts.flatMap((part) => part.flags))]
  if (priceFlags === undefined) return flags
  return [...priceFlags, ...flags.filter((flag) => !isFarFlag(flag))]
}

function combinedCard(
  parts: readonly GradedCard[],
  bet: Bet,
  calibration: GradeContext['calibration'],
): GradedCard {
  const { odds, pick, probability, scoreboard, taken } = bet
  return gradedCard(
    {
      grade: gradePrice({
        taken: taken.pays ?? taken.odds,
        close: odds,
        fairProbability: probability,
      }),
      pick,
      taken,
      price_seen: bet.isSeen,
      close: combinedClose(parts, bet),
      scoreboard,
      spread: undefined,
      flags: combinedFlags(parts, bet.priceFlags),
    },
    calibration,
  )
}

const returnUnits = (scoreboard: Scoreboard): number =>
  scoreboard.status === 'pending' ? 0 : scoreboard.return_units

/** A void or pushed leg leaves the others; a lost leg ends the parlay at once. The rest pays at the legs' own prices. */
function parlayResult(parts: readonly GradedCard[], odds: number): Scoreboard {
  const boards = parts.map(({ scoreboard }) => scoreboard)
  if (boards.some(({ status }) => status === 'lost')) return { status: 'lost', return_units: -1 }
  if (boards.some(({ status }) => status === 'pending')) return { status: 'pending' }
  if (boards.every(({ status }) => status === 'void')) return { status: 'void', return_units: 0 }
  if (boards.every(({ status }) => status === 'won'))
    return { status: 'won', return_units: odds - 1 }
  const paid = product(parts.map(({ scoreboard }) => 1 + returnUnits(scoreboard)))
  const units = (odds * paid) / product(parts.map(({ taken }) => taken.odds)) - 1
  if (boards.some(({ status }) => status === 'dead_heat'))
    return { status: 'dead_heat', return_units: units }
  const isLevel = boards.every(({ status }) => status === 'push' || status === 'void')
  return { status: isLevel ? 'push' : units > 0 ? 'half_won' : 'half_lost', return_units: units }
}

const isGraded = (card: Card): card is GradedCard => card.outcome === 'GRADED'

const ungradedLegs = (cards: readonly Card[]): readonly string[] =>
  cards.flatMap((card, index) =>
    isGraded(card) ? [] : [`leg ${index + 1}, ${card.pick.market}: ${card.reason.code}`],
  )

/** A card, and what reads the prices recorded for its selection; a parlay has the product of its legs'. */
export type PricedCard = {
  readonly card: Card
  readonly readRange: () => RecordedRange | undefined
  /** The ledger's name of its league. */
  readonly league?: string | undefined
  /** Of a parlay. */
  readonly legs?: readonly PricedCard[]
}

/** The prices recorded for a parlay; a leg's price belongs to them once it is confirmed. Undefined if a leg has none. */
function parlayRange(legs: readonly PricedCard[]): RecordedRange | undefined {
  const ranges = legs.flatMap(({ card, readRange }) => {
    const recorded = readRange()
    if (recorded === undefined) return []
    const taken = card.flags?.includes('price_confirmed') === true ? card.taken : undefined
    return [taken === undefined ? recorded : withPrice(recorded, taken.odds)]
  })
  return ranges.length === legs.length ? productRange(ranges) : undefined
}

/** A parlay's price is far if one of its legs' is, or the whole is far from their product. */
function parlayFlags(
  { isConfirmed, odds }: Parlay,
  legs: readonly PricedCard[],
  range: RecordedRange | undefined,
): readonly GradeFlag[] {
  const cards = legs.map(({ card }) => card)
  const isWholeFar = range !== undefined && isFar(odds.decimal, range)
  const isLegFar = cards.some((card) => card.flags?.some(isFarFlag))
  const isLegSure = !isWholeFar && !cards.some(isUnconfirmed)
  return farFlags(isWholeFar || isLegFar, isConfirmed === true || isLegSure)
}

/**
 * A parlay by the cards of its legs: their closing prices and fair probabilities multiplied. Legs on one event depend on each
 * other, so no product is their price.
 */
export function gradeParlay(
  parlay: Parlay,
  legs: readonly PricedCard[],
  calibration: GradeContext['calibration'],
): PricedCard {
  const recorded = parlayRange(legs)
  const cards = legs.map(({ card }) => card)
  const flags = parlayFlags(parlay, legs, recorded)
  const card = parlayCard({ parlay, flags }, cards, calibration)
  return { card, readRange: () => recorded, legs }
}

function parlayCard(
  { parlay, flags }: { readonly parlay: Parlay; readonly flags: readonly GradeFlag[] },
  cards: readonly Card[],
  calibration: GradeContext['calibration'],
): Card {
  const { odds, ref } = parlay
  const selection = `${cards.length} legs`
  const pick = { market: PARLAY_MARKET, selection, ref }
  const taken = { odds: odds.decimal, text: odds.text }
  const paths = new Set(cards.map((card) => eventPathIn(card.pick.market)))
  if (paths.size < cards.length) return ungraded({ pick, taken, flags, code: 'legs_of_one_event' })
  const parts = cards.filter(isGraded)
  if (parts.length < cards.length)
    return ungraded({ pick, taken, flags, code: 'leg_ungraded', nearest: ungradedLegs(cards) })
  const chances = parts.flatMap(({ close }) => close.fair_prob ?? [])
  const bet: Bet = {
    pick,
    taken,
    odds: product(parts.map(({ close }) => close.odds)),
    probability: chances.length === parts.length ? product(chances) : undefined,
    rule: 'product_of_legs',
    scoreboard: parlayResult(parts, odds.decimal),
    // The whole is worth no more than its legs' own prices.
    isSeen:
      parts.every((card) => card.price_seen) &&
      isWithinReach(odds.decimal, product(parts.map((card) => card.taken.odds))),
    priceFlags: flags,
  }
  return combinedCard(parts, bet, calibration)
}

/** Half of the stake on each: if the selection placed but did not win, only the place half wins. */
function eachWayResult(win: GradedCard, place: GradedCard): Scoreboard {
  const [left, right] = [win.scoreboard, place.scoreboard]
  if (left.status === 'pending' || right.status === 'pending') return { status: 'pending' }
  const units = (left.return_units + right.return_units) / 2
  if (left.status === 'void' && right.status === 'void') return { status: 'void', return_units: 0 }
  if (left.status === 'dead_heat' || right.status === 'dead_heat')
    return { status: 'dead_heat', return_units: units }
  if (left.status === 'lost' && right.status === 'won')
    return { status: 'half_won', return_units: units }
  return { status: left.status, return_units: units }
}

/**
 * An each-way bet by its two halves (G18): the place half at its fraction of the odds, against the recorded close of exactly
 * so many places. The value is the mean of both; the closing price and the probability on the card are those that the
 * win price would have at that mean.
 */
export function gradeEachWay(
  { eachWay, ...win }: PickRequest & { readonly eachWay: NonNullable<PickRequest['eachWay']> },
  context: GradeContext,
): Card {
  const { key, odds } = win
  const at = 1 + (odds.decimal - 1) * eachWay.fraction
  const place: PickRequest = {
    ...win,
    key: { ...key, type: 'place', line: eachWay.places },
    odds: { ...odds, decimal: at, text: String(Number(at.toFixed(6))) },
  }
  const [winCard, placeCard] = [gradePick(win, context), gradePick(place, context)]
  const failed = [winCard, placeCard].find((card): card is UngradedCard => !isGraded(card))
  if (failed !== undefined) {
    const { code, nearest } = failed.reason
    const taken = { odds: odds.decimal, text: odds.text, each_way: eachWay }
    const flags = winCard.flags?.filter(isFarFlag) ?? []
    return ungraded({ pick: winCard.pick, taken, flags, code, nearest })
  }
  const parts = [winCard, placeCard].filter(isGraded)
  const [left, right] = parts
  if (left === undefined || right === undefined) throw new Error('two halves gave no two cards')
  const paid = left.taken.pays ?? odds.decimal
  const mean = (valueOf: (card: GradedCard) => number): number =>
    (valueOf(left) + valueOf(right)) / 2
  const hasFair = left.clv.fair !== undefined && right.clv.fair !== undefined
  const bet: Bet = {
    pick: left.pick,
    taken: { ...left.taken, each_way: eachWay },
    odds: paid / (1 + mean(({ clv }) => clv.price)),
    probability: hasFair ? (1 + mean(({ clv }) => clv.fair ?? 0)) / paid : undefined,
    rule: 'win_and_place',
    scoreboard: eachWayResult(left, right),
    // The place half follows from the win price by its terms.
    isSeen: left.price_seen,
  }
  return combinedCard(parts, bet, context.calibration)
}

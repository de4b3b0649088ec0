/** The sentence at the foot of a card, for people who read nothing else. */
import type { GradeBand, PriceGrade } from '@tallystick/odds'
import type { Scoreboard, UngradedCode } from '../wire/cards.ts'

const RESULT_WORDS: Readonly<Record<Scoreboard['status'], string>> = {
  won: 'Won',
  half_won: 'Half won',
  push: 'Pushed',
  half_lost: 'Half lost',
  lost: 'Lost',
  void: 'Void',
  dead_heat: 'Dead heat',
  pending: 'Not settled yet',
}

const percent = (fraction: number): string => `${Math.abs(fraction * 100).toFixed(1)} %`

function priceWords(price: number): string {
  if (price > 0) return `${percent(price)} better than the close`
  return price < 0 ? `${percent(price)} worse than the close` : 'exactly the closing price'
}

/** What a graded card says in one sentence. */
export function gradedSummary(card: {
  readonly scoreboard: Scoreboard
  readonly grade: PriceGrade
  readonly taken: string
  readonly close: number
  readonly isSynthetic: boolean
}): string {
  const { scoreboard, grade, taken, close, isSynthetic } = card
  const worth =
    grade.basis === 'fair'
      ? `worth ${grade.fair < 0 ? '-' : '+'}${percent(grade.fair)} at the fair close`
      : 'graded on price alone'
  const kind = isSynthetic ? 'Synthetic fixture, not a real market. ' : ''
  return `${kind}${RESULT_WORDS[scoreboard.status]}. Taken at ${taken} against a close of ${close}: ${priceWords(grade.price)}, ${worth}. Grade ${grade.band satisfies GradeBand}.`
}

/** Instead of the message of `no_close_recorded`, where only the book that was asked for has no close. */
export const NO_CLOSE_OF_BOOK = 'The ledger has no closing price of this market at that book.'

/** Why a pick has no grade, in a sentence. */
export const UNGRADED_MESSAGES: Readonly<Record<UngradedCode, string>> = {
  no_close_recorded: 'The ledger has no closing price of this market.',
  close_not_final:
    'The close is not final yet: the market has not started, or its last price is provisional.',
  close_incomplete:
    'Not every selection of this market has a closing price, so there is no fair close.',
  selection_not_in_close: 'The recorded close has no price of this selection.',
  line_not_recorded:
    'A close is recorded, but not of this line, and the service never prices one line by another.',
  ambiguous_market: 'The market may be one of several; name one by its key.',
  field_changed: 'The field at the close is not the one that the bet was placed on.',
  placed_after_start: 'The bet was placed after the start, so that no close can grade it.',
}

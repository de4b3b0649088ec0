/** The codes of cards, and of rows that are none, and what each means, apart from the schemas: the pages' scripts import them too. */

/** Why a pick has no grade: the message of its card. */
export const UNGRADED_MEANINGS = {
  no_close_recorded: 'The ledger has no closing price of this market.',
  close_not_final:
    'The close is not final yet: the market has not started, or its last price is provisional.',
  close_incomplete:
    'Not every selection of this market has a closing price, so there is no fair close.',
  selection_not_in_close: 'The recorded close has no price of this selection.',
  line_not_recorded:
    'A close is recorded, but not for this line, and the service never prices one line from another.',
  ambiguous_market: 'The market may be one of several; name one by its key.',
  field_changed: 'The field at the close is not the one that the bet was placed on.',
  placed_after_start: 'The bet was placed after the start, so no close can grade it.',
  placed_clock_unclear:
    'The bet’s clock has no zone: by UTC or by the venue’s clock it was placed after the start.',
  leg_ungraded: 'A leg has no grade, so the parlay has none.',
  legs_of_one_event:
    'Two legs are on one event: they depend on each other, and no product of closes prices them.',
} as const

/** What each flag of a graded card means. */
export const FLAG_MEANINGS = {
  booksum_below_one:
    'The closing prices sum to less than one: held at C because the price is below the close.',
  close_incomplete: 'Only the selection’s own closing price is recorded: graded on it alone.',
  method_improper: 'The requested method gives no proper probabilities for this close.',
  stale_anchor: 'The start moved by more than a minute after the close was taken.',
  closes_disagree: 'Another recorded close of the market differs by more than 3 %.',
  received_after_start: 'Received after the start: graded, but never counted.',
  line_from_halves:
    'The close has both halves of this quarter line; it was graded from the two, by identity.',
  inferred_start:
    'The record says only when the bet was placed: graded on the first start after it, the only one near.',
  sides_turned:
    'The record names the away team first: graded on the match as it was played, on the team that was backed.',
  price_far_from_recorded:
    'The price is over 1.5 times the best ever recorded for its selection, or under 1/1.5 of the worst: it counts nowhere until it is confirmed.',
  price_confirmed: 'The bettor says that this was the price: it counts.',
  price_reduced: 'Withdrawn runners reduced the price: it was graded as it pays.',
  synthetic: 'The close is synthetic, for trying the service out.',
} as const

export const RESULT_WORDS = {
  won: 'Won',
  half_won: 'Half won',
  push: 'Pushed',
  half_lost: 'Half lost',
  lost: 'Lost',
  void: 'Void',
  dead_heat: 'Dead heat',
  pending: 'Not settled yet',
} as const

/** What a row of a record is, or why it is no pick; a pick's own reasons are UNGRADED_MEANINGS. */
export const ROW_MEANINGS = {
  graded: 'A close is recorded: an audit grades it.',
  in_play: 'It was placed while the match was played, so no closing price grades it.',
  multiple: 'It is a multiple, and its legs with their own prices do not stand in the row.',
  lay: 'It is a bet against its selection: the ledger grades backs only.',
  each_way: 'It is half a bet on a place, and the file does not say on which terms.',
  other_market: 'The final score does not settle its market, or the ledger keeps no closes of it.',
  same_bet: 'It is the same bet as an earlier row: the two count as one pick.',
  price_far_from_recorded:
    'Its price is far from any that was recorded: it counts once you say that it was yours.',
  unclear: 'It can be read in more than one way: one of the options is meant.',
  not_read: 'Something that a pick needs is missing, or not in a form that is read.',
} as const

export type RowCode = keyof typeof ROW_MEANINGS

import type { GradeFlag, UngradedCode } from './card.ts'

/** What each reason of an ungraded card means. */
export const UNGRADED_MEANINGS: Readonly<Record<UngradedCode, string>> = {
  no_close_recorded:
    'No closing line is recorded for this market, or none of the book that was asked for; or the event is not known.',
  close_not_final: 'Prices are recorded, and the close is not final yet.',
  close_incomplete: 'A fair grade was asked for, and only a part of the close is recorded.',
  selection_not_in_close: 'The close is recorded without this selection.',
  line_not_recorded: 'The close has other lines; none is worked out from them.',
  ambiguous_market: 'The name means several markets, or the event several matches.',
  field_changed: 'Other runners were in the field at the close than when the bet was placed.',
  placed_after_start: 'The bet was placed after the start: there was no close left to beat.',
}

/** What each flag of a graded card means. */
export const FLAG_MEANINGS: Readonly<Record<GradeFlag, string>> = {
  booksum_below_one:
    'The closing prices sum to less than one: held at C because the price is below the close.',
  close_incomplete: 'Only the selection’s own closing price is recorded: graded on it alone.',
  method_improper: 'The asked method gives no proper probabilities for this close.',
  stale_anchor: 'The start moved by more than a minute after the close was taken.',
  closes_disagree: 'Another recorded close of the market differs by more than 3 %.',
  received_after_start: 'Received after the start: graded, and never counted.',
  synthetic: 'The close was made up, for trying the service out.',
}

/** A card's codes in words. The compiler rejects a missing code. */
import type { NotCountedReason, Scoreboard, UngradedCode } from '../../wire/cards.ts'

export const NOT_COUNTED_WORDS: Readonly<Record<NotCountedReason, string>> = {
  not_kept: 'Only looked at: it counts in no truth table.',
  received_after_start: 'It came after the start, so it counts in no truth table.',
  above_recorded_price:
    'The price is more than 1 % above the best recorded one, so it counts in no truth table.',
  no_recorded_price: 'No price was recorded when it came, so it counts in no truth table.',
  combined_bet:
    'A parlay, an each-way bet or one with a deduction is graded and kept, and counts in no truth table.',
  price_far_from_recorded:
    'The price is far from any recorded one and was not confirmed, so it counts in no truth table.',
  repeated_selection: 'This payer’s earlier pick of this selection counts instead.',
}

export const UNGRADED_WORDS: Readonly<Record<UngradedCode, string>> = {
  no_close_recorded: 'No close is recorded',
  close_not_final: 'The close is not final yet',
  close_incomplete: 'The close is not complete',
  selection_not_in_close: 'This selection is not in the close',
  line_not_recorded: 'A close is recorded, but for another line',
  ambiguous_market: 'It may be one of several markets',
  field_changed: 'The field has changed',
  placed_after_start: 'It was placed after the start',
  placed_clock_unclear: 'It may have been placed after the start: its clock has no zone',
  leg_ungraded: 'A leg of it has no grade',
  legs_of_one_event: 'Two of its legs are on one event',
}

/** How a result is shown: a void or pushed bet is neither. */
export function resultTone(status: Scoreboard['status']): 'good' | 'bad' | 'plain' {
  if (status === 'won' || status === 'half_won') return 'good'
  return status === 'lost' || status === 'half_lost' ? 'bad' : 'plain'
}

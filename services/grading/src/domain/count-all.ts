import { type CommittedPick, eventContribution } from './event-contribution.ts'
import type { EventState } from './event-state.ts'
import { applyEvent, emptyTruth, type MutableTruth } from './truth-table.ts'

/** The truth table counted anew from every event: what the kept one must equal, always. */
export function countAll(
  states: Iterable<EventState>,
  committedOn: (path: string) => readonly CommittedPick[],
): MutableTruth {
  const truth = emptyTruth()
  for (const state of states) {
    const rows = eventContribution(state, committedOn(state.info.path))
    if (rows.length > 0) applyEvent(truth, rows, 1)
  }
  return truth
}

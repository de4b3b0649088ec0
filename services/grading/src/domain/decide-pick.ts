/** What becomes of a paid pick that is to be kept, and what it adds to the truth table. Pure: a store only does it. */
import { recount } from './advance-event.ts'
import { type CommittedPick, commitmentOf } from './committed-pick.ts'
import type { EventState } from './event-state.ts'
import type { StoredPick } from './grading-store.ts'
import type { LedgerEntry } from './ledger-entry.ts'
import type { TruthTally } from './truth-tally.ts'

type PickDecision =
  /** Its payment has a pick already: a payment whose answer was lost makes no second one. */
  | { readonly kind: 'repeat'; readonly pick: StoredPick }
  /** Kept for its card; it commits to nothing. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'commit'; readonly entry: Extract<LedgerEntry, { type: 'pick' }> }

export function decidePick(
  known: StoredPick | undefined,
  { opening }: Pick<StoredPick, 'opening'>,
  commit: boolean,
): PickDecision {
  if (known !== undefined) return { kind: 'repeat', pick: known }
  if (!commit) return { kind: 'keep' }
  const { receivedAtSeconds } = opening
  return {
    kind: 'commit',
    entry: { type: 'pick', commitment: commitmentOf(opening), receivedAtSeconds },
  }
}

/** Whether a pick on this event changes the truth table; if every result is void, none does. */
export const isCountedAt = (state: EventState | undefined): boolean =>
  state?.outcomes.some(({ status }) => status === 'final') === true

/** Counts a committed pick beside those before it on its event: of repeated ones only the first counts. */
export function countPick(
  tally: TruthTally,
  {
    before,
    kept,
    state,
  }: {
    readonly state: EventState | undefined
    readonly before: readonly CommittedPick[]
    readonly kept: CommittedPick
  },
): void {
  const { opening, seq } = kept
  const afterPicks = [...before, { opening, seq }]
  recount(tally, { before: state, after: state, beforePicks: before, afterPicks })
}

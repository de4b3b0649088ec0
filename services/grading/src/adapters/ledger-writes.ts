/** What a write does to the ledger and to the counts made from it, the same on every engine. */
import { addIngested, advanceEvent, isNews, NOTHING_INGESTED } from '../domain/advance-event.ts'
import { countPick, decidePick, isCountedAt } from '../domain/decide-pick.ts'
import type { IngestBatch, IngestOutcome, StoredPick } from '../domain/grading-store.ts'
import { saltEntry } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'
import type { Observation } from '../domain/observation.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import type { LedgerDraft } from './ledger-draft.ts'
import { appendEntry } from './stored-rows.ts'

export function ingestSlice(
  draft: LedgerDraft,
  batch: Omit<IngestBatch, 'observations'>,
  observations: readonly Observation[],
): IngestOutcome {
  let outcome = NOTHING_INGESTED
  const tally = new TruthTally()
  for (const observation of observations) {
    const { path } = observation.event
    let event: number | undefined
    const state = draft.event(path)
    const advanced = advanceEvent({
      state,
      picks: () => draft.picksOn(path),
      observation,
      batch,
      tally,
      append: (entry) => {
        event ??= draft.idFor(path)
        const { ledger, secret } = draft
        const salted = saltEntry(entry, { secret, seq: ledger.size })
        return appendEntry(ledger, { entry: salted, event })
      },
    })
    outcome = addIngested(outcome, advanced.outcome)
    if (advanced.state === undefined) continue
    draft.keepEvent(advanced.state)
  }
  draft.count(tally)
  return outcome
}

/** The events of a slice that have a result, and whether anything new is said of one: then its picks are recounted. */
export function settledIn(
  draft: LedgerDraft,
  batch: Omit<IngestBatch, 'observations'>,
  observations: readonly Observation[],
): readonly [paths: readonly string[], isNewsOf: (path: string) => boolean] {
  const settled = Map.groupBy(
    observations.filter(
      ({ event, outcomes }) =>
        outcomes.length + (draft.event(event.path)?.outcomes.length ?? 0) > 0,
    ),
    ({ event }) => event.path,
  )
  const isNewsOf = (path: string): boolean => {
    const [first, second] = settled.get(path) ?? []
    if (first === undefined) return false
    // A match observed twice: the effect of the first observation is not known yet.
    return second !== undefined || isNews(draft.event(path), first, batch)
  }
  return [[...settled.keys()], isNewsOf]
}

/** Keeps a pick as `decidePick` says; returns the one that its payment has. */
export function keepPick(
  draft: LedgerDraft,
  pick: Omit<StoredPick, 'seq'>,
  commit: boolean,
): StoredPick {
  const decision = decidePick(draft.pickOfPayment(pick.paymentId), pick, commit)
  switch (decision.kind) {
    case 'repeat':
      return decision.pick
    case 'keep':
      draft.keepPick(pick)
      return pick
    case 'commit': {
      const path = eventPathOf(pick.opening.market)
      const { seq } = appendEntry(draft.ledger, { entry: decision.entry, event: null })
      const kept = { ...pick, seq }
      const state = draft.event(path)
      if (isCountedAt(state)) {
        const tally = new TruthTally()
        countPick(tally, { state, before: draft.picksOn(path), kept })
        draft.count(tally)
      }
      draft.keepPick(kept)
      return kept
    }
    default:
      return decision satisfies never
  }
}

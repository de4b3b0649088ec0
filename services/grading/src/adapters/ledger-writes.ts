/** What a write does to the ledger and to the counts made from it, the same on every engine. */
import {
  addIngested,
  advanceEvent,
  isNews,
  NOTHING_INGESTED,
  recount,
} from '../domain/advance-event.ts'
import { commitmentOf } from '../domain/committed-pick.ts'
import type { EventState } from '../domain/event-state.ts'
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

/**
 * The events of a slice whose picks must be recounted: those with a result and something new. An event may have 30,000
 * picks; a round with nothing new does not recount them.
 */
export function pathsWithPicks(
  draft: LedgerDraft,
  batch: Omit<IngestBatch, 'observations'>,
  observations: readonly Observation[],
): readonly string[] {
  const seen = new Set<string>()
  return observations.flatMap((observation) => {
    const { path } = observation.event
    const state = draft.event(path)
    if (observation.outcomes.length + (state?.outcomes.length ?? 0) === 0) return []
    // A match observed twice: the effect of the first observation is not known yet.
    const isSecond = seen.has(path)
    seen.add(path)
    return isSecond || isNews(state, observation, batch) ? [path] : []
  })
}

/** Whether a pick on this event changes the truth table; if every result is void, none does. */
export const isCounting = (state: EventState | undefined): boolean =>
  state?.outcomes.some(({ status }) => status === 'final') === true

export function keepPick(
  draft: LedgerDraft,
  pick: Omit<StoredPick, 'seq'>,
  commit: boolean,
): StoredPick {
  const known = draft.pickOfPayment(pick.paymentId)
  if (known !== undefined) return known
  if (!commit) {
    draft.keepPick(pick)
    return pick
  }
  const path = eventPathOf(pick.opening.market)
  const { receivedAtSeconds } = pick.opening
  const commitment = commitmentOf(pick.opening)
  const { seq } = appendEntry(draft.ledger, {
    entry: { type: 'pick', commitment, receivedAtSeconds },
    event: null,
  })
  const state = draft.event(path)
  const kept = { ...pick, seq }
  const isCounted = isCounting(state)
  const beforePicks = isCounted ? draft.picksOn(path) : []
  draft.keepPick(kept)
  if (isCounted) {
    const afterPicks = draft.picksOn(path)
    const tally = new TruthTally()
    recount(tally, { before: state, after: state, beforePicks, afterPicks })
    draft.count(tally)
  }
  return kept
}

/** What a write does to the ledger and to what is counted from it, alike for every engine. */
import {
  addIngested,
  advanceEvent,
  isNews,
  NOTHING_INGESTED,
  recount,
} from '../domain/advance-event.ts'
import { type CommittedPick, commitmentOf } from '../domain/committed-pick.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type {
  IngestBatch,
  IngestOutcome,
  KeepPickOutcome,
  StoredPick,
} from '../domain/grading-store.ts'
import { saltEntry } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'
import type { Observation } from '../domain/observation.ts'
import type { MutableTruth } from '../domain/truth-table.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import { appendEntry } from './stored-rows.ts'

/** An engine's tables within a write. */
export type LedgerTables = {
  readonly ledger: Parameters<typeof appendEntry>[0]
  readonly events: {
    read(path: string): EventState | undefined
    /** The id under which entries about an event are filed; a new one for an event that `read` did not find. */
    idFor(info: EventInfo, isNew: boolean): number
    write(state: EventState): void
  }
  readonly picks: {
    byPayment(paymentId: string): StoredPick | undefined
    committedOn(path: string): readonly CommittedPick[]
    insert(pick: StoredPick): void
  }
  readonly table: { readonly truth: MutableTruth }
  /** Keys of the truth table that the write has changed. */
  readonly dirty: Set<string>
  /** The ledger's secret: payer tags and hidden prices are salted with it. */
  readonly secret: string
}

export function ingestSlice(
  { dirty, events, ledger, picks, secret, table }: LedgerTables,
  batch: Omit<IngestBatch, 'observations'>,
  observations: readonly Observation[],
): IngestOutcome {
  let outcome = NOTHING_INGESTED
  const tally = new TruthTally()
  for (const observation of observations) {
    const { path } = observation.event
    let event: number | undefined
    const state = events.read(path)
    const advanced = advanceEvent({
      state,
      picks: () => picks.committedOn(path),
      observation,
      batch,
      tally,
      append: (entry) => {
        event ??= events.idFor(observation.event, state === undefined)
        const salted = saltEntry(entry, { secret, seq: ledger.size })
        return appendEntry(ledger, { entry: salted, event })
      },
    })
    outcome = addIngested(outcome, advanced.outcome)
    if (advanced.state === undefined) continue
    events.write(advanced.state)
  }
  for (const key of tally.mergeInto(table.truth)) dirty.add(key)
  return outcome
}

/**
 * The events of a slice whose picks it counts anew: those with a result, if something about them is new. An event of 30,000
 * picks costs a round what is new in it.
 */
export function pathsWithPicks(
  { events }: Pick<LedgerTables, 'events'>,
  batch: Omit<IngestBatch, 'observations'>,
  observations: readonly Observation[],
): readonly string[] {
  const seen = new Set<string>()
  return observations.flatMap((observation) => {
    const { path } = observation.event
    const state = events.read(path)
    if (observation.outcomes.length + (state?.outcomes.length ?? 0) === 0) return []
    // Of two observations of one match, what the first does is not known yet.
    const isSecond = seen.has(path)
    seen.add(path)
    return isSecond || isNews(state, observation, batch) ? [path] : []
  })
}

/** Whether a pick on this event changes the truth table; where every result is void, none counts. */
export const isCounting = (state: EventState | undefined): boolean =>
  state?.outcomes.some(({ status }) => status === 'final') === true

export function keepPick(
  { dirty, events, ledger, picks, table }: LedgerTables,
  pick: Omit<StoredPick, 'seq'>,
  commit: boolean,
): KeepPickOutcome {
  const known = picks.byPayment(pick.paymentId)
  if (known !== undefined) return { kind: 'known', pick: known }
  if (!commit) {
    picks.insert(pick)
    return { kind: 'kept', pick }
  }
  const path = eventPathOf(pick.opening.market)
  const { receivedAtSeconds } = pick.opening
  const commitment = commitmentOf(pick.opening)
  const { seq } = appendEntry(ledger, {
    entry: { type: 'pick', commitment, receivedAtSeconds },
    event: null,
  })
  const state = events.read(path)
  const kept = { ...pick, seq }
  const isCounted = isCounting(state)
  const beforePicks = isCounted ? picks.committedOn(path) : []
  picks.insert(kept)
  if (isCounted) {
    const afterPicks = picks.committedOn(path)
    const change = { before: state, after: state, beforePicks, afterPicks }
    const tally = new TruthTally()
    recount(tally, change)
    for (const key of tally.mergeInto(table.truth)) dirty.add(key)
  }
  return { kind: 'kept', pick: kept }
}

/** One observation's way into an event: deciding entries, folding them, and what the truth table loses and gains by it. */
import { applyEntry } from './apply-entry.ts'
import { decideEntries } from './decide-entries.ts'
import { type CommittedPick, eventContribution } from './event-contribution.ts'
import type { EventState, RecordReference } from './event-state.ts'
import type { IngestBatch, IngestOutcome } from './grading-store.ts'
import type { EventLedgerEntry } from './ledger-entry.ts'
import type { Observation } from './observation.ts'
import { applyEvent, type MutableTruth } from './truth-table.ts'

/** Nothing ingested. */
export const NOTHING_INGESTED: IngestOutcome = {
  events: 0,
  snapshots: 0,
  closes: 0,
  outcomes: 0,
  superseded: 0,
  unchanged: 0,
}

/** The sum of two outcomes. */
export function addIngested(one: IngestOutcome, other: IngestOutcome): IngestOutcome {
  return {
    events: one.events + other.events,
    snapshots: one.snapshots + other.snapshots,
    closes: one.closes + other.closes,
    outcomes: one.outcomes + other.outcomes,
    superseded: one.superseded + other.superseded,
    unchanged: one.unchanged + other.unchanged,
  }
}

/** Takes an event out of the truth table as it was and puts it in as it is. Returns the keys that changed. */
export function recount(
  truth: MutableTruth,
  change: {
    readonly before: EventState | undefined
    readonly beforePicks: readonly CommittedPick[]
    readonly after: EventState | undefined
    readonly afterPicks: readonly CommittedPick[]
  },
): readonly string[] {
  const removed = eventContribution(change.before, change.beforePicks)
  const added = eventContribution(change.after, change.afterPicks)
  const keys: string[] = []
  const note = (changed: ReturnType<typeof applyEvent>): void => {
    keys.push(...changed.bands, ...changed.lines)
  }
  if (removed.length > 0) note(applyEvent(truth, removed, -1))
  if (added.length > 0) note(applyEvent(truth, added, 1))
  return keys
}

/** What an observation made of an event. */
export type AdvancedEvent = {
  readonly state: EventState
  readonly outcome: IngestOutcome
  /** Keys of the truth table that changed. */
  readonly truthKeys: readonly string[]
}

/** Advances an event, or returns undefined where the observation says nothing new of a known event, or nothing at all. */
export function advanceEvent(options: {
  readonly state: EventState | undefined
  /** Committed picks on the event; asked only where a result makes them count. */
  readonly picks: () => readonly CommittedPick[]
  readonly observation: Observation
  readonly batch: Omit<IngestBatch, 'observations'>
  readonly truth: MutableTruth
  readonly append: (entry: EventLedgerEntry) => RecordReference
}): AdvancedEvent | { readonly state: undefined; readonly outcome: IngestOutcome } {
  const { state: before, observation, batch, truth, append } = options
  const { entries, unchanged } = decideEntries(before, observation, batch)
  let after = before
  let outcome: IngestOutcome = { ...NOTHING_INGESTED, unchanged }
  for (const entry of entries) {
    after = applyEntry(after, entry, append(entry))
    const superseded = entry.type === 'snapshot' ? 0 : (entry.supersedes?.length ?? 0)
    outcome = addIngested(outcome, {
      ...NOTHING_INGESTED,
      snapshots: entry.type === 'snapshot' ? 1 : 0,
      closes: entry.type === 'close' ? 1 : 0,
      outcomes: entry.type === 'outcome' ? 1 : 0,
      superseded: superseded > 0 ? 1 : 0,
    })
  }
  if (after === undefined || after === before) return { state: undefined, outcome }
  const isSettled = after.outcomes.length + (before?.outcomes.length ?? 0) > 0
  const picks = isSettled ? options.picks() : []
  const truthKeys = isSettled
    ? recount(truth, { before, beforePicks: picks, after, afterPicks: picks })
    : []
  return {
    state: after,
    outcome: { ...outcome, events: before === undefined ? 1 : 0 },
    truthKeys,
  }
}

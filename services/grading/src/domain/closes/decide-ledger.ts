/**
 * What a write does to the ledger and to the counts made from it, decided from what it finds and nothing else: an ingested slice
 * of observations, or a pick that a payment keeps.
 */
import { canonicalJson, leafHash } from '@tallystick/hashchain'
import { TruthTally } from '../calibration/truth-tally.ts'
import { eventPathIn } from '../markets/markets.ts'
import { addIngested, advanceEvent, isNews, NOTHING_INGESTED, recount } from './advance-event.ts'
import { commitmentHash } from './committed-pick.ts'
import type { EventState } from './event-state.ts'
import type { IngestBatch, IngestOutcome, StoredPick } from './grading-store.ts'
import { type LedgerEntry, saltEntry, toHex } from './ledger-entry.ts'
import type { Observation } from './observation.ts'
import type { CommittedPick } from './pick-opening.ts'

/** What a write finds: events, and the committed picks on those whose picks may count. */
export type FoundEvents = {
  state(path: string): EventState | undefined
  picks(path: string): readonly CommittedPick[]
}

/** An entry to append: RFC 8785 JSON, its leaf, and the event that it is about. */
type DecidedEntry = {
  readonly text: string
  readonly leafHash: Uint8Array
  readonly path: string | undefined
}

/** An event's new state, and the last entry folded into it. */
export type DecidedEvent = { readonly state: EventState; readonly lastSeq: number }

const writeEntry = (entry: LedgerEntry, path?: string): DecidedEntry => {
  const text = canonicalJson(entry)
  return { text, leafHash: leafHash(text), path }
}

export type IngestDecision = {
  readonly outcome: IngestOutcome
  readonly entries: readonly DecidedEntry[]
  readonly events: ReadonlyMap<string, DecidedEvent>
  readonly tally: TruthTally
}

type Batch = Omit<IngestBatch, 'observations'>

/** Decides a slice of observations, behind a ledger of so many entries. */
export function decideIngest({
  batch,
  found,
  observations,
  secret,
  size,
}: {
  readonly batch: Batch
  readonly found: FoundEvents
  readonly observations: readonly Observation[]
  /** Salts hidden prices. */
  readonly secret: string
  readonly size: number
}): IngestDecision {
  const entries: DecidedEntry[] = []
  const events = new Map<string, DecidedEvent>()
  const tally = new TruthTally()
  let outcome = NOTHING_INGESTED
  for (const observation of observations) {
    const { path } = observation.event
    const advanced = advanceEvent({
      state: events.get(path)?.state ?? found.state(path),
      picks: () => found.picks(path),
      observation,
      batch,
      tally,
      append: (entry) => {
        const seq = size + entries.length
        const written = writeEntry(saltEntry(entry, { secret, seq }), path)
        entries.push(written)
        return { seq, hash: toHex(written.leafHash) }
      },
    })
    outcome = addIngested(outcome, advanced.outcome)
    if (advanced.state !== undefined)
      events.set(path, { state: advanced.state, lastSeq: size + entries.length - 1 })
  }
  return { outcome, entries, events, tally }
}

/** Whether a pick on this event changes the truth table; if every result is void, none does. */
const isCounting = (state: EventState | undefined): boolean =>
  state?.outcomes.some(({ status }) => status === 'final') === true

export type PickDecision = {
  readonly pick: StoredPick
  /** Whether the payment had it already: then nothing is written. */
  readonly isKnown: boolean
  readonly entry?: DecidedEntry
  readonly tally?: TruthTally
}

/** Decides what becomes of a payment's pick; with `commit` the ledger gets its commitment. */
export function decidePick({
  commit,
  found,
  known,
  pick,
  size,
}: {
  readonly commit: boolean
  readonly found: FoundEvents
  /** The pick that the payment has already. */
  readonly known: StoredPick | undefined
  readonly pick: Omit<StoredPick, 'seq'>
  readonly size: number
}): PickDecision {
  if (known !== undefined) return { pick: known, isKnown: true }
  if (!commit) return { pick, isKnown: false }
  const { opening } = pick
  const path = eventPathIn(opening.market)
  const commitment = commitmentHash(opening)
  const entry = writeEntry({
    type: 'pick',
    commitment,
    receivedAtSeconds: opening.receivedAtSeconds,
  })
  const placed = { ...pick, seq: size }
  const state = found.state(path)
  if (!isCounting(state)) return { pick: placed, isKnown: false, entry }
  const beforePicks = found.picks(path)
  const tally = new TruthTally()
  const afterPicks = [...beforePicks, { opening, seq: size }]
  recount(tally, { before: state, after: state, beforePicks, afterPicks })
  return { pick: placed, isKnown: false, entry, tally }
}

/** What a write of a group asks for. */
export type LedgerWrite =
  | {
      readonly kind: 'ingest'
      readonly batch: Batch
      readonly observations: readonly Observation[]
    }
  | {
      readonly kind: 'pick'
      readonly path: string
      readonly paymentId: string
      readonly commit: boolean
    }

/** The events that writes are about. */
export const listPaths = (writes: readonly LedgerWrite[]): readonly string[] => [
  ...new Set(
    writes.flatMap((write) =>
      write.kind === 'pick' ? [write.path] : write.observations.map(({ event }) => event.path),
    ),
  ),
]

/**
 * The events whose picks these writes may count, in their order: those with a result and something new. An event may have 30,000
 * picks; a round with nothing new does not read them.
 */
export function listCountedPaths(
  writes: readonly LedgerWrite[],
  found: Pick<FoundEvents, 'state'>,
): readonly string[] {
  const counted = new Set<string>()
  /** Events that an earlier observation may have changed: what follows from it is not known yet. */
  const seen = new Set<string>()
  const withResult = new Set<string>()
  for (const write of writes) {
    if (write.kind === 'pick') {
      const { commit, path } = write
      if (commit && (withResult.has(path) || isCounting(found.state(path)))) counted.add(path)
      continue
    }
    for (const observation of write.observations) {
      const { path } = observation.event
      const state = found.state(path)
      if (observation.outcomes.length + (state?.outcomes.length ?? 0) > 0) withResult.add(path)
      const isSecond = seen.has(path)
      seen.add(path)
      if (!withResult.has(path)) continue
      if (isSecond || state === undefined || isNews(state, observation, write.batch))
        counted.add(path)
    }
  }
  return [...counted]
}

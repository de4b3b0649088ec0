/**
 * The port of the ledger, the picks and the truth table. A store decides nothing about events: advance-event.ts,
 * apply-entry.ts and truth-table.ts do.
 */

import type { TruthTable } from '../calibration/truth-table.ts'
import type { EventState } from './event-state.ts'
import type { LedgerEntry } from './ledger-entry.ts'
import type { Observation, Refusal } from './observation.ts'
import type { CommittedPick, PickOpening } from './pick-opening.ts'
import type { FeedInfo, RecordReference } from './price-log.ts'

/** A payload's observations on their way into the ledger. */
export type IngestBatch = {
  readonly feed: FeedInfo
  readonly receivedAtSeconds: number
  /** SHA-256 of the raw bytes, hex. */
  readonly rawSha256: string
  readonly observations: readonly Observation[]
  /** `lastEventId` of the store before the observations' events were matched with its own; absent where they name them. */
  readonly matchedAt?: number | undefined
  /** The poller's holding under which they were fetched: refused once another process polls. */
  readonly pollerEpoch?: number | undefined
}

export type IngestOutcome = {
  readonly events: number
  /** Entries written. */
  readonly snapshots: number
  readonly closes: number
  readonly outcomes: number
  /** Closes and results that replaced earlier ones. */
  readonly superseded: number
  /** Observations that said nothing new. */
  readonly unchanged: number
  /** Prices that came after the result, and results that came before the start: none were written. */
  readonly declined: readonly Refusal[]
  /** So many of the last observations may be of matches that were filed since `matchedAt`: none of those was written. */
  readonly unmatched?: number
}

/** A pick under its receipt. */
export type StoredPick = {
  /** Unguessable: its holder may read the card. */
  readonly receipt: string
  readonly payer: string
  /** Unique per payment: a payment whose answer was lost makes no second pick. */
  readonly paymentId: string
  readonly opening: PickOpening
  /** Options of the grade, as requested. */
  readonly options: Readonly<Record<string, string>>
  /** Place of its commitment in the ledger; undefined for a pick that came after its start. */
  readonly seq?: number
}

type LedgerHead = { readonly size: number; readonly rootHash: Uint8Array }

export type StoredEntry = RecordReference & {
  /** Canonical JSON: the text that is hashed. */
  readonly text: string
  readonly entry: LedgerEntry
}

export type LedgerVerdict =
  | { readonly kind: 'intact'; readonly entries: number; readonly rootHash: Uint8Array }
  /** `seq` is the first broken entry, if one can be named. */
  | { readonly kind: 'broken'; readonly seq?: number | undefined; readonly problem: string }

/** What to look for; text is matched word by word against teams and league. */
export type EventSearch = {
  readonly sport?: string | undefined
  /** Start on this day, UTC: from (inclusive) to (exclusive), Unix seconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** A word of three letters or more may match a beginning if whole words alone, without a day, find fewer than `limit`. */
  readonly words: readonly string[]
  /** Keys of teams (team-names.ts), in the recorded order: an event fits if each named side is among them. Words are ignored. */
  readonly teams?: {
    readonly home?: readonly string[]
    readonly away?: readonly string[]
  }
  readonly limit: number
}

export type LedgerCounts = {
  readonly entries: number
  readonly events: number
  readonly picks: number
}

/** What cards are made from. Every method throws GradingStoreUnavailable. */
export type LedgerReader = {
  /** The events of these paths, in order; undefined for unknown ones. One call serves a whole audit. */
  events(paths: readonly string[]): Promise<readonly (EventState | undefined)[]>
  searchEvents(search: EventSearch): Promise<readonly EventState[]>
  /** The table at the ledger's head. O(bands). */
  truth(): Promise<TruthTable>
  /** The tag that stands for a payer in openings: stable within this store, meaningless outside. */
  payerTag(payer: string): Promise<string>
}

/** Append-only; a failed transaction leaves nothing behind. Every method throws GradingStoreUnavailable. */
export type GradingStore = LedgerReader & {
  /** Writes what is new, each group in one commit and one fsync; resolves when it is durable. Unchanged content adds no entry. */
  ingest(batch: IngestBatch): Promise<IngestOutcome>
  /** Observations below which a call is small: callers combine a payload’s slices first. */
  readonly ingestedAtOnce?: number
  /** A number that grows with each event that is filed. */
  lastEventId(): Promise<number>
  /** Whether a payload with this hash was ingested completely. */
  hasPayload(rawSha256: string): Promise<boolean>
  markPayload(
    payload: Pick<IngestBatch, 'rawSha256' | 'receivedAtSeconds' | 'pollerEpoch'> & {
      readonly feed: string
    },
  ): Promise<void>
  /** Notes that a command imports a payload under this name, from this file. */
  beginImport(name: string, file: string): Promise<void>
  /** Notes that it ended; `%` gives up all of them. */
  endImport(name: string): Promise<void>
  /** The files of imports that were begun and have not ended. */
  unfinishedImports(): Promise<readonly string[]>
  /** Keeps a pick, durable, or returns the one its payment already has; with `commit` the ledger gets its commitment. */
  keepPick(pick: Omit<StoredPick, 'seq'>, commit: boolean): Promise<StoredPick>
  pickByReceipt(receipt: string): Promise<StoredPick | undefined>
  pickBySeq(seq: number): Promise<StoredPick | undefined>
  /** Picks committed on an event, in ledger order; if an entry is named, only those after it. */
  readEventPicks(eventPath: string, afterSeq?: number): Promise<readonly CommittedPick[]>
  entry(seq: number): Promise<StoredEntry | undefined>
  /** Entries from (inclusive) to (exclusive), in order. */
  entries(range: { readonly from: number; readonly to: number }): AsyncIterable<StoredEntry>
  head(): Promise<LedgerHead>
  /** The head as a signed note (C2SP tlog-checkpoint), with its public key. */
  checkpoint(): Promise<
    Pick<LedgerHead, 'size'> & { readonly note: string; readonly verifierKey: string }
  >
  /** Hashes from entry `seq` to the root of the ledger at `size`, hex, nearest first. */
  inclusionProof(seq: number, size: number): Promise<readonly string[]>
  counts(): Promise<LedgerCounts>
  /** Rehashes every entry, folds all events again, and compares entries, tree, picks and truth table. */
  verify(): Promise<LedgerVerdict>
  close(): Promise<void>
}

/** The store cannot be read or written. */
export class GradingStoreUnavailable extends Error {
  override readonly name: string = 'GradingStoreUnavailable'
}

/** The ledger does not come to its last signed checkpoint: it was put back or altered. An operator must judge it. */
export class GradingStoreBehind extends GradingStoreUnavailable {
  override readonly name = 'GradingStoreBehind'
}

/**
 * The entries of the ledger, as they are hashed: RFC 8785 JSON, one RFC 9162 leaf each, at their place in the order. An
 * entry is never changed; a later one supersedes it.
 */
import { canonicalJson } from '@tallystick/hashchain'
import type { SelectionResult } from '../wire/upload.ts'
import type { CloseRule, EventInfo } from './event-state.ts'

/** What every entry about an event begins with. */
type EventEntry = {
  readonly event: EventInfo
  readonly feed: string
  readonly isRedistributable: boolean
  readonly isSynthetic: boolean
  /** When the bytes were received, Unix seconds. */
  readonly receivedAtSeconds: number
  /** SHA-256 of the raw bytes that it was read from, hex. */
  readonly rawSha256: string
  /** 32 bytes, hex, that nobody outside can know; where the prices may not be shown (salt-entry.ts). */
  readonly salt?: string
}

/** Prices of one market at one book; decimal odds in canonical text. */
export type EntryPrices = {
  readonly market: string
  readonly book: string
  readonly odds: Readonly<Record<string, string>>
  /** Where a market's selections are its own: whether all of them are listed. */
  readonly isWhole?: boolean
  /** Further lines beside the main one: what they replace is further lines. */
  readonly isAlternative?: boolean
  readonly capturedAtSeconds?: number
}

/** Prices before the close. */
export type SnapshotEntry = EventEntry & {
  readonly type: 'snapshot'
  readonly prices: readonly EntryPrices[]
}

/** Closing prices, or with status `void` the end of closes that were wrong. */
export type CloseEntry = EventEntry & {
  readonly type: 'close'
  readonly status: 'provisional' | 'final' | 'void'
  readonly rule: CloseRule
  readonly prices: readonly EntryPrices[]
  /** Entries of which this one replaces at least one market. */
  readonly supersedes?: readonly number[]
}

/** A result, or a correction of one; `withdrawn` takes a result back, so that picks are pending again. */
export type OutcomeEntry = EventEntry & {
  readonly type: 'outcome'
  readonly period: string
  readonly status: 'final' | 'void' | 'withdrawn'
  readonly score?: { readonly home: number; readonly away: number }
  readonly results?: Readonly<Record<string, Readonly<Record<string, SelectionResult>>>>
  readonly settledAtSeconds: number
  readonly supersedes?: readonly number[]
}

/** The salted commitment to a pick that came before its start (commitment.ts); it says nothing else. */
export type PickEntry = {
  readonly type: 'pick'
  /** SHA-256 of the opening's canonical JSON, hex. */
  readonly commitment: string
  readonly receivedAtSeconds: number
}

/** An entry that an event is made of. */
export type EventLedgerEntry = SnapshotEntry | CloseEntry | OutcomeEntry

/** Any entry. */
export type LedgerEntry = EventLedgerEntry | PickEntry

/** The text of an entry that is hashed and stored. */
export const writeEntry = (entry: LedgerEntry): string => canonicalJson(entry)

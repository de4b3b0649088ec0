/**
 * The entries of the ledger, as they are hashed: RFC 8785 JSON, one RFC 9162 leaf each, at their place in the order. An
 * entry is never changed; a later one supersedes it.
 */
import { preimageHash } from '@tallystick/hashchain'
import type { PublicEntry } from '../wire/ledger.ts'
import type { SelectionResult } from '../wire/upload.ts'
import type { PickOpening } from './committed-pick.ts'
import { type CloseRule, type EventInfo, type FeedInfo, hasStarted } from './event-state.ts'
import type { StoredEntry, StoredPick } from './grading-store.ts'

/** What every entry about an event begins with. */
type EventEntry = FeedInfo & {
  readonly event: EventInfo
  /** When the bytes were received, Unix seconds. */
  readonly receivedAtSeconds: number
  /** SHA-256 of the raw bytes that it was read from, hex. */
  readonly rawSha256: string
  /** 32 secret bytes, hex, where the prices may not be shown (saltEntry). */
  readonly salt?: string
}

/** Prices of one market at one book: decimal odds in canonical text, without missing, suspended and sentinel prices. */
export type EntryPrices = {
  readonly market: string
  readonly book: string
  readonly odds: Readonly<Record<string, string>>
  /** Where a market's selections are its own: whether all of them are listed. */
  readonly isWhole?: boolean
  /** Further lines beside the main one; they replace further lines only. */
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

/** A result of one period, or a correction of one; `withdrawn` takes a result back, so that picks are pending again. */
export type ObservedOutcome = {
  readonly period: string
  readonly status: 'final' | 'void' | 'withdrawn'
  readonly score?: { readonly home: number; readonly away: number }
  readonly results?: Readonly<Record<string, Readonly<Record<string, SelectionResult>>>>
}

export type OutcomeEntry = EventEntry &
  ObservedOutcome & {
    readonly type: 'outcome'
    readonly settledAtSeconds: number
    readonly supersedes?: readonly number[]
  }

/** The salted commitment to a pick that came before its start (committed-pick.ts); it says nothing else. */
type PickEntry = {
  readonly type: 'pick'
  /** SHA-256 of the opening's canonical JSON, hex. */
  readonly commitment: string
  readonly receivedAtSeconds: number
}

export type EventLedgerEntry = SnapshotEntry | CloseEntry | OutcomeEntry

export type LedgerEntry = EventLedgerEntry | PickEntry

/**
 * The entry as a ledger takes it. One whose prices may not be shown gets a salt: everything else of it is public, its hash
 * too, and a price has so few digits that whoever hashes every likely one would find it. A function of the ledger's secret
 * and the entry's place, so that no two entries share one.
 */
export function saltEntry(
  entry: LedgerEntry,
  { secret, seq }: { readonly secret: string; readonly seq: number },
): LedgerEntry {
  if (entry.type === 'pick' || entry.type === 'outcome' || entry.isRedistributable) return entry
  return { ...entry, salt: preimageHash(`${secret} entry ${seq}`) }
}

type Members = Readonly<Record<string, unknown>>

/** A market's prices without the prices. */
function withoutOdds({ odds, ...rest }: EntryPrices): Members {
  return { ...rest, selections: Object.keys(odds).toSorted() }
}

function redacted(entry: LedgerEntry): Members | undefined {
  if (entry.type === 'pick' || entry.type === 'outcome') return undefined
  if (entry.isRedistributable) return undefined
  // Without the salt, which keeps likely prices from being tried against the hash, and without the hash of the raw bytes.
  const { prices, rawSha256: _raw, salt: _salt, ...rest } = entry
  return { ...rest, prices: prices.map(withoutOdds) }
}

function openingOf(
  pick: StoredPick | undefined,
  info: EventInfo | undefined,
  nowSeconds: number,
): PickOpening | undefined {
  if (pick === undefined || info === undefined) return undefined
  return hasStarted(info, nowSeconds) ? pick.opening : undefined
}

/** The public view of an entry, without its proof. */
export function publicView(
  { seq, hash, entry }: StoredEntry,
  context: {
    /** The pick whose commitment it is, and what is known of its event. */
    readonly pick: StoredPick | undefined
    readonly info: EventInfo | undefined
    readonly nowSeconds: number
  },
): Omit<PublicEntry, 'inclusion'> {
  const hidden = redacted(entry)
  const opened = openingOf(context.pick, context.info, context.nowSeconds)
  return {
    seq,
    hash,
    ...(hidden === undefined ? { entry: { ...entry } } : { redacted: hidden }),
    ...(opened === undefined ? {} : { opened: { ...opened } }),
  }
}

/** Bytes in lower-case hex. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

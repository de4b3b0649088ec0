/**
 * The ledger's entries as hashed: RFC 8785 JSON, one RFC 9162 leaf each, in order. An entry never changes; a later one
 * supersedes it.
 */
import { preimageHash } from '@tallystick/hashchain'
import type { SelectionResult } from '../../wire/upload.ts'
import type { CloseRule, EventInfo } from './event-state.ts'
import type { FeedInfo } from './price-log.ts'

/** What every entry about an event has. */
type EventEntry = FeedInfo & {
  readonly event: EventInfo
  /** When the bytes were received, Unix seconds. */
  readonly receivedAtSeconds: number
  /** SHA-256 of the raw bytes it was read from, hex; absent from results of a source that may not be shown. */
  readonly rawSha256?: string
  /** Replaces that hash: SHA-256 of a secret salt, a space and the hash of the raw bytes (G14). */
  readonly rawCommitment?: string
  /** 32 secret bytes, hex, if the prices may not be shown (saltEntry). */
  readonly salt?: string
}

/** Prices of one market at one book: decimal odds in canonical text. Missing, suspended and sentinel prices are absent. */
export type EntryPrices = {
  readonly market: string
  readonly book: string
  readonly odds: Readonly<Record<string, string>>
  /** For a market with its own selections: whether all of them are listed. */
  readonly isWhole?: boolean
  /** Further lines beside the main one; they replace only further lines. */
  readonly isAlternative?: boolean
  readonly capturedAtSeconds?: number
}

/** Prices before the close. */
export type SnapshotEntry = EventEntry & {
  readonly type: 'snapshot'
  readonly prices: readonly EntryPrices[]
}

/** Closing prices; with status `void`, the withdrawal of wrong closes. */
export type CloseEntry = EventEntry & {
  readonly type: 'close'
  readonly status: 'provisional' | 'final' | 'void'
  readonly rule: CloseRule
  readonly prices: readonly EntryPrices[]
  /** Entries in which this one replaces at least one market. */
  readonly supersedes?: readonly number[]
}

/** A period's result, or a correction of one; `withdrawn` takes a result back, so that its picks are pending again. */
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

/** The salted commitment to a pick received before its start (committed-pick.ts), and nothing else. */
type PickEntry = {
  readonly type: 'pick'
  /** SHA-256 of the opening's canonical JSON, hex. */
  readonly commitment: string
  readonly receivedAtSeconds: number
}

export type EventLedgerEntry = SnapshotEntry | CloseEntry | OutcomeEntry

export type LedgerEntry = EventLedgerEntry | PickEntry

/**
 * The entry as the ledger takes it. If its source's prices may not be shown, an entry with prices gets a salt: everything
 * else is public, including the hash, and a price has so few digits that hashing every likely one would reveal it. A result
 * is public whole, so the hash of its bytes becomes a salted commitment: an upload of a match has few prices beside the
 * result. The salt is a function of the ledger's secret and the entry's place, so no two entries share one.
 */
export function saltEntry(
  entry: LedgerEntry,
  { secret, seq }: { readonly secret: string; readonly seq: number },
): LedgerEntry {
  if (entry.type === 'pick' || entry.isRedistributable) return entry
  const salt = preimageHash(`${secret} entry ${seq}`)
  if (entry.type !== 'outcome') return { ...entry, salt }
  const { rawSha256, ...rest } = entry
  return rawSha256 === undefined
    ? entry
    : { ...rest, rawCommitment: preimageHash(`${salt} ${rawSha256}`) }
}

/** Bytes in lower-case hex, without a copy of them. */
export const toHex = ({ buffer, byteLength, byteOffset }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('hex')

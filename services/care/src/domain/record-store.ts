// The port behind which records are kept. SQLite implements it (adapters/sqlite-record-store.ts), and PostgreSQL
// (adapters/postgres-record-store.ts); record-store.contract.ts is the suite that every implementation passes.

import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import type { CareRecord, NewRecord } from './care-record.ts'

export type AppendOutcome =
  | { readonly kind: 'appended'; readonly record: CareRecord }
  /** The same signed request was received before, inside its window: this is the first answer, no new version. */
  | { readonly kind: 'repeated'; readonly record: CareRecord; readonly subscribers: number }
  /** The chain of that patient and domain belongs to the other audience. */
  | { readonly kind: 'audience-conflict' }

/** Longest time that a repeated request waits for the first one's subscriber count; notifying sessions takes milliseconds. */
export const REPEAT_WAIT_MS = 2_000

/** Identifies a signed write that may be sent again: its MAC, until its timestamp leaves the window. */
export type RequestKey = { readonly mac: string; readonly expiresAtMs: number }

export type ReadOutcome =
  | { readonly kind: 'found'; readonly record: CareRecord; readonly latestVersion: number }
  | { readonly kind: 'absent' }
  /** The stored version does not hold: hash, leaf, link, seal or slot. Its text is never given out. */
  | { readonly kind: 'broken'; readonly version: number }

/** A chain as shown in lists. */
export type ChainHead = ChainSlot & {
  readonly latestVersion: number
  readonly writtenAt: string
  readonly priority?: number | undefined
  /** Creation order, for paging. */
  readonly sequence: number
}

/** How a chain's newest version is stored, read from its bytes. */
type AtRestReceipt = {
  readonly uri: string
  readonly encrypted: boolean
  /** `AES-256-GCM` or `none`. */
  readonly algorithm: string
  readonly keyId?: string | undefined
  readonly storedBytes: number
}

export type ChainVerification = {
  readonly slot: ChainSlot
  readonly versions: number
  readonly intact: boolean
  /** First version that does not hold. */
  readonly brokenAt?: number | undefined
  readonly receipt: AtRestReceipt
}

export type RecordStore = {
  /**
   * Durable when it resolves: appended and fsynced, in one commit with all concurrent writes. If a request is repeated
   * while sessions are still being told of its first write, it waits for `noteSubscribers`, at most `REPEAT_WAIT_MS`, so
   * that both answers are the same. So call that after every write with a request, even with 0. Rejects with
   * RecordStoreUnavailable; throws a TypeError for names or texts that no version may hold (a lone surrogate, a `/` in a
   * name).
   */
  append(record: NewRecord, request?: RequestKey): Promise<AppendOutcome>
  /** Notes how many sessions heard of a write, for the answer to a repeated request. */
  noteSubscribers(request: RequestKey, subscribers: number): Promise<void>
  latest(slot: ChainSlot): Promise<ReadOutcome>
  version(slot: ChainSlot, version: number): Promise<ReadOutcome>
  /** The chain of that patient and domain in that audience, undefined if there is none. */
  head(slot: ChainSlot): Promise<ChainHead | undefined>
  /** Chains of the given audiences in order of creation, after a sequence number. */
  heads(query: {
    readonly audiences: readonly Audience[]
    readonly after?: number | undefined
    readonly limit: number
    readonly patient?: string | undefined
  }): Promise<readonly ChainHead[]>
  /**
   * Versions of one patient written at or after a time, oldest first. Those that do not hold are left out and do not
   * count: fewer than `limit` means that there are no more.
   */
  changesSince(query: {
    readonly patient: string
    readonly audiences: readonly Audience[]
    /** As `Date.prototype.toISOString` writes it, since times are compared as texts. */
    readonly sinceIso: string
    readonly limit: number
  }): Promise<readonly CareRecord[]>
  /** Replays chains from stored bytes, in slices that yield to the event loop. */
  verify(query: {
    readonly audiences: readonly Audience[]
    readonly slot?: ChainSlot | undefined
  }): AsyncIterable<ChainVerification>
  /** Signed checkpoint of an audience's journal as it is now, as a C2SP note. */
  checkpoint(audience: Audience): Promise<string>
  /** The public key that checks those notes, `name+id+base64`. */
  verifierKey(audience: Audience): string
  /**
   * NDJSON lines of everything an auditor may see, each without its newline: journal entries, versions, leaf hashes,
   * checkpoint. wire/verify.ts has their shape, verify-export.ts checks them.
   */
  exportLines(query: {
    readonly audiences: readonly Audience[]
    readonly slot?: ChainSlot | undefined
  }): AsyncIterable<string>
  /** Whether values are sealed, and under which key; the source of the at-rest status line. */
  sealing(): { readonly isSealed: boolean; readonly keyId?: string | undefined }
  close(): Promise<void>
}

/** The store cannot be read or written: a full disk, a lock, a damaged file. The message is for the operator. */
export class RecordStoreUnavailable extends Error {
  override readonly name = 'RecordStoreUnavailable'
}

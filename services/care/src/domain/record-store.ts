// The port behind which records are kept. adapters/records/record-engine.ts implements it over SQLite and PostgreSQL;
// record-store.contract.ts is the suite that both pass.

import type { Journal } from '@tallystick/journal-store'
import type { Audience } from '../wire/audience.ts'
import type { ChainSlot, NamedChain } from '../wire/record-uri.ts'
import type { ChainVerdict } from '../wire/verify.ts'
import type { CareRecord, NewRecord } from './care-record.ts'
import type { Reach } from './scopes.ts'

export type AppendOutcome =
  | {
      readonly kind: 'appended'
      readonly record: CareRecord
      /** The version before it, if there is one and it holds. */
      readonly previous: CareRecord | undefined
      readonly place: number
    }
  /** The same signed request was received before, inside its window: this is the first answer, no new version. */
  | { readonly kind: 'repeated'; readonly record: CareRecord; readonly subscribers: number }
  /** The chain of that patient and domain belongs to the other audience. */
  | { readonly kind: 'audience-conflict' }
  /** A chain of before stands under another spelling of its names (C38). */
  | { readonly kind: 'spelled-otherwise' }
  /** Somebody was faster: the chain is not at the version that the writer expected. */
  | { readonly kind: 'version-conflict'; readonly latestVersion: number }
  /** There is no record that the write could withdraw (C40). */
  | { readonly kind: 'nothing-to-withdraw' }
  /** The chain was erased, and takes nothing more (C31); or the request was taken before, and its chain was freed (C47). */
  | { readonly kind: 'erased' }

/** Identifies a signed write that may be sent again: its MAC, until its timestamp leaves the window. */
export type RequestKey = { readonly mac: string; readonly expiresAtMs: number }

export type ReadOutcome =
  | {
      readonly kind: 'found'
      readonly record: CareRecord
      readonly latestVersion: number
      /** The version that it corrects, if there is one and it holds. */
      readonly previous: CareRecord | undefined
    }
  | { readonly kind: 'absent' }
  /** The stored version does not hold: hash, leaf, link, seal or slot. Its text is never given out. */
  | { readonly kind: 'broken'; readonly version: number }

/** Who did something to a chain that cannot be undone, when and why. */
export type DoneBy = {
  /** ISO 8601. */
  readonly at: string
  readonly actor: string
  readonly reason: string
}

/** A topic, for either audience. */
export type TopicName = Pick<ChainSlot, 'patient' | 'domain'>

/** A chain by how many chains of its topic had been freed when it began. */
export type ErasedName = TopicName & { readonly turn: number }

/** Whose sentence was erased, and by whom (C31). */
export type KeptErasure = ErasedName & DoneBy

/** A chain that was moved aside, so that its topic can begin anew, and by whom (C47). */
export type KeptFree = NamedChain & DoneBy

/** A chain as shown in lists. */
export type ChainHead = ChainSlot & {
  readonly latestVersion: number
  readonly writtenAt: string
  readonly priority?: number | undefined
  readonly language?: string | undefined
  /** The newest version, if that was asked for and holds. */
  readonly record?: CareRecord | undefined
  /** Creation order, for paging. */
  readonly sequence: number
}

export type ChangedChain = Omit<ChainHead, 'writtenAt' | 'priority' | 'language' | 'record'> & {
  /** The lowest version written since, whatever the times of later ones: a clock may be set back. */
  readonly firstSince: number
}

export type NamesQuery = {
  readonly nameKind: 'patient' | 'domain'
  readonly reach: readonly Reach[]
  /** A record name, or nothing. */
  readonly prefix: string
  readonly limit: number
}

/** A version's place in its journal, from 0, and its leaf's hash, lower-case hex. */
export type JournalLeaf = { readonly index: number; readonly hash: string }

/**
 * A version by its place in the order of all commits: how many versions of both audiences are before it. It gives only the
 * version's name.
 */
export type PlacedVersion = ChainSlot & {
  readonly version: number
  readonly place: number
  /** Its place in its own journal, from 0; the rest of `place` is of the other one. */
  readonly leaf: number
  /** Whether lists gain or lose its chain by it: it begins, withdraws or brings back the record (C40). */
  readonly changesList: boolean
}

/** The place of the next version, as far as is known. */
export const placeBehind = ({
  assistant,
  user,
}: {
  readonly [Name in Audience]: { readonly size: number }
}): number => user.size + assistant.size

/** A topic that was freed before the version of a place was written (C47). */
export type PlacedFree = ChainSlot & {
  /** Sizes of the journals then. */
  readonly user: number
  readonly assistant: number
  readonly isErased: boolean
}

/** A version, and the one that it corrects, if that holds. */
export type Revision = { readonly record: CareRecord; readonly previous: CareRecord | undefined }

/** Versions within a reach, in the order of all commits. */
export type BehindQuery = {
  readonly reach: readonly Reach[]
  /** The first place. */
  readonly from: number
  /** The place before which it ends; absent, the end of the journals. */
  readonly to?: number | undefined
  readonly limit: number
  /** Of the patients of the reach. */
  readonly domain?: string | undefined
  /** None that was written before, by its own time. */
  readonly sinceIso?: string | undefined
  /** Only versions by which lists changed; `domain` is not looked at. */
  readonly isListChange?: boolean | undefined
  /** The newest ones of each part, still in order. Only of versions by which lists changed. */
  readonly isNewest?: boolean | undefined
}

/** What stored bytes say of their sealing. */
export type SealReceipt = {
  readonly encrypted: boolean
  readonly algorithm: string
  readonly keyId?: string
}

/** How a chain's newest version is stored, read from its bytes. */
type AtRestReceipt = SealReceipt & {
  readonly uri: string
  readonly storedBytes: number
}

/** The verdict on a chain; erased versions still have their leaves, but their values cannot be replayed (C31). */
export type ChainVerification = Omit<ChainVerdict, 'uri'> & {
  readonly slot: NamedChain
  /** The chain's, in order of creation; undefined for a version that belongs to no chain. */
  readonly number: number | undefined
  /** The number of the chain that such a version says it is of. */
  readonly strayOf?: number
  readonly receipt: AtRestReceipt
}

/** What reports are made from: names are in the store, and the length of the stored bytes would tell a known sentence. */
export type ChainFinding = Omit<ChainVerification, 'slot' | 'receipt'> & {
  readonly receipt: Omit<AtRestReceipt, 'storedBytes'>
}

/** Chains within a reach, after a sequence number. */
export type ChainsQuery = {
  readonly reach: readonly Reach[]
  readonly after?: number | undefined
  readonly limit: number
}

/** An audience's committed journal. A request beyond it rejects with a RangeError. */
export type RecordJournal = Pick<
  Journal,
  'size' | 'rootAt' | 'inclusionProof' | 'consistencyProof' | 'checkpoint' | 'verifierKey'
>

export type RecordStore = {
  /**
   * Durable when it resolves: appended and fsynced, in one commit with all concurrent writes. Rejects with
   * RecordStoreUnavailable; throws a TypeError for names or texts that no version may hold (a lone surrogate, a `/` in a
   * name). With `expectedVersion` it appends only behind that version, 0 for a chain that is not there.
   */
  append(record: NewRecord, request?: RequestKey, expectedVersion?: number): Promise<AppendOutcome>
  /** Notes how many sessions heard of a write, for the answer to a repeated request. */
  noteSubscribers(request: RequestKey, subscribers: number): Promise<void>
  latest(slot: ChainSlot): Promise<ReadOutcome>
  version(slot: ChainSlot, version: number): Promise<ReadOutcome>
  /** The chain of that patient and domain in that audience, undefined if there is none. */
  head(slot: ChainSlot): Promise<ChainHead | undefined>
  /** Chains within a reach in order of creation, after a sequence number. The time does not grow with the store. */
  heads(
    query: ChainsQuery & { readonly wantsRecords?: boolean | undefined },
  ): Promise<readonly ChainHead[]>
  /** Chains that were erased; not those that were freed since. */
  erased(): Promise<readonly ErasedName[]>
  /** Chains that were freed, of topics in which nothing has been written since. */
  freed(): Promise<readonly NamedChain[]>
  /**
   * Names of patients or domains, from chains within a reach, that start with a text; each once, in the order of their UTF-8
   * bytes. The time does not grow with the store.
   */
  names(query: NamesQuery): Promise<readonly string[]>
  /** Chains within a reach that have a version written at or after a time, in order of creation, after a sequence number. */
  changedChains(
    query: ChainsQuery & {
      /** As `Date.prototype.toISOString` writes it, since times are compared as texts. */
      readonly sinceIso: string
    },
  ): Promise<readonly ChangedChain[]>
  /** Versions of a chain in order, after `after`, at most `limit`. Those that do not hold count but are left out. */
  versions(query: {
    readonly slot: ChainSlot
    readonly after: number
    readonly limit: number
  }): Promise<readonly CareRecord[]>
  /** Versions from a place on: none ever appears before one already read. None of an erased or freed chain. */
  behind(query: BehindQuery): Promise<readonly PlacedVersion[]>
  /** The same of topics, each from a place of its own on. */
  behindInTopics(
    query: Pick<BehindQuery, 'to' | 'limit' | 'isNewest'> & {
      readonly topics: readonly (ChainSlot & { readonly from: number })[]
    },
  ): Promise<readonly PlacedVersion[]>
  /** Topics that were freed at places between two, the last one included, in their order. */
  freesBehind(from: number, to: number): Promise<readonly PlacedFree[]>
  /** How many chains of an audience were freed: until one is, no chain's name changes. */
  countFrees(audience: Audience): Promise<number>
  /** What versions say, in the order asked; undefined for one that does not hold or has been erased. */
  revisions(placed: readonly PlacedVersion[]): Promise<readonly (Revision | undefined)[]>
  /** Replays chains from stored bytes, in slices of a few milliseconds. Its memory does not grow with the store. */
  verify(query: {
    readonly audiences: readonly Audience[]
    readonly slot?: NamedChain | undefined
    /** Only chains of these numbers, `from` (inclusive) to `to` (exclusive). */
    readonly numbers?: { readonly from: number; readonly to: number } | undefined
    /** Awaited between slices; by default a turn of the event loop. */
    readonly rest?: (() => Promise<void>) | undefined
  }): AsyncIterable<ChainVerification>
  /** Names of an audience's chains, or of one patient's, by their numbers; erased and freed ones too. */
  chains(query: {
    readonly audience: Audience
    readonly patient?: string | undefined
    readonly after: number
    readonly limit: number
  }): Promise<readonly { readonly number: number; readonly slot: NamedChain }[]>
  /** The number of an audience's newest chain, 0 if it has none. */
  lastChain(audience: Audience): Promise<number>
  /**
   * Verdicts on the chains that gained versions with the leaves from `from` to `to`, by the stored bytes of those versions.
   * `known` says what holds of a chain before them; if it does not know a chain, every version is replayed.
   */
  verifyAdded(query: {
    readonly audience: Audience
    readonly from: number
    readonly to: number
    readonly known: (number: number) => Pick<ChainVerification, 'versions' | 'intact'> | undefined
  }): AsyncIterable<ChainVerification>
  /**
   * A different text once anything but this process changed the stored bytes, as far as file and database show; undefined if
   * the engine cannot tell.
   */
  outsideMark(): string | undefined
  readonly journals: Readonly<Record<Audience, RecordJournal>>
  /** Resolves once `journals` have what any process had committed before. */
  catchUp(): Promise<void>
  /** Calls the listener when journals have grown, whoever wrote. Returns what stops it. */
  onGrown(listener: () => void): () => void
  /** A journal's leaf, whose chain may be erased or freed: its hash, and its place in the order of all commits. */
  leafAt(
    audience: Audience,
    leaf: number,
  ): Promise<{ readonly leaf: number; readonly hash: string; readonly place: number } | undefined>
  /** A version's leaf in its journal, by default the newest version's; undefined if there is none. */
  leaf(slot: NamedChain, version: number | undefined): Promise<JournalLeaf | undefined>
  /**
   * NDJSON lines of everything an auditor may see, each without its newline: journal entries, versions, leaf hashes,
   * checkpoint. wire/verify.ts has their shape, verify-export.ts checks them.
   */
  exportLines(query: {
    readonly audiences: readonly Audience[]
    readonly slot?: NamedChain | undefined
    /** Versions of no other chains. */
    readonly within?: readonly Reach[] | undefined
  }): AsyncIterable<string>
  /**
   * Takes an export of a whole store up into this empty one: the same entries, leaves and roots. It is read twice. `at` is when.
   * Resolves with the sizes of the journals; rejects with RecordStoreUnavailable, also for an export that does not hold.
   */
  importLines(query: {
    readonly lines: () => AsyncIterable<string>
    readonly at: string
  }): Promise<Readonly<Record<Audience, number>>>
  /** Whether an import was cut off, and the store holds a first part of what it took up. */
  isHalfImported(): Promise<boolean>
  /** The key under which values are sealed; undefined in the clear. */
  readonly sealKeyId: string | undefined
  close(): Promise<void>
}

/** The store cannot be read or written: a full disk, a lock, a damaged file. The message is for the operator. */
export class RecordStoreUnavailable extends Error {
  override readonly name: string = 'RecordStoreUnavailable'
}

/** The key that a chain's versions are sealed under is not where keys are. Other chains are not affected. */
export class ChainKeyLost extends RecordStoreUnavailable {
  override readonly name = 'ChainKeyLost'
}

/**
 * The store was put back: witnesses have seen records that are not here, or it does not come to its own last checkpoint (C42).
 * Nothing of it may be served or added to.
 */
export class StoreBehind extends RecordStoreUnavailable {
  override readonly name = 'StoreBehind'
}

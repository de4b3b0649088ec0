// What becomes of a write (C3, C14, C31, C40, C47), decided from what it meets and nothing else: a version that follows the chain's
// newest, the answer to a request that was taken before, or the reason why it makes no version.
import { GENESIS_PREV_HASH } from '@tallystick/hashchain'
import type { Audience } from '../wire/audience.ts'
import type { CareRecord, NewRecord } from './care-record.ts'
import { entryLeafHash, nextEntry, readRecord, writeJournalEntry } from './journal-entry.ts'
import type { AppendOutcome } from './record-store.ts'

/** What a new version follows: a whole record, if it holds. */
export type Tail = Pick<CareRecord, 'version' | 'versionHash'> & {
  readonly record?: CareRecord | undefined
}

/** What the first version of a chain follows. */
export const NO_TAIL: Tail = { version: 0, versionHash: GENESIS_PREV_HASH }

/** What a request made that was taken before, if that version still holds, and how many sessions heard of it. */
export type KnownRequest = {
  readonly record: CareRecord | undefined
  readonly isFreed: boolean
  readonly subscribers: number
}

/** What a write meets. */
export type MetByWrite = {
  readonly request: KnownRequest | undefined
  /** The topic's chain, whichever audience has it. */
  readonly chain:
    | { readonly audience: Audience; readonly tail: Tail; readonly isWithdrawn: boolean }
    | undefined
  /** Whether that chain was erased, or one that is missing here (a restored backup). */
  readonly isErased: boolean
  /** How many chains of the topic were freed. */
  readonly turn: number
}

type Asked = {
  readonly record: NewRecord
  /** The version that the writer saw, 0 for none. */
  readonly expectedVersion: number | undefined
  /** The turn for whose key the write was prepared. */
  readonly turn: number
}

/** A version to be: its record, and the journal entry with its leaf. */
export type NextVersion = {
  readonly kind: 'version'
  readonly record: CareRecord
  readonly previous: CareRecord | undefined
  /** Whether lists gain or lose its chain by it. */
  readonly changesList: boolean
  readonly entry: string
  readonly leafHash: Uint8Array
}

export type WriteDecision =
  | Exclude<AppendOutcome, { readonly kind: 'appended' }>
  | NextVersion
  /** The request is known, but the version that it made no longer holds. */
  | { readonly kind: 'known-broken' }
  /** The topic was freed since this write was prepared: it needs the key of another turn. */
  | { readonly kind: 'other-turn'; readonly turn: number }

function repeatRequest({ isFreed, record, subscribers }: KnownRequest): WriteDecision {
  if (isFreed) return { kind: 'erased' }
  return record === undefined ? { kind: 'known-broken' } : { kind: 'repeated', record, subscribers }
}

/** A clock may be set back, and no two are quite the same; but nothing was written before what it follows. */
const chooseLater = (nowIso: string, before = nowIso): string => (before > nowIso ? before : nowIso)

/** Decides a write. `nowIso` is ISO 8601, `random` ENTRY_RANDOM_BYTES in hex. */
export function decideWrite(
  { expectedVersion, record, turn }: Asked,
  met: MetByWrite,
  { nowIso, random }: { readonly nowIso: string; readonly random: string },
): WriteDecision {
  const { chain } = met
  if (met.request !== undefined) return repeatRequest(met.request)
  if (chain !== undefined && chain.audience !== record.audience)
    return { kind: 'audience-conflict' }
  if (met.isErased) return { kind: 'erased' }
  if (met.turn !== turn) return { kind: 'other-turn', turn: met.turn }
  const tail = chain?.tail ?? NO_TAIL
  if (expectedVersion !== undefined && expectedVersion !== tail.version)
    return { kind: 'version-conflict', latestVersion: tail.version }
  if (record.status !== undefined && tail.version === 0) return { kind: 'nothing-to-withdraw' }
  // A withdrawal is said in the language of what it withdraws.
  const language = record.status === undefined ? undefined : tail.record?.language
  const made = nextEntry({
    record: language === undefined ? record : { language, ...record },
    prevHash: tail.versionHash,
    version: tail.version + 1,
    writtenAt: chooseLater(nowIso, tail.record?.writtenAt),
    random,
  })
  const entry = writeJournalEntry(made)
  return {
    kind: 'version',
    record: readRecord(made),
    previous: tail.record,
    changesList: (chain?.isWithdrawn ?? true) !== (record.status !== undefined),
    entry,
    leafHash: Buffer.from(entryLeafHash(entry), 'hex'),
  }
}

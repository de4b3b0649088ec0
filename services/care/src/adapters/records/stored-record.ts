// Turns stored rows of either engine into domain values. Every version is checked against its slot, its leaf and its hash
// before its text leaves here, straight from the stored bytes: no cache can hide an alteration.
import { GENESIS_PREV_HASH } from '@tallystick/hashchain'
import type { CareRecord } from '../../domain/care-record.ts'
import type { Tail } from '../../domain/decide-write.ts'
import { createVersionCheck, readJournalEntry, readRecord } from '../../domain/journal-entry.ts'
import type { ChainHead, ReadOutcome } from '../../domain/record-store.ts'
import type { Audience } from '../../wire/audience.ts'
import type { ChainSlot, NamedChain } from '../../wire/record-uri.ts'
import type { VersionFault } from '../../wire/verify.ts'
import type { BodySeal } from '../keys/chain-keys.ts'

/** [leaf index, chain, version, written_at, leaf_hash, body] */
export type VersionRow = readonly [number, number, number, string, string, unknown]
/** [id, patient, domain, audience, latest_version, head_hash, erased_leaves, turn, freed, withdrawn] */
export type ChainRow = readonly [
  id: number,
  patient: string,
  domain: string,
  audience: Audience,
  latestVersion: number,
  headHash: string,
  erasedLeaves: string | null,
  turn: number,
  freed: number,
  withdrawn: number,
]

/** A stored chain's slot, and how many chains of its topic had been freed when it began: 0 for nearly every chain (C47). */
export type StoredSlot = ChainSlot & { readonly turn: number }

/** A chain and some of its versions, the newest first. */
export type FoundChain = { readonly chain: ChainRow; readonly versions: readonly VersionRow[] }

/** A stored version, opened and checked by itself. */
type OpenedVersion =
  | { readonly kind: 'holds'; readonly entry: string; readonly record: CareRecord }
  | { readonly kind: 'broken'; readonly fault: VersionFault }

/** Where a row was found, and the key that opens it. */
type InSlot = { readonly slot: StoredSlot; readonly seal: BodySeal }

/**
 * The additional authenticated data of a version, `patient|domain|version|audience`, for each version of a chain; with
 * `|turn` behind it where the topic was freed before.
 */
export function formatSlot({
  patient,
  domain,
  audience,
  turn,
}: StoredSlot): (version: number) => string {
  const end = turn === 0 ? '' : `|${turn}`
  return (version) => `${patient}|${domain}|${version}|${audience}${end}`
}

/** Opens one row in the slot where it was found, and checks it there. */
function checkRow(row: VersionRow, { slot, seal }: InSlot) {
  const [, , version, writtenAt, leafHash, body] = row
  const entry = seal.open(body, formatSlot(slot)(version))
  return { entry, lone: createVersionCheck(slot)({ version, entry, leafHash, writtenAt }) }
}

/** The whole record of a row, if it holds. */
export function openVersion(row: VersionRow, at: InSlot): OpenedVersion {
  const { entry, lone } = checkRow(row, at)
  if (lone.kind === 'broken') return lone
  const record = readJournalEntry(entry ?? '')
  if (entry === undefined || record === undefined) return { kind: 'broken', fault: 'slot' }
  return { kind: 'holds', entry, record: readRecord(record) }
}

/** The record of a row that holds. */
export function recordOfRow(row: VersionRow | undefined, at: InSlot): CareRecord | undefined {
  const opened = row === undefined ? undefined : openVersion(row, at)
  return opened?.kind === 'holds' ? opened.record : undefined
}

/** The slot that a chain's row names. */
export const slotOfChain = ([, patient, domain, audience, , , , turn]: ChainRow): StoredSlot => ({
  patient,
  domain,
  audience,
  turn,
})

/** What a chain is called in verdicts, proofs and exports. */
export const namedChain = ([, patient, domain, audience, , , , , freed]: ChainRow): NamedChain => ({
  patient,
  domain,
  audience,
  ...(freed > 0 && { freed }),
})

/** Whether a chain's newest version withdraws it, as lists have it (C40). */
export const isChainWithdrawn = (chain: ChainRow): boolean => chain[9] === 1

/** Whether a chain's key was destroyed: for readers the chain does not exist. */
export const isErased = (chain: ChainRow): boolean => chain[6] !== null

/** The newest version of a chain, by its stored rows, whatever the chain's row says. */
export function openLatest(found: FoundChain | undefined, at: InSlot): ReadOutcome {
  if (found === undefined || isErased(found.chain)) return { kind: 'absent' }
  const [, , , , latestVersion, headHash] = found.chain
  const [newest] = found.versions
  if (newest === undefined || newest[2] !== latestVersion)
    return { kind: 'broken', version: Math.max(latestVersion, newest?.[2] ?? 1) }
  const record = recordOfRow(newest, at)
  if (record?.versionHash !== headHash) return { kind: 'broken', version: latestVersion }
  return linked(found, record, at)
}

export function readVersion(
  found: FoundChain | undefined,
  number: number,
  at: InSlot,
): ReadOutcome {
  if (found === undefined || isErased(found.chain) || number < 1) return { kind: 'absent' }
  const row = found.versions.find(([, , version]) => version === number)
  if (row === undefined)
    return number > found.chain[4] ? { kind: 'absent' } : { kind: 'broken', version: number }
  const record = recordOfRow(row, at)
  if (record === undefined) return { kind: 'broken', version: number }
  return linked(found, record, at)
}

const isLinked = (record: CareRecord, before: CareRecord | undefined): boolean =>
  before === undefined || before.versionHash === record.prevHash

/** A version is also broken if the version before it holds and has another hash than it names. */
function linked({ chain, versions }: FoundChain, record: CareRecord, at: InSlot): ReadOutcome {
  const findBefore = ({ version: later }: CareRecord): CareRecord | undefined =>
    recordOfRow(
      versions.find(([, , version]) => version + 1 === later),
      at,
    )
  const before = findBefore(record)
  if (!isLinked(record, before)) return { kind: 'broken', version: record.version }
  const previous = before !== undefined && isLinked(before, findBefore(before)) ? before : undefined
  return { kind: 'found', record, latestVersion: chain[4], previous }
}

const VERSION_HASH = /^[0-9a-f]{64}$/

/**
 * The newest stored version, or, if that is broken, what the chain's row says about it. A chain that was tampered with still
 * takes new versions, after all existing ones.
 */
export function openTail({ chain, versions: [newest] }: FoundChain, seal: BodySeal): Tail {
  const [, , , , latestVersion, headHash] = chain
  const at = { slot: slotOfChain(chain), seal }
  const record = newest?.[2] === latestVersion ? recordOfRow(newest, at) : undefined
  if (record !== undefined)
    return { version: record.version, versionHash: record.versionHash, record }
  const version = Math.max(latestVersion, newest?.[2] ?? 0)
  return { version, versionHash: VERSION_HASH.test(headHash) ? headHash : GENESIS_PREV_HASH }
}

/** A chain as shown in lists, with its newest stored row: a list cuts its fields out of the row without parsing all of it. */
export function openHead({ chain, versions: [newest] }: FoundChain, seal: BodySeal): ChainHead {
  const [id, , , , latestVersion] = chain
  const slot = slotOfChain(chain)
  const lone = newest === undefined ? undefined : checkRow(newest, { slot, seal }).lone
  return {
    ...namedChain(chain),
    latestVersion,
    // It is the entry's own; a broken version shows only the time stored beside it.
    writtenAt: newest?.[3] ?? '',
    priority: lone?.kind === 'holds' ? lone.priority : undefined,
    language: lone?.kind === 'holds' ? lone.language : undefined,
    sequence: id,
  }
}

/** Names, each once, in the order of their UTF-8 bytes, as in both engines' indexes. */
export const inByteOrder = (names: readonly string[]): readonly string[] =>
  [...new Set(names)]
    .map((name) => Buffer.from(name))
    .toSorted((left, right) => Buffer.compare(left, right))
    .map(String)

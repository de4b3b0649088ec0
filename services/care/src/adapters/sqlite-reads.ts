// Reads of single versions and of lists. Every version is checked against its slot, its leaf and its hash before its text
// leaves here, straight from the stored bytes: there is no cache that could hide an alteration.

import { GENESIS_PREV_HASH } from '@tallystick/hashchain'
import type { BodySeal } from '@tallystick/journal-store'
import type { CareRecord } from '../domain/care-record.ts'
import { readJournalEntry, recordOf } from '../domain/journal-entry.ts'
import type { ChainHead, ReadOutcome, RecordStore } from '../domain/record-store.ts'
import { createVersionCheck } from '../domain/verify-chain.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import type { VersionFault } from '../wire/verify.ts'
import { guarded, slotTextOf } from './sqlite-record-database.ts'
import type { ChainRow, RecordStatements, VersionRow, WholeChainRow } from './sqlite-statements.ts'

/** A stored version, opened and checked by itself. */
type OpenedVersion =
  | { readonly kind: 'holds'; readonly entry: string; readonly record: CareRecord }
  | { readonly kind: 'broken'; readonly fault: VersionFault }

/** Opens one row in the slot where it was found. */
export function openVersion(options: {
  readonly row: VersionRow
  readonly slot: ChainSlot
  readonly seal: BodySeal
}): OpenedVersion {
  const { row, slot, seal } = options
  const [, , version, writtenAt, leafHash, body] = row
  const entry = seal.open(body, slotTextOf(slot)(version))
  const lone = createVersionCheck(slot)({ version, entry, leafHash, writtenAt })
  if (lone.kind === 'broken') return lone
  const record = readJournalEntry(entry ?? '')
  if (entry === undefined || record === undefined) return { kind: 'broken', fault: 'slot' }
  return { kind: 'holds', entry, record: recordOf(record) }
}

/** The slot that a chain's row names. */
export const slotOfChain = ([, patient, domain, audience]: WholeChainRow): ChainSlot => ({
  patient,
  domain,
  audience,
})

type Reads = Pick<RecordStore, 'latest' | 'version' | 'head' | 'heads' | 'changesSince'>

/** The reading half of the store. */
export function createSqliteReads(statements: RecordStatements, seal: BodySeal): Reads {
  return {
    latest: guarded(async (slot) => readLatest({ statements, seal, slot })),
    version: guarded(async (slot, version) => readVersion({ statements, seal, slot }, version)),
    head: guarded(async (slot) => {
      const chain = statements.chainByName.get(slot.patient, slot.domain)
      if (chain?.[1] !== slot.audience) return undefined
      const whole = statements.chainById.get(chain[0])
      return whole === undefined ? undefined : headOf({ statements, seal, slot }, whole)
    }),
    heads: guarded(async (query) =>
      chainsOf(statements, query).map((chain) =>
        headOf({ statements, seal, slot: slotOfChain(chain) }, chain),
      ),
    ),
    changesSince: guarded(async ({ patient, audiences, sinceIso, limit }) =>
      chainsOf(statements, { audiences, patient, limit: Number.MAX_SAFE_INTEGER })
        .flatMap((chain) => {
          const reading = { statements, seal, slot: slotOfChain(chain) }
          return changesOfChain(reading, { id: chain[0], sinceIso, limit })
        })
        .toSorted((left, right) => byText(left.writtenAt, right.writtenAt))
        .slice(0, limit),
    ),
  }
}

/** The first versions of a chain since a time that hold. Those that do not take no place: more rows are read for them. */
function changesOfChain(
  { statements, seal, slot }: SlotReading,
  query: { readonly id: number; readonly sinceIso: string; readonly limit: number },
): readonly CareRecord[] {
  const { id, sinceIso, limit } = query
  for (let rowsMax = limit; ; rowsMax *= 2) {
    const rows = statements.versions[slot.audience].since.all(id, sinceIso, rowsMax)
    const records = rows
      .map((row) => openVersion({ row, slot, seal }))
      .flatMap((opened) => (opened.kind === 'holds' ? [opened.record] : []))
    if (records.length >= limit || rows.length < rowsMax) return records
  }
}

const byText = (left: string, right: string): number => Number(left > right) - Number(left < right)

type SlotReading = {
  readonly statements: RecordStatements
  readonly seal: BodySeal
  readonly slot: ChainSlot
}

function readLatest({ statements, seal, slot }: SlotReading): ReadOutcome {
  const chain = statements.chainByName.get(slot.patient, slot.domain)
  if (chain?.[1] !== slot.audience) return { kind: 'absent' }
  const [id, , latestVersion, headHash] = chain
  const row = statements.versions[slot.audience].newest.get(id)
  if (row === undefined || row[2] !== latestVersion)
    return { kind: 'broken', version: Math.max(latestVersion, row?.[2] ?? 1) }
  const opened = openVersion({ row, slot, seal })
  if (opened.kind === 'broken' || opened.record.versionHash !== headHash)
    return { kind: 'broken', version: latestVersion }
  return linked({ statements, seal, slot }, { id, latestVersion, opened })
}

function readVersion({ statements, seal, slot }: SlotReading, version: number): ReadOutcome {
  const chain = statements.chainByName.get(slot.patient, slot.domain)
  if (chain?.[1] !== slot.audience || version < 1) return { kind: 'absent' }
  const [id, , latestVersion] = chain
  const row = statements.versions[slot.audience].byVersion.get(id, version)
  if (row === undefined)
    return version > latestVersion ? { kind: 'absent' } : { kind: 'broken', version }
  const opened = openVersion({ row, slot, seal })
  if (opened.kind === 'broken') return { kind: 'broken', version }
  return linked({ statements, seal, slot }, { id, latestVersion, opened })
}

/** The record at a leaf, where it holds. */
export function readLeaf(
  at: Omit<SlotReading, 'slot'> & { readonly audience: Audience; readonly leafIndex: number },
): CareRecord | undefined {
  const { statements, seal } = at
  const row = statements.versions[at.audience].byLeaf.get(at.leafIndex)
  const chain = row === undefined ? undefined : statements.chainById.get(row[1])
  if (row === undefined || chain === undefined) return undefined
  const opened = openVersion({ row, slot: slotOfChain(chain), seal })
  return opened.kind === 'holds' ? opened.record : undefined
}

const VERSION_HASH = /^[0-9a-f]{64}$/

/**
 * What a new version follows: the newest version that is stored, or, where that does not hold, what the chain's row says
 * of it. A chain that was tampered with still takes new versions, behind everything that is there.
 */
export function readTail(
  { statements, seal, slot }: SlotReading,
  chain: ChainRow | undefined,
): Pick<CareRecord, 'version' | 'versionHash'> {
  if (chain === undefined) return { version: 0, versionHash: GENESIS_PREV_HASH }
  const [id, , latestVersion, headHash] = chain
  const row = statements.versions[slot.audience].newest.get(id)
  const opened = row?.[2] === latestVersion ? openVersion({ row, slot, seal }) : undefined
  if (opened?.kind === 'holds') return opened.record
  const version = Math.max(latestVersion, row?.[2] ?? 0)
  return { version, versionHash: VERSION_HASH.test(headHash) ? headHash : GENESIS_PREV_HASH }
}

/** A version that names another hash than the version before it, where that one holds, is broken too. */
function linked(
  { statements, seal, slot }: SlotReading,
  found: {
    readonly id: number
    readonly latestVersion: number
    readonly opened: Extract<OpenedVersion, { kind: 'holds' }>
  },
): ReadOutcome {
  const { record } = found.opened
  const before = statements.versions[slot.audience].byVersion.get(found.id, record.version - 1)
  const previous = before === undefined ? undefined : openVersion({ row: before, slot, seal })
  if (previous?.kind === 'holds' && previous.record.versionHash !== record.prevHash)
    return { kind: 'broken', version: record.version }
  return { kind: 'found', record, latestVersion: found.latestVersion }
}

function chainsOf(
  statements: RecordStatements,
  query: {
    readonly audiences: readonly Audience[]
    readonly patient?: string | undefined
    readonly after?: number | undefined
    readonly limit: number
  },
): readonly WholeChainRow[] {
  const { audiences, patient, after = 0, limit } = query
  if (patient !== undefined)
    return statements.chainsOfPatient
      .all(patient)
      .filter(([id, , , audience]) => id > after && audiences.includes(audience))
      .slice(0, limit)
  return [...new Set(audiences)]
    .flatMap((audience) => statements.chainsAfter.all(audience, after, limit))
    .toSorted(([left], [right]) => left - right)
    .slice(0, limit)
}

function headOf({ statements, seal, slot }: SlotReading, chain: WholeChainRow): ChainHead {
  const [id, , , , latestVersion] = chain
  const row = statements.versions[slot.audience].newest.get(id)
  const opened = row === undefined ? undefined : openVersion({ row, slot, seal })
  const record = opened?.kind === 'holds' ? opened.record : undefined
  return {
    ...slot,
    latestVersion,
    // A broken version shows only the time that is kept beside it.
    writtenAt: record?.writtenAt ?? row?.[3] ?? '',
    priority: record?.priority,
    sequence: id,
  }
}

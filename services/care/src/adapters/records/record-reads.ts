// The reading half of the store: single versions, and lists. A read of a single chain is one statement, so it shows one moment.
// stored-record.ts turns rows into domain values.
import type { CareRecord } from '../../domain/care-record.ts'
import type { ChainsQuery, ErasedName, NamesQuery, RecordStore } from '../../domain/record-store.ts'
import type { Reach } from '../../domain/scopes.ts'
import { type ChainSlot, type NamedChain, normalSlot } from '../../wire/record-uri.ts'
import { type ChainSeals, chainName, namesOfChain } from '../keys/chain-keys.ts'
import { type FoundRow, foundChains, type RecordSource } from './record-sql.ts'
import {
  type ChainRow,
  type FoundChain,
  inByteOrder,
  isErased,
  namedChain,
  openHead,
  openLatest,
  readVersion,
  recordOfRow,
  slotOfChain,
  type VersionRow,
} from './stored-record.ts'

/** What a slot names: by its own spelling, which a chain of before C38 may have, or else by the normal form of its names. */
export async function findSpelled<Slot extends NamedChain, Found>(
  slot: Slot,
  find: (slot: Slot) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const found = await find(slot)
  const normal = normalSlot(slot)
  const isOther = normal.patient !== slot.patient || normal.domain !== slot.domain
  return found === undefined && isOther ? find(normal) : found
}

/** A chain that is stored, erased or not, and its three newest versions. */
export const findChain = (
  { ask, sql }: RecordSource,
  named: NamedChain,
): Promise<FoundChain | undefined> =>
  findSpelled(named, async ({ audience, domain, freed = 0, patient }) => {
    const values = [audience, patient, domain, freed]
    return foundChains(await ask<FoundRow>(sql.of[audience].newest, values))[0]
  })

/** A chain with one of its versions and the two before that. */
const findWithBefore = (
  { ask, sql }: RecordSource,
  named: NamedChain,
  number: number,
): Promise<FoundChain | undefined> =>
  findSpelled(named, async ({ audience, domain, freed = 0, patient }) => {
    const values = [audience, patient, domain, freed, number]
    return foundChains(await ask<FoundRow>(sql.of[audience].version, values))[0]
  })

/** The row of a version, erased or not. */
export async function findVersion(
  source: RecordSource,
  slot: NamedChain,
  number: number,
): Promise<VersionRow | undefined> {
  const found = await findWithBefore(source, slot, number)
  return found?.versions.find(([, , version]) => version === number)
}

/** The reading half of the store. Keys are asked for after rows: a version's key was there before it. */
export function createRecordReads(source: RecordSource, { sealFor }: Pick<ChainSeals, 'sealFor'>) {
  const { ask, sql } = source
  /** Where a chain was found; the way is the same for one that is not there (C30). */
  const findSeal = async ({ audience, domain, patient }: ChainSlot, found?: FoundChain) => {
    const slot =
      found === undefined
        ? { patient, domain, audience, turn: 0 }
        : { ...slotOfChain(found.chain), audience }
    return { slot, seal: await sealFor([chainName(slot)]) }
  }
  return {
    latest: async (slot) => {
      const found = await findChain(source, slot)
      return openLatest(found, await findSeal(slot, found))
    },
    version: async (slot, number) => {
      const found = await findWithBefore(source, slot, number)
      return readVersion(found, number, await findSeal(slot, found))
    },
    leafAt: async (audience, leaf) => {
      const [row] = await ask<readonly [number, string]>(sql.of[audience].leafAt, [leaf])
      return row && { leaf, place: row[0], hash: row[1] }
    },
    leaf: async (slot, version) => {
      const found = await findChain(source, slot)
      // For readers an erased chain does not exist.
      if (found === undefined || isErased(found.chain)) return undefined
      const row = await findVersion(source, slot, version ?? found.chain[4])
      return row && { index: row[0], hash: row[4] }
    },
    head: async (slot) => {
      const found = await findChain(source, slot)
      if (found === undefined || isErased(found.chain)) return undefined
      return openHead(found, (await findSeal(slot, found)).seal)
    },
    erased: () => erasedChains(source),
    freed: async () => (await ask<ChainRow>(sql.lastFreed)).map(namedChain),
    versions: (query) => readVersions(source, sealFor, query),
    heads: async (query) => {
      const rows = await withinReach<FoundRow>(source, 'heads', query)
      const chains = foundChains(rows)
      const seal = await sealFor(chains.map(({ chain }) => chainName(slotOfChain(chain))))
      const { wantsRecords = false } = query
      return chains.map((found) => {
        const [newest] = found.versions
        const head = openHead(found, seal)
        if (!wantsRecords) return head
        return { ...head, record: recordOfRow(newest, { slot: slotOfChain(found.chain), seal }) }
      })
    },
    changedChains: async (query) => {
      const rows = await withinReach<readonly [...ChainRow, number]>(source, 'changed', query)
      return rows.map((row) => {
        const [id, patient, domain, audience, latestVersion, , , , , , firstSince] = row
        return { patient, domain, audience, sequence: id, latestVersion, firstSince }
      })
    },
    names: (query) => readNames(source, query),
  } satisfies Partial<RecordStore>
}

/** Versions of a chain in order, by any spelling of its names. */
async function readVersions(
  { ask, sql }: RecordSource,
  sealFor: ChainSeals['sealFor'],
  { slot, after, limit }: Parameters<RecordStore['versions']>[0],
): Promise<readonly CareRecord[]> {
  type Row = readonly [...VersionRow, turn: number]
  const found = await findSpelled(slot, async (named) => {
    const values = [named.audience, named.patient, named.domain, after, limit]
    const listed = await ask<Row>(sql.of[named.audience].chainVersions, values)
    return listed.length === 0 ? undefined : { listed, named }
  })
  const { listed: rows, named: chain } = found ?? { listed: [], named: slot }
  const { audience, domain, patient } = chain
  const at = { patient, domain, audience, turn: rows[0]?.[6] ?? 0 }
  const seal = await sealFor([chainName(at)])
  return rows.flatMap(
    ([...row]) => recordOfRow(row.slice(0, 6) as unknown as VersionRow, { slot: at, seal }) ?? [],
  )
}

/** Chains by their numbers, for reports. */
export const createChainList = ({ ask, sql }: RecordSource) =>
  ({
    chains: async ({ after, audience, limit, patient }) => {
      const { named, namedOfPatient } = sql.of[audience]
      const chains = await (patient === undefined
        ? ask<ChainRow>(named, [audience, after, limit])
        : ask<ChainRow>(namedOfPatient, [audience, after, limit, patient]))
      return chains.map((chain) => ({ number: chain[0], slot: namedChain(chain) }))
    },
    countFrees: async (audience) => {
      const [row] = await ask<readonly [number]>(sql.countFrees, [audience])
      return row?.[0] ?? 0
    },
    lastChain: async (audience) => {
      const [last] = await ask<readonly [number]>(sql.of[audience].lastChain, [audience])
      return last?.[0] ?? 0
    },
  }) satisfies Partial<RecordStore>

/** Chains whose key was destroyed, but for those that were moved aside since. */
async function erasedChains({ ask, sql }: RecordSource): Promise<readonly ErasedName[]> {
  type Row = readonly [patient: string, domain: string, turn: number]
  const turns = new Map(
    (await ask<Row>(sql.turns)).map(([patient, domain, turn]) => [`${patient}|${domain}`, turn]),
  )
  return (await ask<readonly [string]>('SELECT chain FROM erasures'))
    .map(([chain]) => namesOfChain(chain))
    .filter(({ domain, patient, turn }) => turn >= (turns.get(`${patient}|${domain}`) ?? 0))
}

/**
 * Chains in order of creation: each part of a reach gives its first ones, and the first of those are taken. A chain made after
 * the first part was read is left out, since an earlier one may be missing.
 */
async function withinReach<Row extends readonly [number, ...unknown[]]>(
  { ask, sql }: RecordSource,
  which: 'heads' | 'changed',
  query: ChainsQuery & { readonly sinceIso?: string },
): Promise<readonly Row[]> {
  const { after = 0, limit, reach, sinceIso } = query
  const parts = reach.map(({ audience, patient }) => {
    const { all, ofPatient } = sql.of[audience]
    const text = (patient === undefined ? all : ofPatient)[which]
    const more = [sinceIso, patient].filter((value) => value !== undefined)
    return () => ask<Row>(text, [audience, after, limit, ...more])
  })
  const [alone] = parts
  if (parts.length === 1 && alone !== undefined) return alone()
  const [newest] = await ask<readonly [number]>('SELECT coalesce(max(id), 0) FROM chains')
  const found = await Promise.all(parts.map(async (part) => part()))
  return found
    .flat()
    .filter(([id]) => id <= (newest?.[0] ?? 0))
    .toSorted(([left], [right]) => left - right)
    .slice(0, limit)
}

async function readNames(
  { ask, sql }: RecordSource,
  { limit, nameKind: field, prefix, reach }: NamesQuery,
): Promise<readonly string[]> {
  const { all, ofPatient } = sql.names[field]
  const namesIn = async ({ audience, patient }: Reach): Promise<readonly string[]> => {
    if (patient === undefined)
      return (await ask<readonly [string]>(all, [audience, prefix, limit])).flat()
    if (field === 'patient' && !patient.startsWith(prefix)) return []
    const from = field === 'patient' ? patient : prefix
    return (await ask<readonly [string]>(ofPatient, [audience, from, limit, patient])).flat()
  }
  return inByteOrder((await Promise.all(reach.map(namesIn))).flat()).slice(0, limit)
}

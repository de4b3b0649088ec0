// RecordReads of single versions and of lists, on SQLite. What rows are to the domain, stored-record.ts says.
import type { BodySeal } from '@tallystick/journal-store'
import type { CareRecord } from '../domain/care-record.ts'
import type {
  ChangedChain,
  NamesQuery,
  RecordStore,
  WrittenVersion,
} from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { namesOfChain } from './chain-keys-file.ts'
import { guarded } from './sqlite-record-database.ts'
import type { RecordStatements } from './sqlite-statements.ts'
import {
  type ChainRow,
  headOf,
  inByteOrder,
  isErased,
  latestOf,
  markOf,
  patientsWithin,
  type RecordReads,
  recordOfRow,
  slotOfChain,
  type Tail,
  tailOf,
  type VersionRow,
  versionOf,
  type WholeChainRow,
} from './stored-record.ts'

type Stored = { readonly statements: RecordStatements; readonly seal: BodySeal }

/** The reading half of the store. */
export function createSqliteReads(stored: Stored): RecordReads {
  const { seal, statements } = stored
  /** To readers an erased chain is not there. */
  const chainOf = ({ audience, domain, patient }: ChainSlot): ChainRow | undefined => {
    const chain = statements.chainBySlot.get(audience, patient, domain)
    return chain === undefined || isErased(chain) ? undefined : chain
  }
  const versionsOf = ({ audience }: ChainSlot, chain: ChainRow | undefined) => {
    const id = chain?.[0] ?? 0
    return (version: number): VersionRow | undefined =>
      statements.versions[audience].byVersion.get(id, version)
  }
  return {
    latest: guarded(async (slot) => {
      const chain = chainOf(slot)
      const newest = statements.versions[slot.audience].newest.get(chain?.[0] ?? 0)
      return latestOf(chain, { newest, version: versionsOf(slot, chain) }, { slot, seal })
    }),
    version: guarded(async (slot, number) => {
      const chain = chainOf(slot)
      return versionOf(chain, { number, version: versionsOf(slot, chain) }, { slot, seal })
    }),
    erased: guarded(async () => statements.erased.all().map(([chain]) => namesOfChain(chain))),
    versions: guarded(async ({ slot, after, limit }) => {
      const id = chainOf(slot)?.[0] ?? 0
      return statements.versions[slot.audience].chainAfter
        .all(id, after, Number.MAX_SAFE_INTEGER, limit)
        .flatMap((row) => recordOfRow(row, { slot, seal }) ?? [])
    }),
    head: guarded(async (slot) => {
      const chain = chainOf(slot)
      const whole = chain === undefined ? undefined : statements.chainById.get(chain[0])
      if (whole === undefined) return undefined
      return headOf(whole, statements.versions[slot.audience].newest.get(whole[0]), seal)
    }),
    heads: guarded(async (query) =>
      headsOf(statements, query).map(({ chain, newest }) => headOf(chain, newest, seal)),
    ),
    names: guarded(async (query) => namesOf(statements, query)),
    changedChains: guarded(async (query) => changedChainsOf(statements, query)),
    written: guarded(async (query) => writtenOf(statements, query)),
  }
}

type ChainQuery = Parameters<RecordStore['heads']>[0]

/** As `chainsOf`, with each chain's newest version. */
function headsOf(
  { versions }: RecordStatements,
  { reach, after = 0, limit }: ChainQuery,
): readonly { readonly chain: WholeChainRow; readonly newest: VersionRow | undefined }[] {
  return reach
    .flatMap(({ audience, patient }) =>
      patient === undefined
        ? versions[audience].listedAfter(audience, after, limit)
        : versions[audience].listedOfPatient(audience, patient, after, limit),
    )
    .toSorted((left, right) => left.chain[0] - right.chain[0])
    .slice(0, limit)
}

/** Chains in order of creation: each part of a reach gives its first ones, and the first of those are taken. */
function chainsOf(
  { chainsOfPatient, listedAfter }: RecordStatements,
  { reach, after = 0, limit }: ChainQuery,
): readonly WholeChainRow[] {
  return reach
    .flatMap(({ audience, patient }) =>
      patient === undefined
        ? listedAfter.all(audience, after, limit)
        : chainsOfPatient.all(audience, patient, after, limit),
    )
    .toSorted(([left], [right]) => left - right)
    .slice(0, limit)
}

/** Names by steps in an index, each to the next name. */
function namesOf(statements: RecordStatements, query: NamesQuery): readonly string[] {
  const { limit, of, prefix, reach } = query
  const { domain, domainOfPatient, patient } = statements.names
  const found = reach.flatMap((one) => {
    if (one.patient === undefined)
      return walkNames(of === 'patient' ? patient : domain, [one.audience], query)
    if (of === 'domain') return walkNames(domainOfPatient, [one.audience, one.patient], query)
    const isThere =
      one.patient.startsWith(prefix) &&
      statements.hasPatient.get(one.audience, one.patient) !== undefined
    return isThere ? [one.patient] : []
  })
  return inByteOrder(found).slice(0, limit)
}

function walkNames(
  { after, from }: RecordStatements['names']['patient'],
  values: readonly string[],
  { limit, prefix }: NamesQuery,
): readonly string[] {
  const found: string[] = []
  let name = from.get(...values, prefix)?.[0]
  // Names that start with a text stand next to each other.
  while (name != null && name.startsWith(prefix) && found.length < limit) {
    found.push(name)
    name = after.get(...values, name)?.[0]
  }
  return found
}

/** The versions behind one: by the order of leaves, or by the chains of each patient of a narrowed reach. */
function writtenOf(
  { chainBySlot, versions }: RecordStatements,
  { audience, behind, limit, reach }: Parameters<RecordStore['written']>[0],
): readonly WrittenVersion[] | undefined {
  const { byVersion, written, writtenOfPatient } = versions[audience]
  let after = -1
  if (behind !== undefined) {
    const chain = chainBySlot.get(audience, behind.patient, behind.domain)
    const row = byVersion.get(chain?.[0] ?? 0, behind.version)
    if (row === undefined || markOf(row[4]) !== behind.mark) return undefined
    after = row[0]
  }
  const patients = patientsWithin(reach, audience)
  const rows =
    patients === undefined
      ? written.all(after, limit)
      : patients
          .flatMap((patient) => writtenOfPatient.all(patient, after, limit))
          .toSorted(([left], [right]) => left - right)
          .slice(0, limit)
  return rows.map(([, patient, domain, version, leafHash]) => ({
    patient,
    domain,
    audience,
    version,
    mark: markOf(leafHash),
  }))
}

/** Chains looked at in one go, for those that changed. */
const CHAINS_PER_LOOK = 256

function changedChainsOf(
  statements: RecordStatements,
  { reach, sinceIso, after = 0, limit }: Parameters<RecordStore['changedChains']>[0],
): readonly ChangedChain[] {
  const changed: ChangedChain[] = []
  for (let last: number | undefined = after; last !== undefined && changed.length < limit; ) {
    const chains = chainsOf(statements, { reach, after: last, limit: CHAINS_PER_LOOK })
    for (const chain of chains) {
      const [sequence, , , audience, latestVersion] = chain
      const firstSince = statements.versions[audience].firstSince.get(sequence, sinceIso)?.[0]
      if (firstSince != null)
        changed.push({ ...slotOfChain(chain), sequence, latestVersion, firstSince })
    }
    last = chains.at(-1)?.[0]
  }
  return changed.slice(0, limit)
}

/** The record at a leaf, where it holds. */
export function readLeaf(
  { statements, seal }: Stored,
  { audience, leafIndex }: { readonly audience: Audience; readonly leafIndex: number },
): CareRecord | undefined {
  const row = statements.versions[audience].byLeaf.get(leafIndex)
  const chain = row === undefined ? undefined : statements.chainById.get(row[1])
  return chain === undefined ? undefined : recordOfRow(row, { slot: slotOfChain(chain), seal })
}

/** What a new version of a chain follows. */
export function readTail(
  { statements, seal }: Stored,
  slot: ChainSlot,
  chain: ChainRow | undefined,
): Tail {
  const newest =
    chain === undefined ? undefined : statements.versions[slot.audience].newest.get(chain[0])
  return tailOf(chain, newest, { slot, seal })
}

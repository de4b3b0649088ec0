// Reads of single versions and of lists, on SQLite. What rows are to the domain, stored-record.ts says.
import type { BodySeal } from '@tallystick/journal-store'
import type { CareRecord } from '../domain/care-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { guarded } from './sqlite-record-database.ts'
import type { RecordStatements } from './sqlite-statements.ts'
import {
  byTime,
  type ChainRow,
  type FoundVersion,
  headOf,
  latestOf,
  recordOfRow,
  slotOfChain,
  type Tail,
  tailOf,
  type VersionRow,
  versionOf,
  type WholeChainRow,
} from './stored-record.ts'

type Reads = Pick<RecordStore, 'latest' | 'version' | 'head' | 'heads' | 'changesSince'>

type Stored = { readonly statements: RecordStatements; readonly seal: BodySeal }

/** The reading half of the store. */
export function createSqliteReads(stored: Stored): Reads {
  const { seal, statements } = stored
  const chainOf = ({ patient, domain }: ChainSlot): ChainRow | undefined =>
    statements.chainByName.get(patient, domain)
  const versionsOf = ({ audience }: ChainSlot, chain: ChainRow | undefined) => {
    const id = chain?.[0] ?? 0
    return (version: number): VersionRow | undefined =>
      statements.versions[audience].byVersion.get(id, version)
  }
  const headOfChain = (chain: WholeChainRow) =>
    headOf(chain, statements.versions[chain[3]].newest.get(chain[0]), seal)
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
    head: guarded(async (slot) => {
      const chain = chainOf(slot)
      if (chain?.[1] !== slot.audience) return undefined
      const whole = statements.chainById.get(chain[0])
      return whole === undefined ? undefined : headOfChain(whole)
    }),
    heads: guarded(async (query) => chainsOf(statements, query).map(headOfChain)),
    changesSince: guarded(async ({ patient, audiences, sinceIso, limit }) =>
      chainsOf(statements, { audiences, patient, limit: Number.MAX_SAFE_INTEGER })
        .flatMap((chain) => changesOfChain(stored, chain, { sinceIso, limit }))
        .toSorted(byTime)
        .slice(0, limit)
        .map(({ record }) => record),
    ),
  }
}

type Change = FoundVersion & { readonly record: CareRecord }

/** The first versions of a chain since a time that hold. Those that do not take no place: more rows are read for them. */
function changesOfChain(
  { statements, seal }: Stored,
  chain: WholeChainRow,
  { sinceIso, limit }: { readonly sinceIso: string; readonly limit: number },
): readonly Change[] {
  const slot = slotOfChain(chain)
  for (let rowsMax = limit; ; rowsMax *= 2) {
    const rows = statements.versions[slot.audience].since.all(chain[0], sinceIso, rowsMax)
    const changes = rows.flatMap((row) => {
      const record = recordOfRow(row, { slot, seal })
      return record === undefined ? [] : [{ chain, row, record }]
    })
    if (changes.length >= limit || rows.length < rowsMax) return changes
  }
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

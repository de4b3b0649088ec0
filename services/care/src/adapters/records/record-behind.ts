// Versions behind a place in the order of all commits. A version's place is the number of versions of both audiences before it:
// every append locks both journals' heads. Each part of a reach is read by itself, up to a place before which everything is
// committed, so that what is merged has no gap.
import {
  type PlacedVersion,
  placeBehind,
  type RecordStore,
  type Revision,
} from '../../domain/record-store.ts'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import { type BodySeal, type ChainSeals, chainName } from '../keys/chain-keys.ts'
import { CHAIN_CELLS, type RecordSource, type RevisionRow, VERSION_CELLS } from './record-sql.ts'
import {
  type ChainRow,
  isErased,
  recordOfRow,
  slotOfChain,
  type VersionRow,
} from './stored-record.ts'

type PlacedRow = readonly [
  place: number,
  leaf: number,
  patient: string,
  domain: string,
  version: number,
  changesList: number,
]

/** Before any time that a version may have. */
const BEGINNING = ''

const placedIn = (audience: Audience, rows: readonly PlacedRow[]): readonly PlacedVersion[] =>
  rows.map(([place, leaf, patient, domain, version, changesList]) => ({
    patient,
    domain,
    audience,
    version,
    place,
    leaf,
    changesList: changesList === 1,
  }))

async function mergeInOrder(
  parts: readonly Promise<readonly PlacedVersion[]>[],
  limit: number,
): Promise<readonly PlacedVersion[]> {
  const found = (await Promise.all(parts)).flat()
  return found.toSorted((left, right) => left.place - right.place).slice(0, limit)
}

/** What a version says, if it holds, and is linked to the one before it if that holds. */
function readRevision(row: RevisionRow, seal: BodySeal): Revision | undefined {
  const beforeAt = CHAIN_CELLS + VERSION_CELLS
  const chain = row.slice(0, CHAIN_CELLS) as unknown as ChainRow
  if (isErased(chain)) return undefined
  const at = { slot: slotOfChain(chain), seal }
  const record = recordOfRow(row.slice(CHAIN_CELLS, beforeAt) as unknown as VersionRow, at)
  const before = row[beforeAt] === null ? undefined : row.slice(beforeAt)
  const previous = recordOfRow(before as unknown as VersionRow | undefined, at)
  const isLinked = previous === undefined || previous.versionHash === record?.prevHash
  return record === undefined || !isLinked ? undefined : { record, previous }
}

/** The reads of a store in the order of all commits. */
export function createBehindReads(
  { ask, sql }: RecordSource,
  {
    journals,
    seals,
  }: { readonly seals: ChainSeals; readonly journals: Parameters<typeof placeBehind>[0] },
) {
  /** Nothing that is not known to be committed: what comes before it might be missing. */
  const clipEnd = (to = Number.POSITIVE_INFINITY): number => Math.min(to, placeBehind(journals))
  return {
    behind: async (query) => {
      const { domain, from, isListChange, isNewest, limit, reach, sinceIso = BEGINNING, to } = query
      const values = [from, clipEnd(to), sinceIso, limit]
      const parts = reach.map(async ({ audience, patient }) => {
        const { listChanges, newestListChanges, written } = sql.of[audience].behind
        const changes = isNewest === true ? newestListChanges : listChanges
        const texts = isListChange === true ? changes : written
        if (patient === undefined)
          return placedIn(audience, await ask<PlacedRow>(texts.all, values))
        if (domain === undefined || isListChange === true)
          return placedIn(audience, await ask<PlacedRow>(texts.ofPatient, [...values, patient]))
        const ofTopic = [...values, patient, domain]
        return placedIn(audience, await ask<PlacedRow>(written.ofTopic, ofTopic))
      })
      return mergeInOrder(parts, limit)
    },
    behindInTopics: async ({ isNewest, limit, to, topics }) => {
      const end = clipEnd(to)
      const parts = AUDIENCES.map(async (audience) => {
        const { newestOfTopics, ofTopics } = sql.of[audience].behind
        const rows = topics
          .filter((topic) => topic.audience === audience)
          .map(({ domain, from, patient }) => [patient, domain, from, end])
        if (rows.length === 0) return []
        const text = isNewest === true ? newestOfTopics : ofTopics
        return placedIn(audience, await ask<PlacedRow>(text, [...sql.list(rows), limit]))
      })
      return mergeInOrder(parts, isNewest === true ? Number.POSITIVE_INFINITY : limit)
    },
    freesBehind: async (from, to) => {
      type Row = readonly [number, number, string, string, Audience, string | null]
      const rows = await ask<Row>(sql.freesBehind, [from, to])
      return rows.map(([user, assistant, patient, domain, audience, erased]) => {
        const slot = { patient, domain, audience }
        return { ...slot, user, assistant, isErased: erased !== null }
      })
    },
    revisions: async (placed) => {
      const rows = await Promise.all(
        AUDIENCES.map(async (audience) => {
          const leaves = placed.filter((row) => row.audience === audience).map(({ leaf }) => [leaf])
          if (leaves.length === 0) return []
          return ask<RevisionRow>(sql.of[audience].revisions, sql.list(leaves))
        }),
      )
      const chains = rows.flat().map((row) => row.slice(0, CHAIN_CELLS) as unknown as ChainRow)
      const seal = await seals.sealFor([
        ...new Set(chains.map((chain) => chainName(slotOfChain(chain)))),
      ])
      const byLeaf = new Map(
        AUDIENCES.flatMap((audience, at) =>
          (rows[at] ?? []).map((row) => [
            `${audience} ${Number(row[CHAIN_CELLS])}`,
            readRevision(row, seal),
          ]),
        ),
      )
      return placed.map(({ audience, leaf }) => byLeaf.get(`${audience} ${leaf}`))
    },
  } satisfies Partial<RecordStore>
}

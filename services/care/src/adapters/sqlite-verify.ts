// The replay of chains from stored bytes. Without a chain to look at, a journal is read once from its first leaf to its
// last, which is how the bytes lie on the disk, and every chain is replayed along the way. Work is cut into slices, and the
// event loop belongs to others between them; appends that come meanwhile are taken in when their chain is judged.

import { type BodySeal, sealReceipt } from '@tallystick/journal-store'
import type { ChainVerification, RecordStore } from '../domain/record-store.ts'
import { createStoredChainReplay, type StoredChainReplay } from '../domain/verify-chain.ts'
import { type ChainSlot, chainUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { slotOfChain } from './sqlite-reads.ts'
import { slotTextOf } from './sqlite-record-database.ts'
import type { RecordStatements, VersionRow, WholeChainRow } from './sqlite-statements.ts'

/** Versions in a slice: half a millisecond in the clear and two sealed, of the 50 ms that a slice may take; fewer cost speed. */
const SLICE_VERSIONS = 256
/** Stored bytes in a slice, where values are large. */
const SLICE_BYTES_MAX = 2_000_000
/** Chains judged in a slice; each takes one look at its row and its newest version. */
const SLICE_CHAINS = 256

/** Where verification reads. */
export type VerifySource = {
  readonly statements: RecordStatements
  readonly seal: BodySeal
  /** Entries committed to a journal. */
  readonly journalSize: (audience: Audience) => number
}

type ChainState = {
  readonly replay: StoredChainReplay
  readonly slotText: (version: number) => string
  lastVersion: number
}

/** Lets other work run. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

const stateOf = (slot: ChainSlot): ChainState => ({
  replay: createStoredChainReplay(slot),
  slotText: slotTextOf(slot),
  lastVersion: 0,
})

function take(state: ChainState, row: VersionRow, seal: BodySeal): void {
  const [, , version, writtenAt, leafHash, body] = row
  const entry = typeof body === 'string' ? body : seal.open(body, state.slotText(version))
  state.replay.add({ version, entry, leafHash, writtenAt })
  state.lastVersion = version
}

/** The end (exclusive) of a slice of leaves that is neither long nor heavy. */
export function sliceEnd(
  source: VerifySource,
  {
    audience,
    from,
    to,
  }: { readonly audience: Audience; readonly from: number; readonly to: number },
): number {
  const { leafRangeBytes } = source.statements.versions[audience]
  let end = Math.min(from + SLICE_VERSIONS, to)
  while (end > from + 1 && (leafRangeBytes.get(from, end)?.[0] ?? 0) > SLICE_BYTES_MAX)
    end = from + Math.ceil((end - from) / 4)
  return end
}

/** The verifying half of the store. */
export async function* verifyChains(
  source: VerifySource,
  query: Parameters<RecordStore['verify']>[0],
): AsyncGenerator<ChainVerification> {
  const { slot } = query
  for (const audience of new Set(query.audiences)) {
    if (slot === undefined) yield* verifyJournal(source, audience)
    else if (slot.audience === audience) yield* verifyOne(source, slot)
  }
}

async function* verifyJournal(
  source: VerifySource,
  audience: Audience,
): AsyncGenerator<ChainVerification> {
  const to = source.journalSize(audience)
  const states = new Map<number, ChainState>()
  const strays: VersionRow[] = []
  for (let from = 0; from < to; ) {
    const end = sliceEnd(source, { audience, from, to })
    for (const row of source.statements.versions[audience].leafRange.all(from, end)) {
      const state = states.get(row[1]) ?? addState({ source, states, audience, id: row[1] })
      if (state === undefined) strays.push(row)
      else take(state, row, source.seal)
    }
    from = end
    await nextTurn()
  }
  for (let after = 0; ; ) {
    const chains = source.statements.chainsAfter.all(audience, after, SLICE_CHAINS)
    for (const chain of chains)
      yield judge({ source, chain, state: states.get(chain[0]) ?? stateOf(slotOfChain(chain)) })
    const last = chains.at(-1)
    if (last === undefined) break
    after = last[0]
    await nextTurn()
  }
  yield* strays.map((row) => judgeStray(row, audience))
}

function addState(options: {
  readonly source: VerifySource
  readonly states: Map<number, ChainState>
  readonly audience: Audience
  readonly id: number
}): ChainState | undefined {
  const { source, states, audience, id } = options
  const chain = source.statements.chainById.get(id)
  if (chain?.[3] !== audience) return undefined
  const state = stateOf(slotOfChain(chain))
  states.set(id, state)
  return state
}

async function* verifyOne(
  source: VerifySource,
  slot: ChainSlot,
): AsyncGenerator<ChainVerification> {
  const named = source.statements.chainByName.get(slot.patient, slot.domain)
  if (named?.[1] !== slot.audience) return
  const [id] = named
  const { chainAfter, byVersion } = source.statements.versions[slot.audience]
  const state = stateOf(slot)
  for (let isMore = true; isMore; ) {
    // Large values are looked at one by one.
    const next = byVersion.get(id, state.lastVersion + 1)
    const isLarge = sizeOf(next?.[5]) > SLICE_BYTES_MAX / SLICE_VERSIONS
    const limit = isLarge ? 8 : SLICE_VERSIONS
    const rows = chainAfter.all(id, state.lastVersion, limit)
    for (const row of rows) take(state, row, source.seal)
    isMore = rows.length === limit
    await nextTurn()
  }
  const chain = source.statements.chainById.get(id)
  if (chain !== undefined) yield judge({ source, chain, state })
}

const sizeOf = (body: unknown): number =>
  typeof body === 'string' || body instanceof Uint8Array ? Buffer.byteLength(body) : 0

/** Ends a chain's replay in one turn with the reading of its row, after what was appended meanwhile. */
function judge(options: {
  readonly source: VerifySource
  readonly chain: WholeChainRow
  readonly state: ChainState
}): ChainVerification {
  const { source, chain, state } = options
  const [id, , , audience, latestVersion, headHash] = chain
  const slot = slotOfChain(chain)
  const { chainAfter, newest } = source.statements.versions[audience]
  if (state.lastVersion !== latestVersion)
    for (const row of chainAfter.all(id, state.lastVersion, Number.MAX_SAFE_INTEGER))
      take(state, row, source.seal)
  const verdict = state.replay.end({ version: latestVersion, versionHash: headHash })
  const body = newest.get(id)?.[5]
  return verdictOf({ slot, body, ...verdict })
}

function verdictOf(found: {
  readonly slot: ChainSlot
  readonly body: unknown
  readonly versions: number
  readonly broken?: { readonly version: number }
}): ChainVerification {
  const { slot, body, versions, broken } = found
  return {
    slot,
    versions,
    intact: broken === undefined,
    ...(broken === undefined ? {} : { brokenAt: broken.version }),
    receipt: { uri: chainUri(slot), ...sealReceipt(body), storedBytes: sizeOf(body) },
  }
}

/** A version that belongs to no chain of its audience: its chain's row was taken away or turned into another's. */
function judgeStray(
  [, chain, version, , , body]: VersionRow,
  audience: Audience,
): ChainVerification {
  const slot: ChainSlot = { patient: 'stray', domain: `chain-${chain}`, audience }
  return verdictOf({ slot, body, versions: 1, broken: { version } })
}

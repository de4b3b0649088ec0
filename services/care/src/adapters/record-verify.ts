// The replay of chains from stored bytes. Without a chain to look at, a journal is read once from its first leaf to its
// last, which is how the bytes lie on the disk, and every chain is replayed along the way. Work is cut into slices, and the
// event loop belongs to others between them; appends that come meanwhile are taken in when their chain is judged.

import type { BodySeal } from '@tallystick/journal-store'
import type { ChainVerification, RecordStore } from '../domain/record-store.ts'
import {
  createErasedChainReplay,
  createStoredChainReplay,
  type KnownPart,
  type StoredChainReplay,
} from '../domain/verify-chain.ts'
import { type ChainSlot, chainUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import {
  createRests,
  nextTurn,
  SLICE_BYTES_MAX,
  SLICE_VERSIONS,
  sliceEnd,
  type VerifySource,
} from './record-rows.ts'
import {
  type ChainRow,
  isErased as isErasedChain,
  recordOfRow,
  slotOfChain,
  slotTextOf,
  type VersionRow,
} from './stored-record.ts'

/** Chains judged in a slice; each takes one look at its row and its newest version. */
const SLICE_CHAINS = 256
/** Versions in a slice where values are large. */
const SLICE_LARGE = 8

type ChainState = {
  readonly replay: StoredChainReplay
  readonly isErased: boolean
  readonly slotText: (version: number) => string
  lastVersion: number
}

const stateOf = (slot: ChainSlot, known?: KnownPart): ChainState => ({
  replay: createStoredChainReplay(slot, known),
  isErased: false,
  slotText: slotTextOf(slot),
  lastVersion: known?.versions ?? 0,
})

/** Of an erased chain only the leaves are replayed. */
const erasedStateOf = (slot: ChainSlot, erasedLeaves: string): ChainState => ({
  replay: createErasedChainReplay(erasedLeaves),
  isErased: true,
  slotText: slotTextOf(slot),
  lastVersion: 0,
})

const stateOfChain = (chain: ChainRow): ChainState =>
  chain[6] === null ? stateOf(slotOfChain(chain)) : erasedStateOf(slotOfChain(chain), chain[6])

function take(state: ChainState, row: VersionRow, seal: BodySeal): void {
  const [, , version, writtenAt, leafHash, body] = row
  const entry = typeof body === 'string' ? body : seal.open(body, state.slotText(version))
  state.replay.add({ version, entry, leafHash, writtenAt })
  state.lastVersion = version
}

/** The verifying half of a store. */
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
  const { rows } = source
  const to = source.journalSize(audience)
  const rest = createRests(() => source.journalSize(audience))
  const states = new Map<number, ChainState>()
  const strays: VersionRow[] = []
  for (let from = 0; from < to; ) {
    const end = await sliceEnd(rows, { audience, from, to })
    const slice = await rows.leaves({ audience, from, to: end })
    await addStates(source, { states, audience, slice })
    for (const row of slice) {
      const state = states.get(row[1])
      if (state === undefined) strays.push(row)
      else take(state, row, source.seal)
    }
    from = end
    await rest()
  }
  for (let after = 0; ; ) {
    const chains = await rows.chainsAfter(audience, { after, limit: SLICE_CHAINS })
    for (const { chain, versions } of chains) {
      const state = states.get(chain[0]) ?? stateOfChain(chain)
      yield judge(source, { chain, state, body: versions[0]?.[5] })
    }
    const last = chains.at(-1)
    if (last === undefined) break
    after = last.chain[0]
    await rest()
  }
  yield* strays.map((row) => judgeStray(source, row, audience))
}

/** Begins the replay of chains that a slice is the first to hold a version of. */
async function addStates(
  { rows }: VerifySource,
  of: {
    readonly states: Map<number, ChainState>
    readonly audience: Audience
    readonly slice: readonly VersionRow[]
  },
): Promise<void> {
  const { audience, slice, states } = of
  const unknown = new Set(slice.map(([, chain]) => chain).filter((chain) => !states.has(chain)))
  if (unknown.size === 0) return
  for (const [id, chain] of await rows.chains([...unknown]))
    if (chain[3] === audience) states.set(id, stateOfChain(chain))
}

/** Verdicts on the chains that gained versions with some leaves, replayed from what is known of them on. */
export async function* verifyAdded(
  source: VerifySource,
  { audience, from, to, known }: Parameters<RecordStore['verifyAdded']>[0],
): AsyncGenerator<ChainVerification> {
  const { rows } = source
  for (let at = from; at < to; ) {
    const end = await sliceEnd(rows, { audience, from: at, to })
    const slice = await rows.leaves({ audience, from: at, to: end })
    const chains = await rows.chains([...new Set(slice.map(([, chain]) => chain))])
    for (const chain of chains.values()) {
      const slot = slotOfChain(chain)
      if (slot.audience === audience) yield* verifyOne(source, slot, known(slot))
    }
    at = end
    await nextTurn()
  }
}

/** What is known of a chain, if the last version of it still holds by itself. */
async function knownPart(
  { rows, seal }: VerifySource,
  of: { readonly id: number; readonly slot: ChainSlot; readonly known: ChainVerification },
): Promise<KnownPart | undefined> {
  const { id, slot, known } = of
  const { intact, versions } = known
  if (!intact) return undefined
  const range = {
    audience: slot.audience,
    chain: id,
    after: versions - 1,
    upTo: versions,
    limit: 1,
  }
  const [row] = await rows.versions(range)
  const record = recordOfRow(row, { slot, seal })
  return record === undefined ? undefined : { versions, headHash: record.versionHash }
}

async function* verifyOne(
  source: VerifySource,
  slot: ChainSlot,
  known?: ChainVerification,
): AsyncGenerator<ChainVerification> {
  const { rows, seal } = source
  const { audience } = slot
  const named = await rows.found(slot)
  if (named === undefined) return
  const { chain } = named
  const [id] = chain
  const state = isErasedChain(chain)
    ? stateOfChain(chain)
    : stateOf(slot, known && (await knownPart(source, { id, slot, known })))
  let limit = SLICE_LARGE
  for (let isMore = true; isMore; ) {
    const range = { after: state.lastVersion, upTo: Number.MAX_SAFE_INTEGER, limit }
    const slice = await rows.versions({ audience, chain: id, ...range })
    for (const row of slice) take(state, row, seal)
    isMore = slice.length === limit
    const isLarge = slice.some((row) => sizeOf(row[5]) > SLICE_BYTES_MAX / SLICE_VERSIONS)
    limit = isLarge ? SLICE_LARGE : SLICE_VERSIONS
    await nextTurn()
  }
  const now = await rows.found(slot)
  if (now !== undefined)
    yield await judge(source, { chain: now.chain, state, body: now.versions[0]?.[5] })
}

const sizeOf = (body: unknown): number =>
  typeof body === 'string' || body instanceof Uint8Array ? Buffer.byteLength(body) : 0

/** Ends a chain's replay by what its row says now, after the versions up to there that were appended meanwhile. */
async function judge(
  source: VerifySource,
  of: { readonly chain: ChainRow; readonly state: ChainState; readonly body: unknown },
): Promise<ChainVerification> {
  const { rows, seal } = source
  const { body, chain } = of
  const [id, , , audience, latestVersion, headHash] = chain
  // If it was erased during its replay, the replay starts again.
  const state = of.state.isErased === isErasedChain(chain) ? of.state : stateOfChain(chain)
  if (state.lastVersion < latestVersion) {
    const after = { after: state.lastVersion, upTo: latestVersion, limit: Number.MAX_SAFE_INTEGER }
    for (const row of await rows.versions({ audience, chain: id, ...after })) take(state, row, seal)
  }
  const verdict = state.replay.end({ version: latestVersion, versionHash: headHash })
  return verdictOf(source, {
    slot: slotOfChain(chain),
    body,
    isErased: isErasedChain(chain),
    ...verdict,
  })
}

function verdictOf(
  { receipt }: VerifySource,
  found: {
    readonly slot: ChainSlot
    readonly body: unknown
    readonly isErased: boolean
    readonly versions: number
    readonly broken?: { readonly version: number }
  },
): ChainVerification {
  const { slot, body, isErased, versions, broken } = found
  return {
    slot,
    versions,
    intact: broken === undefined,
    ...(broken === undefined ? {} : { brokenAt: broken.version }),
    ...(isErased ? { erased: versions } : {}),
    receipt: { uri: chainUri(slot), ...receipt(body), storedBytes: sizeOf(body) },
  }
}

/** A version that belongs to no chain of its audience: its chain's row was taken away or turned into another's. */
function judgeStray(
  source: VerifySource,
  [, chain, version, , , body]: VersionRow,
  audience: Audience,
): ChainVerification {
  const slot: ChainSlot = { patient: 'stray', domain: `chain-${chain}`, audience }
  return verdictOf(source, { slot, body, isErased: false, versions: 1, broken: { version } })
}

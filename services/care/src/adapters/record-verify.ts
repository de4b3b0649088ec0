// The replay of chains from stored bytes. To replay all chains, a journal is read once from its first leaf to its last, the order
// of the bytes on disk, and every chain is replayed along the way. Work is cut into slices, and other work runs between them.
// Versions appended meanwhile are included when their chain is judged.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BodySeal, Journal } from '@tallystick/journal-store'
import type { ChainVerification, RecordStore } from '../domain/record-store.ts'
import {
  createErasedChainReplay,
  createStoredChainReplay,
  type KnownPart,
  type StoredChainReplay,
} from '../domain/verify-chain.ts'
import { chainUri, type NamedChain } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { type ChainSeal, type ChainSeals, chainName } from './chain-keys.ts'
import {
  chainsById,
  createRests,
  SLICE_BYTES_MAX,
  SLICE_VERSIONS,
  slicesOf,
} from './journal-slices.ts'
import { findChain, findVersion } from './record-reads.ts'
import { type FoundRow, foundChains, type RecordSource } from './record-sql.ts'
import {
  type ChainRow,
  isErased as isErasedChain,
  namedChain,
  recordOfRow,
  slotOfChain,
  slotTextOf,
  type VersionRow,
} from './stored-record.ts'

/** Chains judged in a slice; each takes one look at its row and its newest version. */
const SLICE_CHAINS = 256
/** Versions in a slice where values are large. */
const SLICE_LARGE = 8

/** Where verification reads. */
export type VerifySource = {
  readonly source: RecordSource
  readonly seals: Pick<ChainSeals, 'sealFor'>
  readonly journals: Readonly<Record<Audience, Pick<Journal, 'size'>>>
}

type ChainState = {
  readonly replay: StoredChainReplay
  readonly isErased: boolean
  readonly name: string
  readonly slotText: (version: number) => string
  lastVersion: number
}

/** The replay of a chain after its known part; for an erased chain only the leaves are replayed. */
function stateOf(chain: ChainRow, known?: KnownPart): ChainState {
  const slot = slotOfChain(chain)
  const erasedLeaves = chain[6]
  return {
    replay:
      erasedLeaves === null
        ? createStoredChainReplay(slot, known)
        : createErasedChainReplay(erasedLeaves),
    isErased: isErasedChain(chain),
    name: chainName(slot),
    slotText: slotTextOf(slot),
    lastVersion: known?.versions ?? 0,
  }
}

function take(state: ChainState, row: VersionRow, seal: BodySeal): void {
  const [, , version, writtenAt, leafHash, body] = row
  const entry = typeof body === 'string' ? body : seal.open(body, state.slotText(version))
  state.replay.add({ version, entry, leafHash, writtenAt })
  state.lastVersion = version
}

/** The verifying half of a store. */
export async function* verifyChains(
  of: VerifySource,
  query: Parameters<RecordStore['verify']>[0],
): AsyncGenerator<ChainVerification> {
  const { slot } = query
  for (const audience of new Set(query.audiences)) {
    if (slot === undefined) yield* verifyJournal(of, audience)
    else if (slot.audience === audience) yield* verifyOne(of, slot)
  }
}

async function* verifyJournal(
  of: VerifySource,
  audience: Audience,
): AsyncGenerator<ChainVerification> {
  const { seals, source } = of
  const written = of.journals[audience]
  const rest = createRests(() => written.size)
  const states = new Map<number, ChainState>()
  const strays: VersionRow[] = []
  const journal = { audience, from: 0, to: written.size }
  for await (const slice of slicesOf(source, journal, rest)) {
    const begun = slice.map(([, chain]) => chain).filter((chain) => !states.has(chain))
    for (const [id, chain] of await chainsById(source, new Set(begun)))
      if (chain[3] === audience) states.set(id, stateOf(chain))
    const seal = await seals.sealFor(slice.flatMap(([, chain]) => states.get(chain)?.name ?? []))
    for (const row of slice) {
      const state = states.get(row[1])
      if (state === undefined) strays.push(row)
      else take(state, row, seal)
    }
  }
  const { chainsAfter } = source.sql.of[audience]
  for (let after = 0; ; ) {
    const found = foundChains(
      await source.ask<FoundRow>(chainsAfter, [audience, after, SLICE_CHAINS]),
    )
    const seal = await seals.sealFor(found.map(({ chain }) => chainName(slotOfChain(chain))))
    for (const { chain, versions } of found) {
      const state = states.get(chain[0]) ?? stateOf(chain)
      yield judge(of, { chain, state, seal, body: versions[0]?.[5] })
    }
    const last = found.at(-1)
    if (last === undefined) break
    after = last.chain[0]
    await rest()
  }
  const seal = await seals.sealFor([])
  yield* strays.map((row) => judgeStray(row, audience, seal))
}

/** Verdicts on the chains that gained versions with some leaves, replayed after their known parts. */
export async function* verifyAdded(
  of: VerifySource,
  { known, ...leaves }: Parameters<RecordStore['verifyAdded']>[0],
): AsyncGenerator<ChainVerification> {
  for await (const slice of slicesOf(of.source, leaves)) {
    const chains = await chainsById(of.source, new Set(slice.map(([, chain]) => chain)))
    for (const chain of chains.values()) {
      const slot = namedChain(chain)
      if (slot.audience === leaves.audience) yield* verifyOne(of, slot, known(slot))
    }
  }
}

/** The known part of a chain, if its last version still holds by itself. */
async function knownPart(
  { seals, source }: VerifySource,
  chain: ChainRow,
  { intact, versions }: ChainVerification,
): Promise<KnownPart | undefined> {
  if (!intact) return undefined
  const slot = slotOfChain(chain)
  const seal = await seals.sealFor([chainName(slot)])
  const row = await findVersion(source, namedChain(chain), versions)
  const record = recordOfRow(row, { slot, seal })
  return record === undefined ? undefined : { versions, headHash: record.versionHash }
}

async function* verifyOne(
  of: VerifySource,
  named: NamedChain,
  known?: ChainVerification,
): AsyncGenerator<ChainVerification> {
  const { seals, source } = of
  const found = await findChain(source, named)
  if (found === undefined) return
  const { chain } = found
  const name = chainName(slotOfChain(chain))
  const isKnown = known !== undefined && !isErasedChain(chain)
  const state = stateOf(chain, isKnown ? await knownPart(of, chain, known) : undefined)
  let limit = SLICE_LARGE
  for (let isMore = true; isMore; ) {
    const slice = await versionsAfter(source, chain, { after: state.lastVersion, limit })
    const seal = await seals.sealFor([name])
    for (const row of slice) take(state, row, seal)
    isMore = slice.length === limit
    const isLarge = slice.some((row) => sizeOf(row[5]) > SLICE_BYTES_MAX / SLICE_VERSIONS)
    limit = isLarge ? SLICE_LARGE : SLICE_VERSIONS
    await nextTurn()
  }
  const now = await findChain(source, named)
  const seal = await seals.sealFor([name])
  if (now !== undefined)
    yield await judge(of, { chain: now.chain, state, seal, body: now.versions[0]?.[5] })
}

/** Versions of a chain in order. */
const versionsAfter = (
  { ask, sql }: RecordSource,
  [id, , , audience]: ChainRow,
  of: { readonly after: number; readonly upTo?: number; readonly limit?: number },
) => {
  const { after, limit = Number.MAX_SAFE_INTEGER, upTo = Number.MAX_SAFE_INTEGER } = of
  return ask<VersionRow>(sql.of[audience].versions, [id, after, upTo, limit])
}

const sizeOf = (body: unknown): number =>
  typeof body === 'string' || body instanceof Uint8Array ? Buffer.byteLength(body) : 0

/** Ends a chain's replay by its current row, after replaying the versions appended up to it meanwhile. */
async function judge(
  of: VerifySource,
  found: {
    readonly chain: ChainRow
    readonly state: ChainState
    readonly seal: ChainSeal
    readonly body: unknown
  },
): Promise<ChainVerification> {
  const { body, chain, seal } = found
  const [, , , , latestVersion, headHash] = chain
  // If it was erased during its replay, the replay starts again.
  const state = found.state.isErased === isErasedChain(chain) ? found.state : stateOf(chain)
  const { lastVersion: after } = state
  if (after < latestVersion)
    for (const row of await versionsAfter(of.source, chain, { after, upTo: latestVersion }))
      take(state, row, seal)
  const { broken, versions } = state.replay.end({ version: latestVersion, versionHash: headHash })
  return {
    versions,
    intact: broken === undefined,
    ...(broken && { brokenAt: broken.version }),
    ...(isErasedChain(chain) && { erased: versions }),
    ...storedAs(namedChain(chain), body, seal.receipt(body, chainName(slotOfChain(chain)))),
  }
}

/** A chain, and how its newest version is stored. */
const storedAs = (slot: NamedChain, body: unknown, receipt: ReturnType<ChainSeal['receipt']>) => ({
  slot,
  receipt: { uri: chainUri(slot), ...receipt, storedBytes: sizeOf(body) },
})

/** A version that belongs to no chain of its audience: its chain's row was removed or now names another chain. */
function judgeStray(
  [, chain, version, , , body]: VersionRow,
  audience: Audience,
  seal: ChainSeal,
): ChainVerification {
  const slot = { patient: 'stray', domain: `chain-${chain}`, audience }
  const receipt = seal.receipt(body, chainName({ ...slot, turn: 0 }))
  return { versions: 1, intact: false, brokenAt: version, ...storedAs(slot, body, receipt) }
}

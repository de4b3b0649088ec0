// The replay of chains from stored bytes, chain after chain, so that memory does not grow with the store. Work is cut into slices,
// and other work runs between them. A chain that does not hold at once, as one that was written or erased meanwhile, is
// replayed again by itself before anything is said of it.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Journal } from '@tallystick/journal-store'
import {
  type ChainVerification,
  type RecordStore,
  RecordStoreUnavailable,
} from '../../domain/record-store.ts'
import {
  createErasedChainReplay,
  createStoredChainReplay,
  type KnownPart,
  type StoredChainReplay,
} from '../../domain/verify-chain.ts'
import type { Audience } from '../../wire/audience.ts'
import { chainUri, type NamedChain } from '../../wire/record-uri.ts'
import { type BodySeal, type ChainSeal, type ChainSeals, chainName } from '../keys/chain-keys.ts'
import { chainsById, readSlices } from './journal-slices.ts'
import { findChain, findVersion } from './record-reads.ts'
import type { RecordSource } from './record-sql.ts'
import {
  type ChainRow,
  formatSlot,
  isChainWithdrawn,
  isErased as isErasedChain,
  namedChain,
  recordOfRow,
  slotOfChain,
  type VersionRow,
} from './stored-record.ts'

/** Chains whose rows and keys are read at once: a millisecond or two, where each has a key to unwrap. */
const PAGE_CHAINS = 64
/**
 * Versions that are read at once: some 32 MB where values are as large as they may be, half a millisecond of work otherwise. A
 * statement costs about as much as ten rows.
 */
const SLICE_VERSIONS = 128
/** Longest work between two rests, milliseconds, where values are large. */
const SLICE_MS_MAX = 5

type Rest = () => Promise<void>

/** Where verification reads. */
export type VerifySource = {
  readonly source: RecordSource
  readonly seals: Pick<ChainSeals, 'sealOnce'>
  readonly journals: Readonly<Record<Audience, Pick<Journal, 'size'>>>
}

type ChainState = {
  readonly replay: StoredChainReplay
  readonly isErased: boolean
  readonly name: string
  readonly slotText: (version: number) => string
  lastVersion: number
  /** The stored body of that version. */
  newest?: unknown
}

/** The replay of a chain after its known part; for an erased chain only the leaves are replayed. */
function startState(chain: ChainRow, known?: KnownPart): ChainState {
  const slot = slotOfChain(chain)
  const erasedLeaves = chain[6]
  return {
    replay:
      erasedLeaves === null
        ? createStoredChainReplay(slot, known)
        : createErasedChainReplay(erasedLeaves),
    isErased: isErasedChain(chain),
    name: chainName(slot),
    slotText: formatSlot(slot),
    lastVersion: known?.versions ?? 0,
  }
}

function take(state: ChainState, row: VersionRow, seal: BodySeal): void {
  const [, , version, writtenAt, leafHash, body] = row
  const entry = typeof body === 'string' ? body : seal.open(body, state.slotText(version))
  state.replay.add({ version, entry, leafHash, writtenAt })
  state.lastVersion = version
  state.newest = body
}

/** The verifying half of a store. */
export async function* verifyChains(
  store: VerifySource,
  { audiences, numbers, rest = nextTurn, slot }: Parameters<RecordStore['verify']>[0],
): AsyncGenerator<ChainVerification> {
  for (const audience of new Set(audiences)) {
    if (slot !== undefined) {
      const found = slot.audience === audience ? await findChain(store.source, slot) : undefined
      if (found !== undefined) yield* verifyOne(store, found.chain[0], { rest })
      continue
    }
    const { from, to } = numbers ?? { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }
    const { ask, sql } = store.source
    const [last] = await ask<readonly [number]>(sql.of[audience].lastChain, [audience])
    // Behind the last chain there are versions only of chains that are gone.
    for (let begin = from; begin < to; ) {
      const next = Math.max(begin, 0) + PAGE_CHAINS
      const end = next > (last?.[0] ?? 0) ? to : Math.min(next, to)
      yield* verifyPage(store, { audience, from: begin, to: end }, rest)
      begin = end
    }
  }
}

/** Some chains of an audience, by their numbers. */
type Page = { readonly audience: Audience; readonly from: number; readonly to: number }

async function* verifyPage(
  store: VerifySource,
  { audience, from, to }: Page,
  rest: Rest,
): AsyncGenerator<ChainVerification> {
  const { ask, sql } = store.source
  const { numbered, ofChains } = sql.of[audience]
  const chains = await ask<ChainRow>(numbered, [audience, from, to])
  const seal = await store.seals.sealOnce(chains.map((chain) => chainName(slotOfChain(chain))))
  const page = new PageReplay(chains, seal)
  let place: readonly [chain: number, version: number] = [from, -1]
  for (let isMore = true; isMore; ) {
    const slice = await ask<VersionRow>(ofChains, [...place, to, SLICE_VERSIONS])
    let fromMs = performance.now()
    for (const row of slice) {
      page.add(row)
      if (performance.now() - fromMs < SLICE_MS_MAX) continue
      await rest()
      fromMs = performance.now()
    }
    isMore = slice.length === SLICE_VERSIONS
    const [, chain = 0, version = 0] = slice.at(-1) ?? []
    if (isMore && (chain < place[0] || (chain === place[0] && version <= place[1])))
      throw new RecordStoreUnavailable('an index of versions does not fit its table')
    place = [chain, version]
    if (!isMore) page.end()
    for (const { chain: ended, verdict } of page.takeEnded())
      if (verdict.intact) yield verdict
      else yield* verifyOne(store, ended[0], { rest })
    yield* judgeStrays(store, page.takeStrays(), { audience, seal, rest })
    await rest()
  }
}

type EndedChain = { readonly chain: ChainRow; readonly verdict: ChainVerification }

/** Replays some chains from their versions, which come chain by chain. */
class PageReplay {
  readonly #chains: readonly ChainRow[]
  readonly #seal: ChainSeal
  #at = 0
  #state: ChainState | undefined
  #ended: EndedChain[] = []
  #strays: VersionRow[] = []

  constructor(chains: readonly ChainRow[], seal: ChainSeal) {
    this.#chains = chains
    this.#seal = seal
    this.#begin()
  }

  add(row: VersionRow): void {
    const [, chain] = row
    while ((this.#chains[this.#at]?.[0] ?? Number.POSITIVE_INFINITY) < chain) this.#next()
    if (this.#state === undefined || this.#chains[this.#at]?.[0] !== chain) {
      this.#strays.push(row)
      return
    }
    take(this.#state, row, this.#seal)
  }

  end(): void {
    while (this.#state !== undefined) this.#next()
  }

  takeEnded(): readonly EndedChain[] {
    const ended = this.#ended
    this.#ended = []
    return ended
  }

  takeStrays(): readonly VersionRow[] {
    const strays = this.#strays
    this.#strays = []
    return strays
  }

  #begin(): void {
    const chain = this.#chains[this.#at]
    this.#state = chain && startState(chain)
  }

  #next(): void {
    const chain = this.#chains[this.#at]
    if (chain !== undefined && this.#state !== undefined)
      this.#ended.push({ chain, verdict: giveVerdict(chain, this.#state, this.#seal) })
    this.#at += 1
    this.#begin()
  }
}

/** Verdicts on the chains that gained versions with some leaves, replayed after their known parts. */
export async function* verifyAdded(
  store: VerifySource,
  { known, ...leaves }: Parameters<RecordStore['verifyAdded']>[0],
): AsyncGenerator<ChainVerification> {
  for await (const slice of readSlices(store.source, leaves)) {
    const chains = await chainsById(store.source, new Set(slice.map(([, chain]) => chain)))
    for (const chain of chains.values()) {
      const [number, , , audience] = chain
      if (audience === leaves.audience)
        yield* verifyOne(store, number, { rest: nextTurn, known: known(number) })
    }
  }
}

type KnownVerdict = Pick<ChainVerification, 'versions' | 'intact'>

/** The known part of a chain, if its last version still holds by itself. */
async function knownPart(
  { seals, source }: VerifySource,
  chain: ChainRow,
  { intact, versions }: KnownVerdict,
): Promise<KnownPart | undefined> {
  if (!intact) return undefined
  const slot = slotOfChain(chain)
  const seal = await seals.sealOnce([chainName(slot)])
  const row = await findVersion(source, namedChain(chain), versions)
  const record = recordOfRow(row, { slot, seal })
  return record === undefined
    ? undefined
    : {
        versions,
        headHash: record.versionHash,
        isWithdrawn: record.status !== undefined,
      }
}

const readChain = async (source: RecordSource, number: number): Promise<ChainRow | undefined> =>
  (await chainsById(source, [number])).get(number)

async function* verifyOne(
  store: VerifySource,
  number: number,
  { known, rest }: { readonly known?: KnownVerdict | undefined; readonly rest: Rest },
): AsyncGenerator<ChainVerification> {
  const { seals, source } = store
  const chain = await readChain(source, number)
  if (chain === undefined) return
  const name = chainName(slotOfChain(chain))
  const isKnown = known !== undefined && !isErasedChain(chain)
  const state = startState(chain, isKnown ? await knownPart(store, chain, known) : undefined)
  for (let isMore = true; isMore; ) {
    const limit = SLICE_VERSIONS
    const slice = await versionsAfter(source, chain, { after: state.lastVersion, limit })
    const seal = await seals.sealOnce([name])
    for (const row of slice) take(state, row, seal)
    isMore = slice.length === limit
    await rest()
  }
  const now = await readChain(source, number)
  if (now === undefined) return
  const seal = await seals.sealOnce([name])
  yield await judge(store, { chain: now, state, seal })
}

/** Versions of a chain in order. */
const versionsAfter = (
  { ask, sql }: RecordSource,
  [id, , , audience]: ChainRow,
  {
    after,
    limit = Number.MAX_SAFE_INTEGER,
    upTo = Number.MAX_SAFE_INTEGER,
  }: { readonly after: number; readonly upTo?: number; readonly limit?: number },
) => ask<VersionRow>(sql.of[audience].versions, [id, after, upTo, limit])

const measureSize = (body: unknown): number =>
  typeof body === 'string' || body instanceof Uint8Array ? Buffer.byteLength(body) : 0

/** Ends a chain's replay by its current row, after replaying the versions appended up to it meanwhile. */
async function judge(
  store: VerifySource,
  found: {
    readonly chain: ChainRow
    readonly state: ChainState
    readonly seal: ChainSeal
  },
): Promise<ChainVerification> {
  const { chain, seal } = found
  const [, , , , latestVersion] = chain
  // If it was erased during its replay, the replay starts again.
  const state = found.state.isErased === isErasedChain(chain) ? found.state : startState(chain)
  const { lastVersion: after } = state
  if (after < latestVersion)
    for (const row of await versionsAfter(store.source, chain, { after, upTo: latestVersion }))
      take(state, row, seal)
  return giveVerdict(chain, state, seal)
}

function giveVerdict(
  chain: ChainRow,
  { newest, replay }: ChainState,
  seal: ChainSeal,
): ChainVerification {
  const [number, , , , version, versionHash] = chain
  const { broken, versions } = replay.end({
    version,
    versionHash,
    isWithdrawn: isChainWithdrawn(chain),
  })
  return {
    number,
    versions,
    intact: broken === undefined,
    ...(broken && { brokenAt: broken.version }),
    ...(isErasedChain(chain) && { erased: versions }),
    ...storedAs(namedChain(chain), newest, seal.receipt(newest, chainName(slotOfChain(chain)))),
  }
}

/** A chain, and how its newest version is stored. */
const storedAs = (slot: NamedChain, body: unknown, receipt: ReturnType<ChainSeal['receipt']>) => ({
  slot,
  receipt: { uri: chainUri(slot), ...receipt, storedBytes: measureSize(body) },
})

/** Versions of chains that the page did not have: chains that began meanwhile are replayed, of the others there is no row. */
async function* judgeStrays(
  store: VerifySource,
  strays: readonly VersionRow[],
  {
    audience,
    rest,
    seal,
  }: { readonly audience: Audience; readonly seal: ChainSeal; readonly rest: Rest },
): AsyncGenerator<ChainVerification> {
  if (strays.length === 0) return
  const begun = await chainsById(store.source, new Set(strays.map(([, chain]) => chain)))
  for (const row of strays)
    if (begun.get(row[1])?.[3] !== audience) yield judgeStray(row, audience, seal)
  for (const [number, chain] of begun)
    if (chain[3] === audience) yield* verifyOne(store, number, { rest })
}

/** A version that belongs to no chain of its audience: its chain's row was removed or now names another chain. */
function judgeStray(
  [, chain, version, , , body]: VersionRow,
  audience: Audience,
  seal: ChainSeal,
): ChainVerification {
  const slot = { patient: 'stray', domain: `chain-${chain}`, audience }
  const receipt = seal.receipt(body, chainName({ ...slot, turn: 0 }))
  return {
    number: undefined,
    strayOf: chain,
    versions: 1,
    intact: false,
    brokenAt: version,
    ...storedAs(slot, body, receipt),
  }
}

/**
 * The verdict on every chain of an audience, kept and brought up to date (C32). It rests on one replay of all stored bytes,
 * and on a replay of each version that this process added since. Once anything else changes the store, everything is replayed
 * again. The bytes of its report are kept in blocks, so a report costs only what changed plus its sending, however many chains
 * there are.
 */
import { chainUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import type { ChainVerdict, PublicReceipt } from '../wire/verify.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'
import { isWithin, type Reach } from './scopes.ts'

/** Chains in a block: half a millisecond to write, some 30 KB to send at once. */
const BLOCK_CHAINS = 512
/** How long a verdict is kept if the store cannot say whether others changed it. */
export const REPLAY_INTERVAL_MS = 60_000

/** Some chains as in a report: JSON items, each after a comma, lines of text, and their counts. */
type ReportBlock = {
  readonly chains: Uint8Array
  readonly receipts: Uint8Array
  readonly lines: Uint8Array
  readonly counts: ReportCounts
}

type ReportCounts = {
  readonly chains: number
  /** Chains that do not hold. */
  readonly broken: number
  /** Chains whose newest version is sealed. */
  readonly sealed: number
  /** Versions replayed. */
  readonly versions: number
  /** Versions whose values were erased, which nothing can replay (C31). */
  readonly erased: number
}

/** The content of a report; it never changes. */
export type VerifyReport = {
  /** ISO 8601 time of the oldest replay that it rests on. */
  readonly checkedAt: string
  readonly blocks: readonly ReportBlock[]
}

export function countsOf({ blocks }: VerifyReport): ReportCounts {
  const total = { chains: 0, broken: 0, sealed: 0, versions: 0, erased: 0 }
  for (const { counts } of blocks)
    for (const [of, count] of Object.entries(counts)) total[of as keyof ReportCounts] += count
  return total
}

export const chainVerdict = (found: ChainVerification): ChainVerdict => {
  const { receipt, versions, intact, brokenAt, erased } = found
  return { uri: receipt.uri, versions, intact, brokenAt, erased }
}

/** Without the length of the stored bytes, which would identify one of a few known sentences. */
export const publicReceipt = ({ receipt }: ChainVerification): PublicReceipt => {
  const { storedBytes: _, ...known } = receipt
  return known
}

function lineOf(found: ChainVerification): string {
  const { uri, versions, intact, brokenAt, erased } = chainVerdict(found)
  const gone = erased === undefined ? '' : `, ${erased} erased: values gone, leaves hold`
  const end = brokenAt === undefined ? gone : `, broken at version ${brokenAt}`
  return `${intact ? 'INTACT' : 'BROKEN'} ${uri} ${versions} version(s)${end}`
}

function blockOf(chains: readonly ChainVerification[]): ReportBlock {
  const bytesOf = (write: (chain: ChainVerification) => string): Uint8Array =>
    Buffer.from(chains.map(write).join(''))
  return {
    chains: bytesOf((chain) => `,${JSON.stringify(chainVerdict(chain))}`),
    receipts: bytesOf((chain) => `,${JSON.stringify(publicReceipt(chain))}`),
    lines: bytesOf((chain) => `${lineOf(chain)}\n`),
    counts: {
      chains: chains.length,
      broken: chains.filter(({ intact }) => !intact).length,
      sealed: chains.filter(({ receipt }) => receipt.encrypted).length,
      versions: chains.reduce((sum, { erased = 0, versions }) => sum + versions - erased, 0),
      erased: chains.reduce((sum, { erased = 0 }) => sum + erased, 0),
    },
  }
}

export const reportOf = (
  checkedAt: string,
  chains: readonly ChainVerification[],
): VerifyReport => ({ checkedAt, blocks: chains.length === 0 ? [] : [blockOf(chains)] })

export const joinReports = (reports: readonly VerifyReport[]): VerifyReport => ({
  checkedAt: reports.map(({ checkedAt }) => checkedAt).toSorted()[0] ?? '',
  blocks: reports.flatMap(({ blocks }) => blocks),
})

export type KeptVerdictDeps = {
  readonly store: Pick<RecordStore, 'verify' | 'verifyAdded' | 'journals' | 'outsideMark'>
  readonly clock: { unixMs(): number }
  readonly isoNow: () => string
  readonly onReplay: () => void
}

export class KeptVerdict {
  readonly #deps: KeptVerdictDeps
  readonly #audience: Audience
  #chains: ChainVerification[] = []
  #blocks: ReportBlock[] = []
  readonly #places = new Map<string, number>()
  readonly #changed = new Set<number>()
  /** What it rests on; undefined until a replay has ended. */
  #basis:
    | { readonly atMs: number; readonly checkedAt: string; readonly mark: string | undefined }
    | undefined
  /** Leaves of the journal that it covers. */
  #leaves = 0

  constructor(audience: Audience, deps: KeptVerdictDeps) {
    this.#audience = audience
    this.#deps = deps
  }

  /** Brings it up to date. Calls do not overlap. Rejects with `RecordStoreUnavailable`. */
  async refresh(): Promise<void> {
    const { clock, isoNow, store } = this.#deps
    const audience = this.#audience
    const mark = store.outsideMark()
    const to = store.journals[audience].size
    const atMs = clock.unixMs()
    const checkedAt = isoNow()
    if (!this.#isKept(mark, atMs)) {
      this.#forget()
      this.#deps.onReplay()
      for await (const chain of store.verify({ audiences: [audience] })) this.#put(chain)
      this.#basis = { atMs, checkedAt, mark }
    } else {
      const query = { audience, from: this.#leaves, to }
      const known = (slot: ChainVerification['slot']) =>
        this.#chains[this.#places.get(chainUri(slot)) ?? -1]
      if (to > this.#leaves)
        for await (const chain of store.verifyAdded({ ...query, known })) this.#put(chain)
    }
    this.#leaves = to
    for (const block of this.#changed) this.#write(block)
  }

  /** The verdict as last brought up to date, or its part within a reach. */
  report(reach?: readonly Reach[]): VerifyReport {
    const checkedAt = this.#basis?.checkedAt ?? ''
    if (reach === undefined) return { checkedAt, blocks: [...this.#blocks] }
    return reportOf(
      checkedAt,
      this.#chains.filter(({ slot }) => isWithin(slot, reach)),
    )
  }

  #isKept(mark: string | undefined, atMs: number): boolean {
    if (this.#basis === undefined) return false
    return mark === undefined
      ? atMs - this.#basis.atMs < REPLAY_INTERVAL_MS
      : mark === this.#basis.mark
  }

  #forget(): void {
    this.#basis = undefined
    this.#chains = []
    this.#blocks = []
    this.#places.clear()
    this.#changed.clear()
  }

  #put(chain: ChainVerification): void {
    const { uri } = chain.receipt
    const place = this.#places.get(uri) ?? this.#chains.length
    const isNew = place === this.#chains.length
    this.#places.set(uri, place)
    this.#chains[place] = chain
    const block = Math.floor(place / BLOCK_CHAINS)
    this.#changed.add(block)
    // Blocks are written as they fill, between the slices of a replay, not all at its end.
    if (isNew && (place + 1) % BLOCK_CHAINS === 0) this.#write(block)
  }

  #write(block: number): void {
    const from = block * BLOCK_CHAINS
    this.#blocks[block] = blockOf(this.#chains.slice(from, from + BLOCK_CHAINS))
    this.#changed.delete(block)
  }
}

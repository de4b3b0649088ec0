/**
 * The verdict on every chain of an audience, kept and brought up to date (C32). Chains are replayed from stored bytes, a page of
 * numbers at a time. Where the store can say that nothing but this process has changed it, a page holds until something else
 * does; what this process has added is replayed. Where it cannot, a scrub reads the pages one after the other, so that each is
 * read again within an interval.
 */
import type { Clock } from '@tallystick/service-kit'
import type { Audience } from '../wire/records.ts'
import { ChainVerdicts } from './chain-verdicts.ts'
import type { ChainVerification, RecordStore } from './record-store.ts'
import { ReportTexts } from './report-texts.ts'

/** Chains in a page. */
const PAGE_CHAINS = 256
/** Shortest interval of a scrub, milliseconds. */
const INTERVAL_MS_MIN = 60_000
/** What a version adds, where that comes to more: reading it takes a fiftieth of this or so. */
const INTERVAL_MS_PER_VERSION = 0.6
/** The part of its interval that a round of the scrub takes; the rest is for what delays it. */
const ROUND_PART = 0.8

/** Pause between two slices of a replay, for as long as others need. */
type Rest = () => Promise<void>

export type KeptVerdictDeps = {
  readonly store: Pick<
    RecordStore,
    'verify' | 'verifyAdded' | 'journals' | 'catchUp' | 'outsideMark' | 'lastChain' | 'countFrees'
  >
  readonly clock: Clock
  /** A time as ISO 8601. */
  readonly isoOf: (ms: number) => string
  /** Begins a replay of that audience's journal. */
  readonly rests: Readonly<Record<Audience, () => Rest>>
  readonly onReplay: () => void
}

/** What a report rests on. */
export type AudienceVerdict = {
  readonly audience: Audience
  readonly verdicts: ChainVerdicts
  readonly texts: ReportTexts
  /** When the oldest page was replayed, ISO 8601. */
  readonly checkedAt: string
  /** How old that may be; undefined where the store says whether others changed it. */
  readonly intervalMs: number | undefined
}

export class KeptVerdict {
  readonly #deps: KeptVerdictDeps
  readonly #audience: Audience
  #verdicts = new ChainVerdicts()
  #texts = new ReportTexts(this.#verdicts)
  /** Chains that were freed when the first text was kept: each got another name. */
  #frees = 0
  /** When each page was replayed. */
  #pages: number[] = []
  /** The page that was replayed before all others. */
  #oldest = 0
  /** What the store said of others' changes; undefined before the first replay, and where it cannot say. */
  #mark: string | undefined
  /** Leaves of the journal that it covers. */
  #leaves = 0
  #last: Promise<unknown> = Promise.resolve()
  #next: Promise<AudienceVerdict> | undefined
  #cancelScrub: (() => void) | undefined
  #isClosed = false

  constructor(audience: Audience, deps: KeptVerdictDeps) {
    this.#audience = audience
    this.#deps = deps
  }

  /** Brings it up to date with all that was written before the call. Rejects with `RecordStoreUnavailable`. */
  refreshed(): Promise<AudienceVerdict> {
    this.#next ??= this.#alone(() => {
      this.#next = undefined
      return this.#refresh()
    })
    return this.#next
  }

  close(): void {
    this.#isClosed = true
    this.#cancelScrub?.()
  }

  /** One after the other. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const run = this.#last.then(work)
    this.#last = run.catch(() => undefined)
    return run
  }

  async #refresh(): Promise<AudienceVerdict> {
    const { clock, isoOf, onReplay, rests, store } = this.#deps
    const audience = this.#audience
    await store.catchUp()
    const mark = store.outsideMark()
    const to = store.journals[audience].size
    if (this.#pages.length === 0 || mark !== this.#mark) {
      onReplay()
      this.#verdicts = new ChainVerdicts()
      this.#texts = new ReportTexts(this.#verdicts)
      this.#pages = Array.from({ length: await this.#pageCount() }, () => Number.NEGATIVE_INFINITY)
      this.#oldest = 0
      this.#mark = mark
      this.#leaves = to
    }
    const intervalMs = mark === undefined ? this.#intervalMs() : undefined
    const rest = rests[audience]()
    const isDue = (ms = 0): boolean =>
      ms === Number.NEGATIVE_INFINITY ||
      (intervalMs !== undefined && clock.unixMs() - ms >= intervalMs)
    while (isDue(this.#pages[this.#oldest])) await this.#replayOldest(rest)
    await this.#addTo(to)
    if (intervalMs !== undefined && this.#cancelScrub === undefined) this.#scrubLater(intervalMs)
    const checkedAt = isoOf(this.#pages[this.#oldest] ?? clock.unixMs())
    const frees = await store.countFrees(audience)
    if (frees !== this.#frees) this.#texts = new ReportTexts(this.#verdicts)
    this.#frees = frees
    return { audience, verdicts: this.#verdicts, texts: this.#texts, checkedAt, intervalMs }
  }

  #intervalMs(): number {
    const { size } = this.#deps.store.journals[this.#audience]
    return Math.max(INTERVAL_MS_MIN, size * INTERVAL_MS_PER_VERSION)
  }

  async #pageCount(): Promise<number> {
    return 1 + Math.floor((await this.#deps.store.lastChain(this.#audience)) / PAGE_CHAINS)
  }

  async #replayOldest(rest: Rest): Promise<void> {
    const { clock, store } = this.#deps
    const page = this.#oldest
    const atMs = clock.unixMs()
    // The first and the last page have whatever stands before and behind all chains.
    const from = page === 0 ? Number.MIN_SAFE_INTEGER : page * PAGE_CHAINS
    const isLast = page === this.#pages.length - 1
    const to = isLast ? Number.MAX_SAFE_INTEGER : (page + 1) * PAGE_CHAINS
    const found: ChainVerification[] = []
    const query = { audiences: [this.#audience], numbers: { from, to }, rest }
    for await (const chain of store.verify(query)) found.push(chain)
    this.#verdicts.replace(from, to, found)
    this.#pages[page] = atMs
    this.#oldest = (page + 1) % this.#pages.length
    await rest()
  }

  /** Replays what this process has added since, up to a leaf. */
  async #addTo(to: number): Promise<void> {
    const { clock, store } = this.#deps
    const from = this.#leaves
    if (to === from) return
    const known = (number: number) => this.#verdicts.get(number)?.verdict
    for await (const chain of store.verifyAdded({ audience: this.#audience, from, to, known }))
      this.#verdicts.put(chain)
    this.#leaves = to
    for (let count = await this.#pageCount(); this.#pages.length < count; )
      this.#pages.push(clock.unixMs())
  }

  #scrubLater(intervalMs: number): void {
    if (this.#isClosed) return
    const ms = (intervalMs * ROUND_PART) / this.#pages.length
    this.#cancelScrub = this.#deps.clock.after(ms, () => void this.#alone(() => this.#scrub()))
  }

  async #scrub(): Promise<void> {
    if (this.#isClosed) return
    try {
      await this.#replayOldest(this.#deps.rests[this.#audience]())
      this.#scrubLater(this.#intervalMs())
    } catch {
      // The store cannot be read: the next report replays everything, or says so.
      this.#pages = []
      this.#cancelScrub = undefined
    }
  }
}

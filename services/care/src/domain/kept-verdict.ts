/**
 * The verdict on every chain of an audience, kept and brought up to date (C32). Chains are replayed from stored bytes, a page of
 * numbers at a time. Where the store can say that nothing but this process has changed it, a page holds until something else
 * does; what this process has added is replayed. Where it cannot, a scrub reads the pages one after the other, so that each is
 * read again within an interval. Of several processes the holder of a lease does that for all: what any of them replays, the
 * others take over. Whatever they do not find there, or find too old, they replay themselves.
 */
import type { Lease } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { Audience } from '../wire/audience.ts'
import { ChainVerdicts } from './chain-verdicts.ts'
import type { ChainFinding, RecordStore } from './record-store.ts'
import { ReportTexts } from './report-texts.ts'

/** Chains in a page. */
const PAGE_CHAINS = 256
/** Shortest interval of a scrub, milliseconds. */
const INTERVAL_MS_MIN = 60_000
/** What a version adds, where that comes to more: reading it takes a fiftieth of this or so. */
const INTERVAL_MS_PER_VERSION = 0.6
/** The part of its interval that a round of the scrub takes; the rest is for what delays it. */
const ROUND_PART = 0.8

/** How often the holder of the lease looks whether anybody wants verdicts, milliseconds: within what a round has to spare. */
const LOOK_MS = 5_000
/** How far the clocks of two processes may be apart, milliseconds: they follow the database's. */
const CLOCKS_APART_MS = 1_000

/** Verdicts on a page of chains, as some process replayed it. */
export type ReplayedPage = {
  readonly page: number
  /** When its replay began. */
  readonly atMs: number
  /** Leaves of the journal that it covers at least. */
  readonly leaves: number
  /** Whether it has whatever stands behind all chains, too. */
  readonly isLast: boolean
  readonly found: readonly ChainFinding[]
}

/** The port of verdicts that several processes share. */
export type SharedVerdicts = {
  /** Pages replayed after a time, if a process of this service said so. Rejects with `RecordStoreUnavailable`. */
  read(audience: Audience, afterMs: number): AsyncIterable<ReplayedPage>
  /** Never rejects. */
  keep(audience: Audience, page: ReplayedPage): Promise<void>
}

/** Pause between two slices of a replay, for as long as others need. */
type Rest = () => Promise<void>

export type KeptVerdictDeps = {
  readonly store: Pick<
    RecordStore,
    'verify' | 'verifyAdded' | 'journals' | 'catchUp' | 'outsideMark' | 'lastChain' | 'countFrees'
  >
  readonly clock: Clock
  /** A time as ISO 8601. */
  readonly toIso: (ms: number) => string
  /** Begins a replay of that audience's journal. */
  readonly rests: Readonly<Record<Audience, () => Rest>>
  readonly onReplay: () => void
  /** Where other processes serve the same records: the holder of the lease scrubs for all. */
  readonly shared?:
    | { readonly lease: Pick<Lease, 'epoch' | 'onHeld'>; readonly verdicts: SharedVerdicts }
    | undefined
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
  /** Whether a scrub could not read the store: the next report says so, or replays everything. */
  #hasFailed = false
  #cancelScrub: (() => void) | undefined
  #cancelLook: (() => void) | undefined
  /** The newest page that was taken over, and the holding of the lease under which nothing else is. */
  #adopted: { readonly atMs: number; readonly epoch?: number | undefined } = { atMs: 0 }
  #isClosed = false

  constructor(audience: Audience, deps: KeptVerdictDeps) {
    this.#audience = audience
    this.#deps = deps
    if (deps.shared === undefined) return
    deps.shared.lease.onHeld(() => this.#takeUp())
    this.#lookLater()
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
    this.#cancelLook?.()
  }

  /** One after the other. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const run = this.#last.then(work)
    this.#last = run.catch(() => undefined)
    return run
  }

  /** Brings everything up to what is kept here and by others; returns the leaves that there are. */
  async #prepare(): Promise<number> {
    const { store } = this.#deps
    await store.catchUp()
    const mark = store.outsideMark()
    const { size } = store.journals[this.#audience]
    if (this.#pages.length === 0 || mark !== this.#mark) {
      this.#verdicts = new ChainVerdicts()
      this.#texts = new ReportTexts(this.#verdicts)
      this.#pages = Array.from({ length: await this.#pageCount() }, () => Number.NEGATIVE_INFINITY)
      this.#oldest = 0
      this.#mark = mark
      this.#leaves = size
      this.#adopted = { atMs: 0 }
    }
    if (!this.#hasFailed) await this.#adopt()
    return size
  }

  /** Takes over what other processes have replayed since. */
  async #adopt(): Promise<void> {
    const { clock, shared } = this.#deps
    const epoch = shared?.lease.epoch()
    if (shared === undefined || (epoch !== undefined && epoch === this.#adopted.epoch)) return
    let { atMs: newestMs } = this.#adopted
    for await (const replayed of shared.verdicts.read(this.#audience, newestMs - CLOCKS_APART_MS)) {
      const { atMs, found, isLast, leaves, page } = replayed
      const range = this.#findRange(page)
      const knownMs = this.#pages[page] ?? Number.POSITIVE_INFINITY
      const isPossible = atMs <= clock.unixMs() + CLOCKS_APART_MS
      if (atMs <= knownMs || !isPossible || (range.isLast && !isLast)) continue
      this.#verdicts.replace(range.from, range.to, found)
      this.#pages[page] = atMs
      this.#leaves = Math.min(this.#leaves, leaves)
      newestMs = Math.max(newestMs, atMs)
    }
    this.#adopted = { atMs: newestMs, epoch }
    this.#oldest = this.#findOldest()
  }

  #findOldest(): number {
    const pages = this.#pages
    return pages.reduce((oldest, ms, page) => (ms < (pages[oldest] ?? 0) ? page : oldest), 0)
  }

  async #refresh(): Promise<AudienceVerdict> {
    const { clock, toIso, onReplay, rests, store } = this.#deps
    const audience = this.#audience
    const to = await this.#prepare()
    if (this.#pages[this.#oldest] === Number.NEGATIVE_INFINITY) onReplay()
    const intervalMs = this.#mark === undefined ? this.#intervalMs() : undefined
    const rest = rests[audience]()
    const isDue = (ms = 0): boolean =>
      ms === Number.NEGATIVE_INFINITY ||
      (intervalMs !== undefined && clock.unixMs() - ms >= intervalMs)
    while (isDue(this.#pages[this.#oldest])) await this.#replayOldest(rest)
    this.#hasFailed = false
    await this.#addTo(to)
    if (intervalMs !== undefined) this.#scrubLater(intervalMs)
    const checkedAt = toIso(this.#pages[this.#oldest] ?? clock.unixMs())
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

  /** The numbers of a page's chains. The first and the last page have whatever stands before and behind all chains. */
  #findRange(page: number) {
    const isLast = page === this.#pages.length - 1
    return {
      from: page === 0 ? Number.MIN_SAFE_INTEGER : page * PAGE_CHAINS,
      to: isLast ? Number.MAX_SAFE_INTEGER : (page + 1) * PAGE_CHAINS,
      isLast,
    }
  }

  async #replayOldest(rest: Rest): Promise<void> {
    const { clock, shared, store } = this.#deps
    const page = this.#oldest
    const atMs = clock.unixMs()
    const leaves = store.journals[this.#audience].size
    const { from, isLast, to } = this.#findRange(page)
    const found: ChainFinding[] = []
    const query = { audiences: [this.#audience], numbers: { from, to }, rest }
    for await (const chain of store.verify(query)) found.push(chain)
    this.#verdicts.replace(from, to, found)
    this.#pages[page] = atMs
    this.#oldest = this.#findOldest()
    await shared?.verdicts.keep(this.#audience, { page, atMs, leaves, isLast, found })
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

  /** Whether the scrub is this process's. */
  #isScrubber(): boolean {
    const { shared } = this.#deps
    return shared === undefined || shared.lease.epoch() !== undefined
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#cancelLook = this.#deps.clock.after(LOOK_MS, () => {
      this.#takeUp()
      this.#lookLater()
    })
  }

  /** Goes on with the scrub that another process began, or that was another's until now. */
  #takeUp(): void {
    if (this.#isClosed || this.#cancelScrub !== undefined || !this.#isScrubber()) return
    const takeUp = async (): Promise<void> => {
      this.#hasFailed = false
      await this.#prepare()
      // Nobody has asked for verdicts yet: the first report replays everything.
      const isWanted = this.#pages.some((ms) => ms > Number.NEGATIVE_INFINITY)
      if (isWanted) this.#scrubLater(this.#intervalMs())
      else this.#pages = []
    }
    // The next look tries again.
    void this.#alone(takeUp).catch(() => undefined)
  }

  #scrubLater(intervalMs: number): void {
    if (this.#isClosed || this.#cancelScrub !== undefined || !this.#isScrubber()) return
    const ms = (intervalMs * ROUND_PART) / this.#pages.length
    this.#cancelScrub = this.#deps.clock.after(ms, () => void this.#alone(() => this.#scrub()))
  }

  async #scrub(): Promise<void> {
    this.#cancelScrub = undefined
    if (this.#isClosed || !this.#isScrubber()) return
    try {
      await this.#replayOldest(this.#deps.rests[this.#audience]())
      this.#scrubLater(this.#intervalMs())
    } catch {
      this.#pages = []
      this.#hasFailed = true
    }
  }
}

/**
 * Finds records by words (C26). It reads the journals behind its place, as every other consumer does, so that a search knows all
 * that was committed before it, whoever wrote; and it asks the store before it names a record, so that what was erased, freed or
 * withdrawn since is not found.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, pause } from '@tallystick/service-kit'
import {
  type ChainHead,
  placeBehind,
  type ReadOutcome,
  type RecordStore,
} from '../../domain/record-store.ts'
import type { Reach } from '../../domain/scopes.ts'
import type { SearchWord } from '../../domain/search-words.ts'
import { WordIndex } from '../../domain/word-index.ts'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import type { ChainSlot } from '../../wire/record-uri.ts'

/** Records taken up between two turns of the event loop: a millisecond. */
const PAGE_RECORDS = 32
/** Rest behind each page that no search waits for, milliseconds: reading ahead takes a tenth of the one thread. */
const REST_MS = 10

type IndexedStore = Pick<
  RecordStore,
  'heads' | 'head' | 'latest' | 'behind' | 'journals' | 'catchUp'
>

type Found = { readonly slot: ChainSlot; readonly score: number }

/** What a record is found by. A broken one only by its name, since nobody receives its text; a withdrawn one not at all. */
function saidBy(latest: ReadOutcome): string | undefined {
  if (latest.kind === 'broken') return ''
  return latest.kind === 'found' && latest.record.status === undefined
    ? latest.record.value
    : undefined
}

type IndexOptions = {
  readonly store: IndexedStore
  readonly clock: Pick<Clock, 'after'>
  /** Bounds its memory, for each audience: about 1.5 KB a record. */
  readonly chainsMax: number
}

/** The records of one audience; nothing of the other one moves it (C30). */
class AudienceIndex {
  readonly #audience: Audience
  readonly #store: IndexedStore
  readonly #clock: Pick<Clock, 'after'>
  readonly #chainsMax: number
  #words = new WordIndex()
  /** Aborted once a search waits, or at the end: there are no more rests. */
  readonly #rests = new AbortController()
  #isClosed = false
  /** Versions of this audience that it covers, and the place behind them; undefined before the first. */
  #covered: { readonly size: number; readonly place: number } | undefined
  #running: Promise<void> | undefined

  constructor(audience: Audience, { chainsMax, clock, store }: IndexOptions) {
    this.#audience = audience
    this.#store = store
    this.#clock = clock
    this.#chainsMax = chainsMax
  }

  get words(): WordIndex {
    return this.#words
  }

  /** Whether it has no room for another record, so that there may be some that it does not know. */
  get isFull(): boolean {
    return this.#words.size >= this.#chainsMax
  }

  /** The same for a search, which waits for no rest. */
  currentNow(): Promise<void> {
    this.#rests.abort()
    return this.current()
  }

  /** Resolves when it holds what was committed before the call. */
  async current(): Promise<void> {
    const size = this.#size()
    while ((this.#covered?.size ?? -1) < size) {
      this.#running ??= this.#catchUp().finally(() => {
        this.#running = undefined
      })
      await this.#running
    }
  }

  /** Ends a reading ahead, whose promise rejects. */
  close(): void {
    this.#isClosed = true
    this.#rests.abort()
  }

  #size(): number {
    return this.#store.journals[this.#audience].size
  }

  async #catchUp(): Promise<void> {
    const to = { size: this.#size(), place: placeBehind(this.#store.journals) }
    if (this.#covered === undefined) await this.#readAll()
    else await this.#readBehind(this.#covered.place, to.place)
    this.#covered = to
  }

  async #readAll(): Promise<void> {
    const reach = [{ audience: this.#audience }]
    for (let after: number | undefined; ; ) {
      const query = { reach, after, limit: PAGE_RECORDS, wantsRecords: true }
      const heads = await this.#store.heads(query)
      for (const head of heads) this.#put(head, head.record?.value ?? '')
      after = heads.at(-1)?.sequence
      if (heads.length < PAGE_RECORDS || this.isFull) return
      await pause(this.#clock, REST_MS, this.#rests.signal)
      if (this.#isClosed) throw new Error('the index is closed')
      await nextTurn()
    }
  }

  async #readBehind(from: number, to: number): Promise<void> {
    const reach = [{ audience: this.#audience }]
    for (let place = from; place < to; ) {
      const rows = await this.#store.behind({ reach, from: place, to, limit: PAGE_RECORDS })
      const slots = new Map(rows.map((row) => [`${row.patient}|${row.domain}`, row]))
      for (const slot of slots.values()) {
        const latest = await this.#store.latest(slot)
        const said = saidBy(latest)
        if (said === undefined) this.#words.remove(slot)
        else this.#put(slot, said)
      }
      place = rows.length < PAGE_RECORDS ? to : (rows.at(-1)?.place ?? to) + 1
      await nextTurn()
    }
  }

  #put(slot: ChainSlot, value: string): void {
    if (!this.isFull || this.#words.has(slot)) this.#words.add(slot, value)
  }
}

export class RecordIndex {
  readonly #store: IndexedStore
  readonly #byAudience: Readonly<Record<Audience, AudienceIndex>>

  constructor(options: IndexOptions) {
    this.#store = options.store
    this.#byAudience = {
      user: new AudienceIndex('user', options),
      assistant: new AudienceIndex('assistant', options),
    }
  }

  /** Reads the store ahead of the first search, with rests: others' requests are answered as if it did not. */
  async fill(): Promise<void> {
    for (const audience of AUDIENCES) await this.#byAudience[audience].current()
  }

  /** Reads ahead no more. */
  close(): void {
    for (const audience of AUDIENCES) this.#byAudience[audience].close()
  }

  /** They are not there any more: none of their words stays. */
  forget(slots: readonly ChainSlot[]): void {
    for (const slot of slots) this.#byAudience[slot.audience].words.remove(slot)
  }

  /** The records within a reach that words find best, and whether some were not looked at. */
  async find(
    words: readonly SearchWord[],
    reach: readonly Reach[],
    limit: number,
  ): Promise<{
    readonly found: readonly (Found & { head: ChainHead })[]
    readonly isWhole: boolean
  }> {
    await this.#store.catchUp()
    const audiences = new Set(reach.map(({ audience }) => audience))
    await Promise.all([...audiences].map((audience) => this.#byAudience[audience].currentNow()))
    const best = reach
      .flatMap(({ audience, patient }) =>
        this.#byAudience[audience].words.find(words, { limit, patient }),
      )
      .toSorted((left, right) => right.score - left.score)
      .slice(0, limit)
    const heads = await Promise.all(best.map(({ slot }) => this.#store.head(slot)))
    const found = best.flatMap((each, at) => {
      const head = heads[at]
      return head === undefined ? [] : [{ ...each, head }]
    })
    return {
      found,
      isWhole: [...audiences].every((audience) => !this.#byAudience[audience].isFull),
    }
  }
}

/**
 * The prices of one event before its close, in ledger order. A market polled for weeks has tens of thousands. The next
 * state's log shares the last one's prices, so a round costs only its new prices; a query about one source skips the others.
 */
import { getOrMake } from '@tallystick/service-kit'
import { type EventMarket, ownValue } from '../markets/markets.ts'

/** Place of an entry in the ledger, and its RFC 9162 leaf hash in hex. */
export type RecordReference = { readonly seq: number; readonly hash: string }

/** Where prices and results come from. */
export type FeedInfo = {
  /** `football-data`, `the-odds-api`, `manual`, `synthetic`. */
  readonly feed: string
  /** Whether the source's terms allow its prices to be public. */
  readonly isRedistributable: boolean
  /** Made by our generator, not by a market. */
  readonly isSynthetic: boolean
}

/** Prices of one market at one book at one time. */
export type PriceRecord = FeedInfo &
  EventMarket & {
    /** `ah/ft/-0.75` (markets.ts). */
    readonly market: string
    /** `ah/ft`: the market without its line. */
    readonly family: string
    readonly book: string
    /** Decimal odds by selection; selections without a price are absent. */
    readonly odds: Readonly<Record<string, number>>
    /** Whether every selection has a price, so that the margin can be removed. */
    readonly isComplete: boolean
    /** One of a feed's further lines beside the main one. */
    readonly isAlternative?: boolean | undefined
    /** When the feed saw the prices; unknown if it only calls them early or closing. */
    readonly capturedAtSeconds?: number | undefined
    /** When the service received them. */
    readonly recordedAtSeconds: number
    readonly record: RecordReference
  }

/** Below this many prices a scan is as quick as an index, and most events have a few. */
const INDEXED_FROM = 48
const SECONDS_PER_MINUTE = 60

/** One feed's prices of one market at one book. */
type PriceSource = { readonly feed: string; readonly market: string; readonly book: string }

const sourceName = ({ book, feed, market }: PriceSource): string => `${feed}|${book}|${market}`

export const minuteAt = (atSeconds: number): number => Math.floor(atSeconds / SECONDS_PER_MINUTE)

/** When a price began to stand; a price without a time counts from when it was recorded. */
const stoodFrom = ({ capturedAtSeconds, recordedAtSeconds }: PriceRecord): number =>
  capturedAtSeconds ?? recordedAtSeconds

type OfSource = {
  /** Places in the log, ascending. */
  readonly places: number[]
  readonly byMinute: Map<number, number[]>
  /** Whether no price was recorded or seen before its predecessor: then a binary search finds the last by a time. */
  isOrdered: boolean
}

type Index = {
  readonly sources: Map<string, OfSource>
  /** Names of a market's sources. */
  readonly byMarket: Map<string, Set<string>>
  /** Each market selection's extremes. */
  readonly extremes: Map<string, Map<string, Extremes>>
}

/** The prices of a selection: the highest and the lowest, and the highest without a time. */
type Extremes = {
  readonly highest: number
  readonly lowest: number
  readonly timeless: number
  /** Whether all of them may be shown. */
  readonly isOpen: boolean
}
const NONE: Extremes = { highest: 0, lowest: Infinity, timeless: 0, isOpen: true }

function widened(extremes: Extremes, record: PriceRecord, price: number | undefined): Extremes {
  if (price === undefined) return extremes
  const { highest, isOpen, lowest, timeless } = extremes
  const isTimed = record.capturedAtSeconds !== undefined
  return {
    highest: Math.max(highest, price),
    lowest: Math.min(lowest, price),
    timeless: isTimed ? timeless : Math.max(timeless, price),
    isOpen: isOpen && record.isRedistributable,
  }
}

/** Shared by several states; it only grows. */
type Shared = { readonly records: PriceRecord[]; index: Index | undefined; hasSynthetic: boolean }

function addToIndex(index: Index, records: readonly PriceRecord[], place: number): void {
  const record = records[place]
  if (record === undefined) return
  const { capturedAtSeconds, market, odds, recordedAtSeconds } = record
  const name = sourceName(record)
  const source = getOrMake(index.sources, name, () => ({
    places: [],
    byMinute: new Map(),
    isOrdered: true,
  }))
  const before = records[source.places.at(-1) ?? -1]
  const isTimed = capturedAtSeconds !== undefined
  if (
    before !== undefined &&
    (!isTimed ||
      before.capturedAtSeconds === undefined ||
      before.capturedAtSeconds > capturedAtSeconds ||
      before.recordedAtSeconds > recordedAtSeconds)
  )
    source.isOrdered = false
  source.places.push(place)
  if (isTimed) getOrMake(source.byMinute, minuteAt(capturedAtSeconds), () => []).push(place)
  getOrMake(index.byMarket, market, () => new Set()).add(name)
  const extremes = getOrMake(index.extremes, market, () => new Map())
  for (const selection in odds)
    extremes.set(selection, widened(extremes.get(selection) ?? NONE, record, odds[selection]))
}

/** The last of ascending places that passes a test; the first ones pass, and none after them. */
function lastWhere(
  places: readonly number[],
  holds: (place: number) => boolean,
): number | undefined {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(places[middle] ?? 0)) low = middle + 1
    else high = middle
  }
  return places[low - 1]
}

export class PriceLog implements Iterable<PriceRecord> {
  readonly #shared: Shared
  readonly length: number

  private constructor(shared: Shared, length: number) {
    this.#shared = shared
    this.length = length
  }

  static fromRecords(records: readonly PriceRecord[]): PriceLog {
    return new PriceLog({ records: [], index: undefined, hasSynthetic: false }, 0).with(records)
  }

  *[Symbol.iterator](): Iterator<PriceRecord> {
    const { records } = this.#shared
    for (let place = 0; place < this.length; place += 1) {
      const record = records[place]
      if (record !== undefined) yield record
    }
  }

  /** This log followed by these prices: O(new), unless another state already extended this one. */
  with(added: readonly PriceRecord[]): PriceLog {
    const shared = this.#shared
    const { index, records } = shared
    if (records.length !== this.length) return PriceLog.fromRecords([...this, ...added])
    for (const record of added) {
      records.push(record)
      if (record.isSynthetic) shared.hasSynthetic = true
      if (index !== undefined) addToIndex(index, records, records.length - 1)
    }
    return new PriceLog(shared, records.length)
  }

  /** This log without the prices that pass a test. */
  without(isGone: (record: PriceRecord) => boolean): PriceLog {
    const rest = [...this].filter((record) => !isGone(record))
    return rest.length === this.length ? this : PriceLog.fromRecords(rest)
  }

  /** The index, if there are many prices and this is the newest state. */
  get #index(): Index | undefined {
    const { records } = this.#shared
    if (this.length < INDEXED_FROM || records.length !== this.length) return undefined
    if (this.#shared.index === undefined) {
      const index: Index = { sources: new Map(), byMarket: new Map(), extremes: new Map() }
      for (let place = 0; place < records.length; place += 1) addToIndex(index, records, place)
      this.#shared.index = index
    }
    return this.#shared.index
  }

  #at(place: number | undefined): PriceRecord | undefined {
    return place === undefined ? undefined : this.#shared.records[place]
  }

  #scan(source: PriceSource): readonly PriceRecord[] {
    const name = sourceName(source)
    return [...this].filter((record) => sourceName(record) === name)
  }

  last(source: PriceSource): PriceRecord | undefined {
    const index = this.#index
    if (index === undefined) return this.#scan(source).at(-1)
    return this.#at(index.sources.get(sourceName(source))?.places.at(-1))
  }

  /** A source's prices in the minute of a moment. */
  ofMinute(source: PriceSource, atSeconds: number): readonly PriceRecord[] {
    const minute = minuteAt(atSeconds)
    const index = this.#index
    if (index === undefined)
      return this.#scan(source).filter(
        ({ capturedAtSeconds: seen }) => seen !== undefined && minuteAt(seen) === minute,
      )
    const places = index.sources.get(sourceName(source))?.byMinute.get(minute) ?? []
    return places.flatMap((place) => this.#at(place) ?? [])
  }

  get markets(): Iterable<string> {
    const index = this.#index
    return index === undefined
      ? new Set([...this].map(({ market }) => market))
      : index.byMarket.keys()
  }

  get hasSynthetic(): boolean {
    return this.#shared.hasSynthetic
  }

  /** The extremes of a selection's prices; without any, 0 and infinity. */
  extremes(market: string, selection: string): Extremes {
    const index = this.#index
    if (index !== undefined) return index.extremes.get(market)?.get(selection) ?? NONE
    let extremes = NONE
    for (const record of this)
      if (record.market === market)
        extremes = widened(extremes, record, ownValue(record.odds, selection))
    return extremes
  }

  /** For each source of a market, its last price that stood at a moment. */
  standing(market: string, at: StandingAt): readonly PriceRecord[] {
    const holds = stoodAt(at)
    const index = this.#index
    if (index === undefined) return lastOfEach([...this], { market, holds })
    return [...(index.byMarket.get(market) ?? [])].flatMap((name) => {
      const source = index.sources.get(name)
      if (source === undefined) return []
      if (source.isOrdered)
        return (
          this.#at(
            lastWhere(source.places, (place) => {
              const record = this.#at(place)
              return record !== undefined && holds(record)
            }),
          ) ?? []
        )
      const records = source.places.flatMap((place) => this.#at(place) ?? [])
      return lastOfEach(records, { market, holds })
    })
  }
}

/** A moment; either only prices recorded by then count, or all that their source says stood then. */
export type StandingAt = { readonly atSeconds: number; readonly by: 'record' | 'source' }

export const stoodAt =
  ({ atSeconds, by }: StandingAt) =>
  (record: PriceRecord): boolean =>
    by === 'record'
      ? record.recordedAtSeconds <= atSeconds && stoodFrom(record) <= atSeconds
      : record.capturedAtSeconds !== undefined && record.capturedAtSeconds <= atSeconds

/** For each source, the last price that passes a test, by the time from which it stood. */
export function lastOfEach(
  records: readonly PriceRecord[],
  { market, holds }: { readonly market: string; readonly holds: (record: PriceRecord) => boolean },
): readonly PriceRecord[] {
  const last = new Map<string, PriceRecord>()
  for (const record of records) {
    if (record.market !== market || !holds(record)) continue
    const name = sourceName(record)
    const known = last.get(name)
    if (known === undefined || stoodFrom(known) <= stoodFrom(record)) last.set(name, record)
  }
  return [...last.values()]
}

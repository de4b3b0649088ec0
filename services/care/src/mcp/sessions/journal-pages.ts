/** What happened behind a position, read from the journals: for all streams, or for one that stands further back. */
import { countVersions, isBefore, type Position } from '../../domain/position.ts'
import type { PlacedVersion, RecordStore } from '../../domain/record-store.ts'
import { readReach } from '../../domain/scopes.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { parseRecordUri } from '../../wire/record-uri.ts'
import { Happening, type Listener, letsNoticeThrough } from './frames.ts'

/** Versions read in one go: some milliseconds of work. */
const PAGE_VERSIONS = 256

const EVERYTHING = AUDIENCES.map((audience) => ({ audience }))

export type Page = {
  readonly happenings: readonly Happening[]
  /** Everything before it has been looked at. */
  readonly end: Position
}

/** How many versions each journal has. */
export type Sizes = Pick<Position, 'user' | 'assistant'>

export type PagesStore = Pick<
  RecordStore,
  'behind' | 'behindInTopics' | 'freesBehind' | 'revisions'
>

/** What is read: behind a position, up to the journals' sizes. */
type Range = { readonly from: Position; readonly to: Sizes }

/** Subscribed topics, each from where its subscription began. */
const listTopics = ({ session }: Listener, from: Position) =>
  [...(session.subscriptions ?? [])].flatMap(([uri, since]) => {
    const parsed = parseRecordUri(uri)
    if (parsed === undefined || parsed.version !== undefined) return []
    return [{ ...parsed.slot, from: Math.max(since, countVersions(from)) }]
  })

const inOrder = (happenings: readonly Happening[]): readonly Happening[] =>
  happenings.toSorted((left, right) => left.place - right.place || left.first - right.first)

export class JournalPages {
  readonly #store: PagesStore
  readonly #serviceName: string

  constructor(store: PagesStore, serviceName: string) {
    this.#store = store
    this.#serviceName = serviceName
  }

  /** The next page for all streams. */
  async everything(from: Position, to: Sizes): Promise<Page> {
    const reach = EVERYTHING.filter(({ audience }) => from[audience] < to[audience])
    const places = { from: countVersions(from), to: countVersions(to), limit: PAGE_VERSIONS }
    const versions = await this.#store.behind({ reach, ...places })
    return this.#readNoticedPage(versions, { from, to, limit: PAGE_VERSIONS })
  }

  /** The next page for a listener. */
  async pageFor(listener: Listener, from: Position, to: Sizes): Promise<Page> {
    const range = { from, to, limit: PAGE_VERSIONS }
    const versions = await this.#versionsFor(listener, range)
    return letsNoticeThrough(listener.session.logLevel)
      ? this.#readNoticedPage(versions, range)
      : this.#cutPage(versions, range)
  }

  /** Whether more frames than that are behind a position for a listener. */
  async isBeyond(listener: Listener, range: Range, framesMax: number): Promise<boolean> {
    let at = range.from
    let frames = 0
    while (isBefore(at, { ...range.to, frames: 0 })) {
      const rest = { from: at, to: range.to, limit: framesMax + 1 }
      const page = await this.#cutPage(await this.#versionsFor(listener, rest), rest)
      for (const happening of page.happenings) frames += happening.countFor(listener, at)
      if (frames > framesMax) return true
      at = page.end
    }
    return false
  }

  /** What changed behind a position, once for each record, and without notices. */
  async newestFor(listener: Listener, { from, to }: Range): Promise<Page> {
    const end = { to: countVersions(to), limit: 1, isNewest: true }
    const reach = readReach(listener.session.scopes)
    const [newest, [first]] = await Promise.all([
      this.#store.behindInTopics({ topics: listTopics(listener, from), ...end }),
      this.#store.behind({ reach, from: countVersions(from), isListChange: true, ...end }),
    ])
    const page = await this.#cutPage(newest, { from, to, limit: Number.POSITIVE_INFINITY })
    const byUri = new Map(page.happenings.map((happening) => [happening.uri, happening]))
    const isTold = first === undefined || newest.some(({ place }) => place === first.place)
    const more = { first: 0, serviceName: this.#serviceName, isListOnly: true }
    const list = isTold ? [] : [Happening.written(first, more)]
    return { happenings: inOrder([...byUri.values(), ...list]), end: page.end }
  }

  /** Versions with the topics that were freed among them. As many as the limit, there may be more. */
  async #cutPage(
    versions: readonly PlacedVersion[],
    { from, limit, to }: Range & { readonly limit: number },
  ): Promise<Page> {
    const serviceName = this.#serviceName
    const last = versions.length < limit ? undefined : versions.at(-1)
    const endPlace = last === undefined ? countVersions(to) : last.place
    const frees = Map.groupBy(
      await this.#store.freesBehind(countVersions(from), endPlace),
      countVersions,
    )
    const countAt = (place: number): number => frees.get(place)?.length ?? 0
    const written = versions.map((version) =>
      Happening.written(version, { first: countAt(version.place), serviceName }),
    )
    const freed = [...frees.values()].flatMap((all) =>
      all.flatMap((free, first) =>
        free.isErased ? [] : [Happening.freed(free, { first, serviceName })],
      ),
    )
    const behind = [...freed, ...written].filter(({ end }) => isBefore(from, end))
    const cutEnd = last === undefined ? undefined : written.at(-1)?.end
    return { happenings: inOrder(behind), end: cutEnd ?? { ...to, frames: countAt(endPlace) } }
  }

  /** The same with what their notices say. */
  async #readNoticedPage(
    versions: readonly PlacedVersion[],
    range: Range & { readonly limit: number },
  ): Promise<Page> {
    const [page, revisions] = await Promise.all([
      this.#cutPage(versions, range),
      this.#store.revisions(versions),
    ])
    const byPlace = new Map(versions.map(({ place }, at) => [place, revisions[at]]))
    for (const happening of page.happenings)
      if (happening.version > 0) happening.revision = byPlace.get(happening.place)
    return page
  }

  /** Versions with frames for a listener: others' writes cost one that hears no notices nothing. */
  async #versionsFor(
    listener: Listener,
    { from, limit, to }: Range & { readonly limit: number },
  ): Promise<readonly PlacedVersion[]> {
    const range = { to: countVersions(to), limit }
    const all = {
      ...range,
      reach: readReach(listener.session.scopes),
      from: countVersions(from),
    }
    if (letsNoticeThrough(listener.session.logLevel)) return this.#store.behind(all)
    const found = await Promise.all([
      this.#store.behindInTopics({ ...range, topics: listTopics(listener, from) }),
      this.#store.behind({ ...all, isListChange: true }),
    ])
    const byPlace = new Map(found.flat().map((version) => [version.place, version]))
    return [...byPlace.values()].toSorted((left, right) => left.place - right.place).slice(0, limit)
  }
}

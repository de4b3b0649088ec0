/**
 * What a process keeps in memory of the ledger: folded events and the truth table, both at one size of the ledger. No fold is
 * stored: a grade always comes from entries that a reader can check. A group of writes works on a draft, which a COMMIT makes
 * part of memory. When the ledger grows elsewhere, memory reads what other processes wrote. Cards are made from it.
 */
import { preimageHash } from '@tallystick/hashchain'
import type { GroupMemory, Rows, Statement } from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import {
  emptyTruth,
  type MutableTruth,
  readCell,
  type TruthTable,
  writeCell,
} from '../domain/calibration/truth-table.ts'
import type { TruthTally } from '../domain/calibration/truth-tally.ts'
import {
  type DecidedEvent,
  type FoundEvents,
  type IngestDecision,
  type LedgerWrite,
  listCountedPaths,
  listPaths,
  type PickDecision,
} from '../domain/closes/decide-ledger.ts'
import type { EventInfo, EventState } from '../domain/closes/event-state.ts'
import {
  GradingStoreUnavailable,
  type LedgerReader,
  type StoredPick,
} from '../domain/closes/grading-store.ts'
import type { CommittedPick } from '../domain/closes/pick-opening.ts'
import { eventPathIn } from '../domain/markets/markets.ts'
import { isFiledAlike, openEventSearch, type SearchDialect } from './event-search.ts'
import type { LedgerSource, LedgerSql } from './ledger-sql.ts'
import {
  type EntryRow,
  foldEvent,
  type PickRow,
  pickCells,
  readCommitted,
  readPick,
} from './stored-rows.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000

type EntryOfPath = readonly [...EntryRow, path: string]

/** The existing events of these paths, folded from their entries. */
async function readEvents(
  rows: Rows,
  { eventEntries, list }: Pick<LedgerSql, 'eventEntries' | 'list'>,
  paths: readonly string[],
): Promise<ReadonlyMap<string, FiledEvent>> {
  type Row = readonly [...EntryOfPath, id: number]
  const found = new Map<string, FiledEvent>()
  if (paths.length === 0) return found
  const entries = await rows<Row>(eventEntries, [list(paths)])
  for (const [path, own] of Map.groupBy(entries, (row) => row[3])) {
    const state = foldEvent(own)
    const last = own.at(-1)
    if (state !== undefined && last !== undefined)
      found.set(path, { id: last[4], state, lastSeq: last[0] })
  }
  return found
}

/** An event brought up to date with what was written since: one polled for weeks is not refolded every round. */
function withEntries(known: FiledEvent, rows: readonly EntryOfPath[]): FiledEvent {
  const later = rows.filter(([seq]) => seq > known.lastSeq)
  const state = foldEvent(later, known.state) ?? known.state
  return { ...known, state, lastSeq: later.at(-1)?.[0] ?? known.lastSeq }
}

type ChangedCell = readonly [size: number, key: string | null, cell: string | null]

/** The memory of one process; empty until it is brought up to date. */
export class LedgerMemory {
  #secret = ''
  readonly #sql: LedgerSql
  readonly #truth = emptyTruth()
  readonly #cache: BoundedMap<string, FiledEvent>
  /** Counts changes, so that nothing read before a change is kept after it. */
  #changes = 0

  constructor(sql: LedgerSql, eventsMax: number = CACHED_EVENTS_MAX) {
    this.#sql = sql
    this.#cache = new BoundedMap(eventsMax)
  }

  /** Reads what the ledger holds now; to be called once, before anything else. Rejects with GradingStoreUnavailable. */
  async load(rows: Rows): Promise<void> {
    const [secret] = await rows<readonly [string]>(this.#sql.secret)
    if (secret === undefined) throw new GradingStoreUnavailable('the ledger has lost its secret')
    this.#secret = secret[0]
    await this.takeUp(rows)
  }

  /** Salts payer tags and hidden prices. */
  get secret(): string {
    return this.#secret
  }

  get truth(): TruthTable {
    return this.#truth
  }

  /** The events of these paths, in order; those that are not in memory are read. */
  async events(rows: Rows, paths: readonly string[]): Promise<readonly (EventState | undefined)[]> {
    const known = paths.map((path) => this.#cache.get(path)?.state)
    if (!known.includes(undefined)) return known
    const readAt = this.#changes
    const missing = [...new Set(paths)].filter((path) => !this.#cache.has(path))
    const found = await readEvents(rows, this.#sql, missing)
    if (readAt === this.#changes) for (const [path, filed] of found) this.#cache.set(path, filed)
    return paths.map((path) => (this.#cache.get(path) ?? found.get(path))?.state)
  }

  /** Reads what was appended since. */
  async takeUp(rows: Rows): Promise<void> {
    for (;;) {
      const from = this.#truth.asOfSeq
      const cells = await rows<ChangedCell>(this.#sql.changedCells, [from])
      const size = cells[0]?.[0] ?? from
      if (size <= from) return
      const entries = await this.#readNewEntries(rows, from, size)
      // This process wrote meanwhile, or another read was quicker: read the rest again.
      if (this.#truth.asOfSeq !== from) continue
      this.#changes += 1
      for (const [path, own] of entries) {
        const known = this.#cache.get(path)
        if (known !== undefined) this.#cache.set(path, withEntries(known, own))
      }
      for (const [, key, cell] of cells) {
        if (key === null) continue
        this.#truth.cells.delete(key)
        if (cell !== null) readCell(this.#truth, key, cell)
      }
      this.#truth.asOfSeq = size
      return
    }
  }

  /** What other processes wrote about the kept events, by path. */
  async #readNewEntries(
    rows: Rows,
    from: number,
    size: number,
  ): Promise<ReadonlyMap<string, readonly EntryOfPath[]>> {
    if (this.#cache.size === 0) return new Map()
    const { changedEvents, list, newEntries } = this.#sql
    const changed = await rows<readonly [string]>(changedEvents, [from, size])
    const paths = changed.flat().filter((path) => this.#cache.has(path))
    if (paths.length === 0) return new Map()
    const found = await rows<EntryOfPath>(newEntries, [from, size, list(paths)])
    return Map.groupBy(found, (row) => row[3])
  }

  /** What groups of writes read and leave. */
  readonly groups: GroupMemory<'ledger', LedgerDraft, LedgerWrite> = {
    read: (rows, writes) => this.#draft(rows, writes),
    save: (draft, { ledger }) => draft.save(this.#sql, ledger),
    adopt: (draft, { ledger }) => this.#adopt(draft, ledger),
  }

  /** Reads what writes need to know, under the lock of the head. */
  async #draft(rows: Rows, writes: readonly LedgerWrite[]): Promise<LedgerDraft> {
    const { committed, lastEvent, list, picksByPayment } = this.#sql
    const paths = listPaths(writes)
    const payments = writes.flatMap((write) => (write.kind === 'pick' ? [write.paymentId] : []))
    const missing = paths.filter((path) => !this.#cache.has(path))
    const absent = new Set(missing)
    const [, found, picks, [[lastId] = [0]]] = await Promise.all([
      this.takeUp(rows),
      readEvents(rows, this.#sql, missing),
      payments.length === 0 ? [] : rows<PickRow>(picksByPayment, [list(payments)]),
      rows<readonly [number]>(lastEvent),
    ])
    const states = new Map(found)
    const cached = paths.filter((path) => !absent.has(path))
    // Readers may have pushed one out of memory meanwhile.
    const gone = cached.filter((path) => !this.#cache.has(path))
    for (const [path, filed] of await readEvents(rows, this.#sql, gone)) states.set(path, filed)
    for (const path of cached) {
      const filed = this.#cache.get(path)
      if (filed !== undefined) states.set(path, filed)
    }
    const counted = listCountedPaths(writes, { state: (path) => states.get(path)?.state })
    type Row = readonly [...PickRow, path: string]
    const read = counted.length === 0 ? [] : await rows<Row>(committed, [list(counted)])
    const byPath = Map.groupBy(read, (row) => row[6])
    return new LedgerDraft({
      from: this.#truth.asOfSeq,
      states,
      committed: new Map(counted.map((path) => [path, readCommitted(byPath.get(path) ?? [])])),
      picks: picks.map(readPick),
      truth: this.#truth,
      lastId,
    })
  }

  /** Takes up a committed group. */
  #adopt(draft: LedgerDraft, size: number): void {
    // A group that was found committed later, behind others': what it left is read with theirs.
    if (this.#truth.asOfSeq !== draft.from) return
    this.#changes += 1
    for (const [path, filed] of draft.events) {
      // An import passes through years of matches and rarely meets one twice.
      if (filed.state.hadResult && !this.#cache.has(path)) continue
      this.#cache.set(path, filed)
    }
    for (const [key, cell] of draft.changedCells())
      if (cell === undefined) this.#truth.cells.delete(key)
      else this.#truth.cells.set(key, cell)
    this.#truth.asOfSeq = size
  }
}

/** An event, and the id under which its entries are filed. */
type FiledEvent = DecidedEvent & { readonly id: number }

export class LedgerDraft implements FoundEvents {
  /** The ledger's size before the group. */
  readonly from: number
  readonly #states: Map<string, FiledEvent>
  /** Picks of the events that have a result before or after a write. */
  readonly #committed: Map<string, readonly CommittedPick[]>
  readonly #byPayment: Map<string, StoredPick>
  readonly #filed = new Map<number, EventInfo>()
  readonly #kept: StoredPick[] = []
  /** Keys of the truth table that the group changed. */
  readonly #dirty = new Set<string>()
  readonly #readable: TruthTable
  /** What readers see, with the cells of this group; made when something is counted. */
  #counted: MutableTruth | undefined
  #nextId: number

  constructor(found: {
    readonly from: number
    readonly states: Map<string, FiledEvent>
    readonly committed: Map<string, readonly CommittedPick[]>
    readonly picks: readonly StoredPick[]
    readonly truth: TruthTable
    readonly lastId: number
  }) {
    this.from = found.from
    this.#states = found.states
    this.#committed = found.committed
    this.#byPayment = new Map(found.picks.map((pick) => [pick.paymentId, pick]))
    this.#readable = found.truth
    this.#nextId = found.lastId + 1
  }

  /** The newest event's id, with those of the group so far. */
  get lastEventId(): number {
    return this.#nextId - 1
  }

  state(path: string): EventState | undefined {
    return this.#states.get(path)?.state
  }

  picks(path: string): readonly CommittedPick[] {
    const committed = this.#committed.get(path)
    // An empty list would pass for an event without picks.
    if (committed === undefined) throw new Error(`the picks on ${path} were not read`)
    return committed
  }

  pickOfPayment(paymentId: string): StoredPick | undefined {
    return this.#byPayment.get(paymentId)
  }

  /** The ids under which a decision's entries are filed; new events get the next ones. */
  assignIds({ events }: Pick<IngestDecision, 'events'>): ReadonlyMap<string, number> {
    const ids = new Map<string, number>()
    let next = this.#nextId
    for (const path of events.keys()) ids.set(path, this.#states.get(path)?.id ?? next++)
    return ids
  }

  /** Takes up a decided slice, with the ids that its entries have. */
  addIngested({ events, tally }: IngestDecision, ids: ReadonlyMap<string, number>): void {
    for (const [path, event] of events) {
      const before = this.#states.get(path)
      const id = ids.get(path) ?? this.#nextId
      this.#nextId = Math.max(this.#nextId, id + 1)
      if (before === undefined || !isFiledAlike(before.state.info, event.state.info))
        this.#filed.set(id, event.state.info)
      this.#states.set(path, { ...event, id })
    }
    this.#count(tally)
  }

  /** Takes up a pick that was decided. */
  addPick({ isKnown, pick, tally }: PickDecision): void {
    if (isKnown) return
    this.#kept.push(pick)
    this.#byPayment.set(pick.paymentId, pick)
    const { opening, seq } = pick
    const path = eventPathIn(opening.market)
    const committed = this.#committed.get(path)
    // A new list: earlier readers keep theirs.
    if (seq !== undefined && committed !== undefined)
      this.#committed.set(path, [...committed, { opening, seq }])
    if (tally !== undefined) this.#count(tally)
  }

  #count(tally: TruthTally): void {
    if (tally.isEmpty) return
    this.#counted ??= { cells: new Map(this.#readable.cells), asOfSeq: this.from }
    for (const key of tally.mergeInto(this.#counted)) this.#dirty.add(key)
  }

  /** The rows that the group leaves, with a ledger of so many entries behind it. */
  save(sql: LedgerSql, size: number): readonly Statement[] {
    const cells = [...this.#dirty].map((key) => {
      const cell = this.#counted?.cells.get(key)
      return [key, cell === undefined ? null : writeCell(cell)] as const
    })
    return [
      ...sql.file([...this.#filed]),
      ...(this.#kept.length === 0
        ? []
        : [{ text: sql.keepPicks, values: sql.values(this.#kept.map(pickCells)) }]),
      ...sql.keepCells(cells, size),
    ]
  }

  /** Events that the group read, and may have changed. */
  get events(): ReadonlyMap<string, FiledEvent> {
    return this.#states
  }

  /** The cells that the group changed; undefined for one that counts nothing any more. */
  changedCells() {
    return [...this.#dirty].map((key) => [key, this.#counted?.cells.get(key)] as const)
  }
}

/** Brings memory up to date where nothing announces other processes' writes. */
export type Freshen = () => Promise<void>

export function cardSource(
  {
    memory,
    search,
    source,
  }: {
    readonly memory: LedgerMemory
    readonly search: SearchDialect
    readonly source: Pick<LedgerSource, 'rows'>
  },
  freshen: Freshen,
): LedgerReader {
  const { rows } = source
  const events = async (paths: readonly string[]) => {
    await freshen()
    return memory.events(rows, paths)
  }
  const find = openEventSearch(search, async (text, values) => {
    await freshen()
    return (await rows<readonly [string]>(text, values)).map(([path]) => path)
  })
  return {
    events,
    searchEvents: async (wanted) =>
      (await events(await find(wanted))).flatMap((state) => state ?? []),
    truth: async () => {
      await freshen()
      return memory.truth
    },
    payerTag: async (payer) => preimageHash(`${memory.secret} ${payer}`).slice(0, 32),
  }
}

/**
 * The memory of one group of ledger writes: what it read at once for all of them, as each write left it, and the rows that it
 * saves. The process's own memory takes it up behind the COMMIT.
 */
import type { Statement } from '@tallystick/journal-store'
import type { CommittedPick } from '../domain/committed-pick.ts'
import type {
  DecidedEvent,
  FoundEvents,
  IngestDecision,
  PickDecision,
} from '../domain/decide-ledger.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type { StoredPick } from '../domain/grading-store.ts'
import { eventPathOf } from '../domain/markets.ts'
import { type MutableTruth, type TruthTable, writeCell } from '../domain/truth-table.ts'
import type { TruthTally } from '../domain/truth-tally.ts'
import { isFiledAlike } from './event-search.ts'
import type { LedgerSql } from './ledger-sql.ts'
import { pickCells } from './stored-rows.ts'

/** An event, and the id under which its entries are filed. */
export type FiledEvent = DecidedEvent & { readonly id: number }

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

  constructor(of: {
    readonly from: number
    readonly states: Map<string, FiledEvent>
    readonly committed: Map<string, readonly CommittedPick[]>
    readonly picks: readonly StoredPick[]
    readonly truth: TruthTable
    readonly lastId: number
  }) {
    this.from = of.from
    this.#states = of.states
    this.#committed = of.committed
    this.#byPayment = new Map(of.picks.map((pick) => [pick.paymentId, pick]))
    this.#readable = of.truth
    this.#nextId = of.lastId + 1
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
    const path = eventPathOf(opening.market)
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

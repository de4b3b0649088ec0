/** One attempt at a group of ledger writes: what they read, what they decide, and the result. */
import { type Awaitable, type TupleQuery, whenAnswered } from '@tallystick/journal-store'
import type { BoundedMap } from '@tallystick/service-kit'
import type { CommittedPick } from '../domain/committed-pick.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type { StoredPick } from '../domain/grading-store.ts'
import { eventPathOf } from '../domain/markets.ts'
import { type MutableTruth, writeCell } from '../domain/truth-table.ts'
import type { TruthTally } from '../domain/truth-tally.ts'
import { isFiledAlike } from './event-search.ts'
import type { LedgerSource, Send } from './ledger-sql.ts'
import {
  type Appendable,
  committedOf,
  type EntryRow,
  foldEvent,
  type PickRow,
  pickCells,
  pickOf,
} from './stored-rows.ts'

/** What a group of writes needs, on either engine. */
export type LedgerTransaction = {
  readonly journals: { readonly ledger: Appendable }
  readonly tuples: TupleQuery
  readonly send: Send
}

/** An event, the id under which its entries are filed, and the last entry folded into its state. */
export type FiledEvent = {
  readonly id: number
  readonly state: EventState
  readonly lastSeq: number
}

type LedgerReading = Pick<LedgerSource, 'ask' | 'sql'>
export type EntryOfPath = readonly [...EntryRow, path: string]

/** The existing events of these paths, folded from their entries. */
export function readEvents(
  source: LedgerReading,
  paths: readonly string[],
): Awaitable<ReadonlyMap<string, FiledEvent>> {
  type Row = readonly [...EntryOfPath, id: number]
  const found = new Map<string, FiledEvent>()
  if (paths.length === 0) return found
  const { entriesOf, list } = source.sql
  return whenAnswered([source.ask<Row>(entriesOf, [list(paths)])], ([rows]) => {
    for (const [path, own] of Map.groupBy(rows, (row) => row[3])) {
      const state = foldEvent(own)
      const last = own.at(-1)
      if (state !== undefined && last !== undefined)
        found.set(path, { id: last[4], state, lastSeq: last[0] })
    }
    return found
  })
}

/** One attempt at a group: what its writes read and keep, and the rows they produce. */
export class LedgerDraft {
  readonly ledger: Appendable
  /** The ledger's secret, which salts payer tags and hidden prices. */
  readonly secret: string
  /** Keys of the truth table that this attempt changed. */
  readonly dirty = new Set<string>()
  readonly #truth: MutableTruth
  readonly states = new Map<string, FiledEvent>()
  /** Events that were looked up, whether they exist or not. */
  readonly #asked = new Set<string>()
  /** Picks of the events that have a result before or after this write. */
  readonly #committed = new Map<string, readonly CommittedPick[]>()
  readonly #byPayment = new Map<string, StoredPick>()
  readonly #filed = new Map<number, EventInfo>()
  readonly #kept: StoredPick[] = []
  readonly #source: LedgerReading
  readonly #send: Send
  readonly #cache: BoundedMap<string, FiledEvent>
  /** The ledger's size before it. */
  readonly #from: number
  /** The id of the next new event. */
  #nextId = 0

  constructor(
    { journals, send, tuples }: LedgerTransaction,
    of: {
      readonly sql: LedgerReading['sql']
      readonly secret: string
      readonly truth: MutableTruth
      readonly cache: BoundedMap<string, FiledEvent>
    },
  ) {
    this.#source = { ask: tuples, sql: of.sql }
    this.#send = send
    this.#cache = of.cache
    this.secret = of.secret
    this.#truth = of.truth
    this.ledger = journals.ledger
    this.#from = this.ledger.size
  }

  /** Reads what writes about these events, and about a payment's pick, need to know. */
  prepare(paths: readonly string[], paymentId?: string): Awaitable<void> {
    const { ask, sql } = this.#source
    const asked = [...new Set(paths)].filter((path) => !this.#asked.has(path))
    for (const path of asked) {
      const filed = this.#cache.get(path)
      if (filed !== undefined) this.states.set(path, filed)
      this.#asked.add(path)
    }
    const missing = asked.filter((path) => !this.states.has(path))
    // An event that waits to be filed could be among them.
    if (sql.isEmbedded && missing.length > 0) this.#file()
    return whenAnswered(
      [
        readEvents(this.#source, missing),
        paymentId === undefined ? [] : ask<PickRow>(sql.pickByPayment, [paymentId]),
        this.#nextId > 0 ? [] : ask<readonly [number]>(sql.lastEvent),
      ],
      ([events, picks, [last]]) => {
        for (const [path, filed] of events) {
          this.states.set(path, filed)
          // Nothing is newer under the lock, so the fold stays useful even if this attempt is rolled back.
          if (filed.lastSeq < this.#from) this.#cache.set(path, filed)
        }
        for (const row of picks) this.#byPayment.set(row[1], pickOf(row))
        if (this.#nextId === 0) this.#nextId = (last?.[0] ?? 0) + 1
      },
    )
  }

  /** Reads all picks on these events; they matter only when a result changes. */
  preparePicks(paths: readonly string[]): Awaitable<void> {
    const asked = [...new Set(paths)].filter((path) => !this.#committed.has(path))
    if (asked.length === 0) return
    type Row = readonly [...PickRow, path: string]
    const { ask, sql } = this.#source
    return whenAnswered([ask<Row>(sql.committed, [sql.list(asked)])], ([rows]) => {
      const committed = Map.groupBy(rows, (row) => row[6])
      for (const path of asked) this.#takeCommitted(path, committed.get(path) ?? [])
    })
  }

  /** Finds all events without picks in one query, so that an embedded engine is not asked about each. */
  prepareWithoutPicks(paths: readonly string[], withPicks: string): Awaitable<void> {
    const { ask, sql } = this.#source
    return whenAnswered([ask<readonly [string]>(withPicks, [sql.list(paths)])], ([found]) => {
      const picked = new Set(found.flat())
      for (const path of paths)
        if (!picked.has(path) && !this.#committed.has(path)) this.#takeCommitted(path, [])
    })
  }

  #takeCommitted(path: string, rows: Parameters<typeof committedOf>[0]): void {
    const kept = this.#kept.flatMap(({ opening, seq }) =>
      seq !== undefined && eventPathOf(opening.market) === path ? [{ opening, seq }] : [],
    )
    this.#committed.set(path, [...committedOf(rows), ...kept])
  }

  /** An event that was prepared; an embedded engine reads any. */
  event(path: string): EventState | undefined {
    if (!this.#asked.has(path)) void this.prepare([path])
    return this.states.get(path)?.state
  }

  /** The id under which an event's entries are filed; a new id for an unknown event. */
  idFor(path: string): number {
    const known = this.states.get(path)?.id
    if (known !== undefined) return known
    const id = this.#nextId
    this.#nextId += 1
    return id
  }

  keepEvent(state: EventState): void {
    const { path } = state.info
    const before = this.states.get(path)
    const id = before?.id ?? this.#nextId - 1
    const lastSeq = this.ledger.size - 1
    if (before === undefined || !isFiledAlike(before.state.info, state.info))
      this.#filed.set(id, state.info)
    this.states.set(path, { id, state, lastSeq })
    if (!this.#source.sql.isEmbedded) return
    // An import passes through years of matches and rarely meets one twice: such a match is read again.
    if (state.hadResult && !this.#cache.has(path)) {
      this.states.delete(path)
      this.#asked.delete(path)
    }
  }

  #file(): void {
    this.#source.sql.file(this.#send, [...this.#filed])
    this.#filed.clear()
  }

  pickOfPayment(paymentId: string): StoredPick | undefined {
    return this.#byPayment.get(paymentId)
  }

  /** Picks committed on an event that were prepared; an embedded engine reads any. */
  picksOn(path: string): readonly CommittedPick[] {
    void this.preparePicks([path])
    const committed = this.#committed.get(path)
    // An empty list would pass for an event without picks.
    if (committed === undefined) throw new Error(`the picks on ${path} were not read`)
    return committed
  }

  keepPick(pick: StoredPick): void {
    this.#kept.push(pick)
    this.#byPayment.set(pick.paymentId, pick)
    const { opening, seq } = pick
    const path = eventPathOf(opening.market)
    const committed = this.#committed.get(path)
    // A new list: earlier readers keep theirs.
    if (seq !== undefined && committed !== undefined)
      this.#committed.set(path, [...committed, { opening, seq }])
  }

  count(tally: TruthTally): void {
    for (const key of tally.mergeInto(this.#truth)) this.dirty.add(key)
  }

  send(): void {
    const { sql } = this.#source
    const send = this.#send
    for (const values of sql.batches(this.#kept.map(pickCells))) send(sql.keepPicks, values)
    const cells = [...this.dirty].map((key) => {
      const cell = this.#truth.cells.get(key)
      return [key, cell === undefined ? null : writeCell(cell)] as const
    })
    this.#file()
    sql.keepCells(send, cells, this.ledger.size)
  }
}

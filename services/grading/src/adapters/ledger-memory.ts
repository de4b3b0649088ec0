/**
 * What a process keeps in memory of the ledger: folded events and the truth table, both at one size of the ledger. No fold is
 * stored: a grade always comes from entries that a reader can check. A group of writes works on a draft within its
 * transaction; a commit adopts the draft, anything else discards it. When the ledger grows, memory reads what other processes
 * wrote. An embedded engine answers at once, so its writes never wait.
 */
import { type Awaitable, type TupleQuery, whenAnswered } from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import type { EventState } from '../domain/event-state.ts'
import { emptyTruth, type MutableTruth, readCell, type TruthTable } from '../domain/truth-table.ts'
import {
  type EntryOfPath,
  type FiledEvent,
  LedgerDraft,
  type LedgerTransaction,
  readEvents,
} from './ledger-draft.ts'
import type { LedgerSource } from './ledger-sql.ts'
import { foldEvent } from './stored-rows.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000

/** An event brought up to date with what was written since: one polled for weeks is not refolded every round. */
function withEntries(known: FiledEvent, rows: readonly EntryOfPath[]): FiledEvent {
  const later = rows.filter(([seq]) => seq > known.lastSeq)
  const state = foldEvent(later, known.state) ?? known.state
  return { ...known, state, lastSeq: later.at(-1)?.[0] ?? known.lastSeq }
}

/** Cells are never changed in place, so that tables may share them. */
function shareCell(key: string, from: MutableTruth, to: MutableTruth): void {
  const cell = from.cells.get(key)
  if (cell === undefined) to.cells.delete(key)
  else to.cells.set(key, cell)
}

type NewEntries = ReadonlyMap<string, readonly EntryOfPath[]>
type ChangedCell = readonly [size: number, key: string | null, cell: string | null]

/** The memory of one process; empty until it is brought up to date. */
export class LedgerMemory {
  readonly secret: string
  readonly #sql: LedgerSource['sql']
  /** What readers see. */
  readonly #truth = emptyTruth()
  /** What the running group counts on: what readers see, plus the cells of the newest draft. */
  readonly #working = emptyTruth()
  readonly #cache: BoundedMap<string, FiledEvent>
  /** Counts changes, so that nothing read before a change is kept after it. */
  #changes = 0
  readonly #drafts = new WeakMap<object, LedgerDraft>()
  #newest: LedgerDraft | undefined

  constructor(sql: LedgerSource['sql'], secret: string, eventsMax: number = CACHED_EVENTS_MAX) {
    this.#sql = sql
    this.secret = secret
    this.#cache = new BoundedMap(eventsMax)
  }

  get truth(): TruthTable {
    return this.#truth
  }

  /** The events of these paths, in order; events that are not in memory are read through `ask`. */
  events(
    ask: TupleQuery,
    paths: readonly string[],
  ): Awaitable<readonly (EventState | undefined)[]> {
    const kept = paths.map((path) => this.#cache.get(path)?.state)
    if (!kept.includes(undefined)) return kept
    const readAt = this.#changes
    const missing = [...new Set(paths)].filter((path) => !this.#cache.has(path))
    return whenAnswered([readEvents({ ask, sql: this.#sql }, missing)], ([found]) => {
      if (readAt === this.#changes) for (const [path, filed] of found) this.#cache.set(path, filed)
      return paths.map((path) => (this.#cache.get(path) ?? found.get(path))?.state)
    })
  }

  /** Reads what was appended since; `ask` may run in one transaction or send each statement by itself. */
  takeUp(ask: TupleQuery): Awaitable<void> {
    const from = this.#truth.asOfSeq
    return whenAnswered([ask<ChangedCell>(this.#sql.changedCells, [from])], ([cells]) => {
      const size = cells[0]?.[0] ?? from
      if (size <= from) return
      return whenAnswered([this.#newEntries(ask, from, size)], ([entries]) => {
        // This process wrote meanwhile, or another read was quicker: read the rest again.
        if (this.#truth.asOfSeq !== from) return this.takeUp(ask)
        this.#changes += 1
        for (const [path, rows] of entries) {
          const known = this.#cache.get(path)
          if (known !== undefined) this.#cache.set(path, withEntries(known, rows))
        }
        this.#takeCells(cells)
        this.#truth.asOfSeq = size
      })
    })
  }

  /** What other processes wrote about the kept events, by path. */
  #newEntries(ask: TupleQuery, from: number, size: number): Awaitable<NewEntries> {
    const none: NewEntries = new Map()
    if (this.#cache.size === 0) return none
    const { changedEvents, list, newEntries } = this.#sql
    return whenAnswered([ask<readonly [string]>(changedEvents, [from, size])], ([changed]) => {
      const paths = changed.flat().filter((path) => this.#cache.has(path))
      if (paths.length === 0) return none
      const found = ask<EntryOfPath>(newEntries, [from, size, list(paths)])
      return whenAnswered([found], ([rows]) => Map.groupBy(rows, (row) => row[3]))
    })
  }

  #takeCells(cells: readonly ChangedCell[]): void {
    const texts = new Map<string, string | null>()
    if (this.#sql.deletesCells) for (const key of this.#truth.cells.keys()) texts.set(key, null)
    for (const [, key, cell] of cells) if (key !== null) texts.set(key, cell)
    for (const [key, text] of texts) {
      this.#truth.cells.delete(key)
      if (text !== null) readCell(this.#truth, key, text)
      if (this.#newest?.dirty.has(key) !== true) shareCell(key, this.#truth, this.#working)
    }
  }

  /** A transaction's draft, brought up to date when the transaction begins. */
  draftOf(transaction: LedgerTransaction): Awaitable<LedgerDraft> {
    const running = this.#drafts.get(transaction)
    if (running !== undefined) return running
    // Restores the cells of a draft that was not committed.
    for (const key of this.#newest?.dirty ?? []) shareCell(key, this.#truth, this.#working)
    this.#newest = undefined
    const isBehind = transaction.journals.ledger.size !== this.#truth.asOfSeq
    return whenAnswered([isBehind ? this.takeUp(transaction.tuples) : undefined], () => {
      const [sql, secret, truth, cache] = [this.#sql, this.secret, this.#working, this.#cache]
      const draft = new LedgerDraft(transaction, { sql, secret, truth, cache })
      this.#newest = draft
      this.#drafts.set(transaction, draft)
      return draft
    })
  }

  /** Sends the results of a transaction's writes. */
  send(transaction: LedgerTransaction): void {
    this.#drafts.get(transaction)?.send()
  }

  /** Adopts a committed draft, once. */
  take(draft: LedgerDraft): void {
    if (this.#newest !== draft) return
    this.#newest = undefined
    this.#changes += 1
    for (const [path, filed] of draft.states) this.#cache.set(path, filed)
    for (const key of draft.dirty) shareCell(key, this.#working, this.#truth)
    this.#truth.asOfSeq = draft.ledger.size
  }
}

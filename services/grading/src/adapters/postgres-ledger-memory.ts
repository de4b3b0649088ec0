/**
 * What a process keeps in memory of the ledger on PostgreSQL: folded events and the truth table, as they are at one size of
 * the ledger. A group of writes works on a draft under the lock of the head; what it comes to is taken over once it is
 * committed, and thrown away otherwise. What other processes wrote is looked up by the ledger's growth.
 */
import type { PostgresQuery, PostgresTransaction } from '@tallystick/journal-store/postgres'
import { BoundedMap } from '@tallystick/service-kit'
import type { CommittedPick } from '../domain/committed-pick.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type { StoredPick } from '../domain/grading-store.ts'
import { eventPathOf } from '../domain/markets.ts'
import { emptyTruth, type MutableTruth, readCell, writeCell } from '../domain/truth-table.ts'
import { isFiledAlike } from './event-search.ts'
import type { LedgerTables } from './ledger-writes.ts'
import {
  FILE_EVENTS,
  type FiledEvent,
  filedColumns,
  readCommitted,
  readEvents,
  readPicks,
} from './postgres-events.ts'
import {
  byKey,
  type EntryColumns,
  entryRow,
  foldEvent,
  PICK_COLUMNS,
  pickCells,
  pickOf,
} from './stored-rows.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000

type Transaction = PostgresTransaction<'ledger'>
type EventCache = BoundedMap<string, FiledEvent>

/** Head and cells of one moment. */
const CHANGED_CELLS = `SELECT size, key, cell FROM grading.journals LEFT JOIN grading.truth ON as_of > $1 WHERE name = 'ledger'`
const CHANGED_EVENTS = `SELECT DISTINCT path FROM grading.entries JOIN grading.events ON id = event WHERE at >= $1 AND at < $2`
const NEW_ENTRIES = `SELECT path, at AS seq, text, leaf_hash AS hash FROM grading.entries JOIN grading.events ON id = event
  WHERE at >= $1 AND at < $2 AND path = ANY($3) ORDER BY at`

/** Writes cells by key; null for one that counts nothing any more. */
export const PUT_CELLS = `INSERT INTO grading.truth (key, cell, as_of)
  SELECT key, cell, $3 FROM unnest($1::text[], $2::text[]) AS changed (key, cell)
  ON CONFLICT (key) DO UPDATE SET cell = excluded.cell, as_of = excluded.as_of`
const PUT_PICKS = `INSERT INTO grading.picks (event_path, ${PICK_COLUMNS})
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])`

const cellIn = (truth: MutableTruth, key: string): string | null => {
  const cell = truth.bands.get(key) ?? truth.lines.get(key)
  return cell === undefined ? null : writeCell(cell)
}

function putCell(truth: MutableTruth, key: string, text: string | null): void {
  truth.bands.delete(key)
  truth.lines.delete(key)
  if (text !== null) readCell(truth, key, text)
}

type NewEntry = EntryColumns & { readonly path: string }

/** An event with what was written about it since: one that is polled for weeks is not folded anew for each round. */
function withEntries(known: FiledEvent, rows: readonly NewEntry[]): FiledEvent {
  const later = rows.filter(({ seq }) => seq > known.lastSeq)
  const state = foldEvent(later.map(entryRow), known.state) ?? known.state
  return { ...known, state, lastSeq: later.at(-1)?.seq ?? known.lastSeq }
}

/** One attempt of a group: LedgerTables for its writes, and the rows that they come to. */
class Draft implements LedgerTables {
  readonly ledger: LedgerTables['ledger']
  readonly dirty = new Set<string>()
  readonly secret: string
  readonly table: { readonly truth: MutableTruth }
  readonly states = new Map<string, FiledEvent>()
  /** Events that were looked up, whether they are there or not. */
  readonly #asked = new Set<string>()
  /** Picks of the events whose result changes, or is changed by, what is written. */
  readonly #committed = new Map<string, readonly CommittedPick[]>()
  readonly #byPayment = new Map<string, StoredPick>()
  readonly #filed = new Map<number, EventInfo>()
  readonly #kept: StoredPick[] = []
  readonly #query: PostgresQuery
  readonly #cache: EventCache
  /** The id of the next new event. */
  #nextId = 0

  constructor(
    transaction: Transaction,
    of: { readonly secret: string; readonly truth: MutableTruth; readonly cache: EventCache },
  ) {
    const { ledger } = transaction.journals
    this.#query = transaction.query
    this.#cache = of.cache
    this.secret = of.secret
    this.table = of
    this.ledger = {
      get size() {
        return ledger.size
      },
      append: (hash, [event, text]) => ledger.append(hash, [event, Buffer.from(text)]),
    }
  }

  /** Reads what writes about these events, and a payment's pick, need to know. */
  async prepare(paths: readonly string[], paymentId?: string): Promise<void> {
    const asked = [...new Set(paths)].filter((path) => !this.#asked.has(path))
    for (const path of asked) {
      const filed = this.#cache.get(path)
      if (filed !== undefined) this.states.set(path, filed)
      this.#asked.add(path)
    }
    const missing = asked.filter((path) => !this.states.has(path))
    const known = paymentId === undefined ? [] : [paymentId]
    const [events, picks, last] = await Promise.all([
      readEvents(this.#query, missing),
      known.length === 0 ? [] : readPicks(this.#query, 'payment_id = ANY($1)', [known]),
      this.#nextId > 0
        ? []
        : this.#query<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM grading.events'),
    ])
    for (const [path, filed] of events) {
      this.states.set(path, filed)
      // Under the lock nothing is newer: an attempt that is taken back has not folded it for nothing.
      this.#cache.set(path, filed)
    }
    for (const row of picks) this.#byPayment.set(row[1], pickOf(row))
    if (this.#nextId === 0) this.#nextId = (last[0]?.id ?? 0) + 1
  }

  /** Reads all picks on these events: only a result that changes makes anything of them. */
  async preparePicks(paths: readonly string[]): Promise<void> {
    const asked = [...new Set(paths)].filter((path) => !this.#committed.has(path))
    if (asked.length === 0) return
    const committed = await readCommitted(this.#query, asked)
    for (const path of asked) {
      const kept = this.#kept.flatMap(({ opening, seq }) =>
        seq !== undefined && eventPathOf(opening.market) === path ? [{ opening, seq }] : [],
      )
      this.#committed.set(path, [...(committed.get(path) ?? []), ...kept])
    }
  }

  readonly events: LedgerTables['events'] = {
    read: (path) => this.states.get(path)?.state,
    idFor: (info) => {
      const known = this.states.get(info.path)?.id
      if (known !== undefined) return known
      const id = this.#nextId
      this.#nextId += 1
      this.#filed.set(id, info)
      return id
    },
    write: (state) => this.#write(state),
  }

  #write(state: EventState): void {
    const { path } = state.info
    const before = this.states.get(path)
    const id = before?.id ?? this.#nextId - 1
    const lastSeq = this.ledger.size - 1
    if (before === undefined || !isFiledAlike(before.state.info, state.info))
      this.#filed.set(id, state.info)
    this.states.set(path, { id, state, lastSeq })
  }

  readonly picks: LedgerTables['picks'] = {
    byPayment: (paymentId) => this.#byPayment.get(paymentId),
    committedOn: (path) => {
      const committed = this.#committed.get(path)
      // None at all would pass for a table without them.
      if (committed === undefined) throw new Error(`the picks on ${path} were not read`)
      return committed
    },
    insert: (pick) => {
      this.#kept.push(pick)
      this.#byPayment.set(pick.paymentId, pick)
      const { opening, seq } = pick
      const path = eventPathOf(opening.market)
      const committed = this.#committed.get(path)
      // A list of its own: whoever asked before keeps what was there.
      if (seq !== undefined && committed !== undefined)
        this.#committed.set(path, [...committed, { opening, seq }])
    },
  }

  /** Sends the rows of the group. */
  send(transaction: Transaction): void {
    const filed = [...this.#filed].map(([id, info]) => ({ id, info }))
    if (filed.length > 0) transaction.send(FILE_EVENTS, filedColumns(filed))
    const kept = this.#kept.map(pickCells)
    if (kept.length > 0)
      transaction.send(
        PUT_PICKS,
        [0, 1, 2, 3, 4, 5, 6].map((column) => kept.map((cells) => cells[column])),
      )
    const keys = [...this.dirty]
    if (keys.length > 0)
      transaction.send(PUT_CELLS, [
        keys,
        keys.map((key) => cellIn(this.table.truth, key)),
        this.ledger.size,
      ])
  }
}

export type LedgerMemory = ReturnType<typeof openLedgerMemory>

/** The memory of one process; empty until it is brought up to date. */
export function openLedgerMemory(secret: string) {
  /** What readers see. */
  const truth = emptyTruth()
  /** What the running group counts on; equal to `truth` but for the cells of the newest draft. */
  const working = emptyTruth()
  const cache: EventCache = new BoundedMap(CACHED_EVENTS_MAX)
  /** Counts changes: what was read before one is not kept behind it. */
  let changes = 0
  const drafts = new WeakMap<object, Draft>()
  let newest: Draft | undefined

  /** Cells that a draft counted on and that were not committed go back to what is. */
  function forgetDraft(): void {
    for (const key of newest?.dirty ?? []) putCell(working, key, cellIn(truth, key))
    newest = undefined
  }

  /** What others wrote about the events that are kept, by path. */
  async function newEntries(query: PostgresQuery, from: number, size: number) {
    const changed = await query<{ path: string }>(CHANGED_EVENTS, [from, size])
    const paths = changed.flatMap(({ path }) => (cache.get(path) === undefined ? [] : [path]))
    if (paths.length === 0) return new Map<string, readonly NewEntry[]>()
    return byKey(await query<NewEntry>(NEW_ENTRIES, [from, size, paths]), ({ path }) => path)
  }

  /** Looks up what the ledger has grown by; `query` sees it in one transaction, or each statement by itself. */
  async function takeUp(query: PostgresQuery): Promise<void> {
    const from = truth.asOfSeq
    const cells = await query<{ size: number; key: string | null; cell: string | null }>(
      CHANGED_CELLS,
      [from],
    )
    const size = cells[0]?.size ?? from
    if (size <= from) return
    const entries = cache.size === 0 ? new Map() : await newEntries(query, from, size)
    // This process wrote meanwhile, or another look was quicker: what is left is looked up anew.
    if (truth.asOfSeq !== from) return takeUp(query)
    changes += 1
    for (const [path, rows] of entries) {
      const known = cache.get(path)
      if (known !== undefined) cache.set(path, withEntries(known, rows))
    }
    for (const { key, cell } of cells) {
      if (key === null) continue
      putCell(truth, key, cell)
      if (newest?.dirty.has(key) !== true) putCell(working, key, cell)
    }
    truth.asOfSeq = size
  }

  return {
    secret,
    truth,
    takeUp,
    cached: (path: string): FiledEvent | undefined => cache.get(path),
    /** Keeps what was read, unless something was written meanwhile. */
    keep: (found: ReadonlyMap<string, FiledEvent>, readAt: number): void => {
      if (readAt === changes) for (const [path, filed] of found) cache.set(path, filed)
    },
    /** The count of changes, for `keep`. */
    changes: (): number => changes,
    /** The draft of a transaction, brought up to date when it begins. */
    draftOf: async (transaction: Transaction): Promise<Draft> => {
      const running = drafts.get(transaction)
      if (running !== undefined) return running
      forgetDraft()
      if (transaction.journals.ledger.size !== truth.asOfSeq) await takeUp(transaction.query)
      const draft = new Draft(transaction, { secret, truth: working, cache })
      newest = draft
      drafts.set(transaction, draft)
      return draft
    },
    /** Sends what a transaction's writes came to. */
    send: (transaction: Transaction): void => drafts.get(transaction)?.send(transaction),
    /** Takes over a committed draft, once. */
    take: (draft: Draft): void => {
      if (newest !== draft) return
      newest = undefined
      changes += 1
      for (const [path, filed] of draft.states) cache.set(path, filed)
      for (const key of draft.dirty) putCell(truth, key, cellIn(working, key))
      truth.asOfSeq = draft.ledger.size
    },
  }
}

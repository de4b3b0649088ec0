/**
 * Events read from the ledger's own entries and folded, with the most asked ones kept in memory. Nothing folded is stored:
 * a grade is always of entries that a reader can check.
 */
import type { DatabaseSync } from 'node:sqlite'
import { applyEntry } from '../domain/apply-entry.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import type { EventLedgerEntry } from '../domain/ledger-entry.ts'
import { eventWords } from '../domain/search-words.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000

/** Reads and keeps events of one connection. */
export type EventReader = {
  /** Undefined where the ledger has no such event. */
  read(path: string): EventState | undefined
  /** The id under which entries about an event are filed; a new one for an event that is new. */
  idFor(info: EventInfo): number
  /** Takes in an event's new state, within the caller's transaction. */
  write(state: EventState): void
  search(search: EventSearch): readonly EventInfo[]
  /** Forgets everything folded: after a rollback, or another process's write. */
  forget(): void
}

/** [seq, text, hash] */
type EntryRow = readonly [number, string, Uint8Array]

/** Opens the events of a connection. */
export function openEventReader(database: DatabaseSync): EventReader {
  const idOf = prepareQuery<readonly [number]>(database, 'SELECT id FROM events WHERE path = ?')
  const entriesOf = prepareQuery<EntryRow>(
    database,
    'SELECT seq, text, hash FROM entries WHERE event = ? ORDER BY seq',
  )
  const found = prepareQuery<readonly [string]>(
    database,
    `SELECT path FROM events WHERE start_at >= ? AND start_at < ? AND (? = '' OR sport = ?)
      AND NOT EXISTS (SELECT 1 FROM json_each(?) AS word WHERE instr(words, word.value) = 0)
      ORDER BY start_at DESC LIMIT ?`,
  )
  const insert = database.prepare(
    'INSERT INTO events (path, sport, start_at, words) VALUES (?, ?, ?, ?)',
  )
  const move = database.prepare('UPDATE events SET start_at = ?, words = ? WHERE path = ?')
  const cache = new Map<string, EventState>()

  function keep(path: string, state: EventState): void {
    cache.delete(path)
    cache.set(path, state)
    if (cache.size <= CACHED_EVENTS_MAX) return
    for (const oldest of cache.keys()) {
      cache.delete(oldest)
      break
    }
  }

  function read(path: string): EventState | undefined {
    const cached = cache.get(path)
    if (cached !== undefined) return cached
    const row = idOf.get(path)
    if (row === undefined) return undefined
    let state: EventState | undefined
    for (const [seq, text, hash] of entriesOf.all(row[0])) {
      const record = { seq, hash: Buffer.from(hash).toString('hex') }
      state = applyEntry(state, JSON.parse(text) as EventLedgerEntry, record)
    }
    if (state !== undefined) keep(path, state)
    return state
  }

  return {
    read,
    idFor: (info) => {
      const { path, sport, startAtSeconds } = info
      const id = idOf.get(path)?.[0]
      if (id !== undefined) return id
      return Number(insert.run(path, sport, startAtSeconds, eventWords(info)).lastInsertRowid)
    },
    write: (state) => {
      const { path, startAtSeconds } = state.info
      const before = cache.get(path)
      if (before !== undefined && before.info.startAtSeconds !== startAtSeconds)
        move.run(startAtSeconds, eventWords(state.info), path)
      keep(path, state)
    },
    search: ({ sport = '', from, to, words, limit }) => {
      const begun = JSON.stringify(words.map((word) => ` ${word}`))
      const lowest = from ?? Number.MIN_SAFE_INTEGER
      const highest = to ?? Number.MAX_SAFE_INTEGER
      return found
        .all(lowest, highest, sport, sport, begun, limit)
        .flatMap(([path]) => read(path)?.info ?? [])
    },
    forget: () => cache.clear(),
  }
}

/**
 * Events read from the ledger's own entries and folded; those that were folded last are kept in memory. Nothing folded is
 * stored: a grade is always of entries that a reader can check.
 */
import type { DatabaseSync } from 'node:sqlite'
import { applyEntry } from '../domain/apply-entry.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import type { EventLedgerEntry } from '../domain/ledger-entry.ts'
import { openEventIndex } from './sqlite-event-index.ts'
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
  const index = openEventIndex(database)
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
    idFor: (info) => idOf.get(info.path)?.[0] ?? index.add(info),
    write: (state) => {
      const { path } = state.info
      const before = cache.get(path)
      if (before !== undefined) index.refile(before.info, state.info)
      keep(path, state)
    },
    search: (search) => index.find(search).flatMap((path) => read(path)?.info ?? []),
    forget: () => cache.clear(),
  }
}

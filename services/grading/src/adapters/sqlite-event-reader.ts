/**
 * Events read from the ledger's own entries and folded, with the most asked ones kept in memory. Nothing folded is stored:
 * a grade is always of entries that a reader can check.
 */
import type { DatabaseSync } from 'node:sqlite'
import { applyEntry } from '../domain/apply-entry.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import type { EventLedgerEntry } from '../domain/ledger-entry.ts'
import { eventWords, PREFIX_LETTERS_MIN } from '../domain/search-words.ts'
import { prepareQuery } from './sqlite-grading-database.ts'

/** Events kept folded, some 5 kB each: a busy weekend of matches fits. */
const CACHED_EVENTS_MAX = 20_000
/** Events with the words of a search that are looked at, the last recorded first: "united" alone is in tens of thousands. */
const FOUND_EVENTS_MAX = 1_000

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

/** A sport's name as one word of the index, which no team has. */
const sportWord = (sport: string): string => `sport${sport.replace(/[_-]/g, '')}`

const isBeginning = ({ isWholeWords = false }: EventSearch, word: string): boolean =>
  !isWholeWords && word.length >= PREFIX_LETTERS_MIN

/** A search in the index's language; words are letters and digits only, so that nothing in them is an operator. */
function matchText(search: EventSearch): string {
  const words = search.words.map((word) => `"${word}"${isBeginning(search, word) ? '*' : ''}`)
  const { sport } = search
  return (sport === undefined ? words : [...words, `"${sportWord(sport)}"`]).join(' AND ')
}

const isFiledAlike = (one: EventInfo, other: EventInfo): boolean =>
  one.startAtSeconds === other.startAtSeconds &&
  one.home === other.home &&
  one.away === other.away &&
  one.league === other.league

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
      AND NOT EXISTS (SELECT 1 FROM json_each(?) AS word WHERE instr(words || ' ', word.value) = 0)
      ORDER BY start_at DESC LIMIT ?`,
  )
  const named = prepareQuery<readonly [string]>(
    database,
    `SELECT path FROM events WHERE id IN
      (SELECT rowid FROM event_words WHERE event_words MATCH ? ORDER BY rowid DESC LIMIT ${FOUND_EVENTS_MAX})
      ORDER BY start_at DESC LIMIT ?`,
  )
  const insertWords = database.prepare('INSERT INTO event_words (rowid, words) VALUES (?, ?)')
  const moveWords = database.prepare(
    'UPDATE event_words SET words = ? WHERE rowid = (SELECT id FROM events WHERE path = ?)',
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
      const words = eventWords(info)
      const added = Number(insert.run(path, sport, startAtSeconds, words).lastInsertRowid)
      insertWords.run(added, sportWord(sport) + words)
      return added
    },
    write: (state) => {
      const { path, startAtSeconds } = state.info
      const before = cache.get(path)
      if (before !== undefined && !isFiledAlike(before.info, state.info)) {
        const words = eventWords(state.info)
        move.run(startAtSeconds, words, path)
        moveWords.run(sportWord(state.info.sport) + words, path)
      }
      keep(path, state)
    },
    search: (search) => {
      const { sport = '', from, to, words, limit } = search
      const isAnyDay = from === undefined && to === undefined
      const rows =
        isAnyDay && words.length > 0
          ? named.all(matchText(search), limit)
          : found.all(
              from ?? Number.MIN_SAFE_INTEGER,
              to ?? Number.MAX_SAFE_INTEGER,
              sport,
              sport,
              JSON.stringify(
                words.map((word) => (isBeginning(search, word) ? ` ${word}` : ` ${word} `)),
              ),
              limit,
            )
      return rows.flatMap(([path]) => read(path)?.info ?? [])
    },
    forget: () => cache.clear(),
  }
}

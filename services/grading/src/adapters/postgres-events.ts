/** Statements about events and picks on PostgreSQL, and what their rows are. */
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
import type { CommittedPick } from '../domain/committed-pick.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import { eventWords } from '../domain/find-events.ts'
import { teamKey } from '../domain/team-names.ts'
import { type SearchDialect, sportWord } from './event-search.ts'
import {
  byKey,
  committedOf,
  type EntryColumns,
  entryRow,
  foldEvent,
  PICK_COLUMNS,
  type PickColumns,
  type PickRow,
  pickRow,
} from './stored-rows.ts'

/** An event with the id under which its entries are filed, and the last entry that its state has. */
export type FiledEvent = {
  readonly id: number
  readonly state: EventState
  readonly lastSeq: number
}

/** Reads picks by a condition. */
export const readPicks = async (
  query: PostgresQuery,
  where: string,
  values: readonly unknown[],
): Promise<readonly PickRow[]> =>
  (
    await query<PickColumns>(`SELECT ${PICK_COLUMNS} FROM grading.picks WHERE ${where}`, values)
  ).map(pickRow)

/** The events of these paths that are there, folded from their entries. */
export async function readEvents(
  query: PostgresQuery,
  paths: readonly string[],
): Promise<ReadonlyMap<string, FiledEvent>> {
  if (paths.length === 0) return new Map()
  const rows = await query<EntryColumns & { readonly path: string; readonly id: number }>(
    `SELECT path, id, at AS seq, text, leaf_hash AS hash FROM grading.events JOIN grading.entries ON event = id
      WHERE path = ANY($1) ORDER BY at`,
    [paths],
  )
  const found = new Map<string, FiledEvent>()
  for (const [path, own] of byKey(rows, (row) => row.path)) {
    const state = foldEvent(own.map(entryRow))
    const last = own.at(-1)
    if (state !== undefined && last !== undefined)
      found.set(path, { id: last.id, state, lastSeq: last.seq })
  }
  return found
}

/** The picks committed on these events, by path, in the order of the ledger. */
export async function readCommitted(
  query: PostgresQuery,
  paths: readonly string[],
  afterSeq = -1,
): Promise<ReadonlyMap<string, readonly CommittedPick[]>> {
  const rows = await query<PickColumns & { readonly event_path: string }>(
    `SELECT event_path, ${PICK_COLUMNS} FROM grading.picks
      WHERE event_path = ANY($1) AND seq > $2 ORDER BY seq`,
    [paths, afterSeq],
  )
  const groups = [...byKey(rows, (row) => row.event_path)]
  return new Map(groups.map(([path, own]) => [path, committedOf(own.map(pickRow))]))
}

/** PostgreSQL takes words of 2,046 bytes at most; what is longer is filed, and asked for, by its beginning. */
const WORD_LETTERS_MAX = 500

const filedWord = (word: string): string => word.slice(0, WORD_LETTERS_MAX)

/** Files events, new ones and such whose day or names changed. */
export const FILE_EVENTS = `INSERT INTO grading.events (id, path, sport, start_at, words, search, home, away)
  SELECT id, path, sport, start_at, words, array_to_tsvector(array_remove(string_to_array(filed, ' '), '')), home, away
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
      AS event (id, path, sport, start_at, words, filed, home, away)
  ON CONFLICT (id) DO UPDATE SET start_at = excluded.start_at, words = excluded.words, search = excluded.search,
    home = excluded.home, away = excluded.away`

/** The words that an event is found by, as FILE_EVENTS takes them. */
export const filedText = (sport: string, words: string): string =>
  [sportWord(sport), ...words.split(' ').map(filedWord)].join(' ')

/** The arrays of FILE_EVENTS. */
export function filedColumns(
  events: readonly { readonly id: number; readonly info: EventInfo }[],
): readonly (readonly unknown[])[] {
  const infos = events.map(({ info }) => info)
  const words = infos.map(eventWords)
  return [
    events.map(({ id }) => id),
    infos.map(({ path }) => path),
    infos.map(({ sport }) => sport),
    infos.map(({ startAtSeconds }) => startAtSeconds),
    words,
    infos.map(({ sport }, at) => filedText(sport, words[at] ?? '')),
    infos.map(({ home }) => teamKey(home)),
    infos.map(({ away }) => teamKey(away)),
  ]
}

export const POSTGRES_SEARCH: SearchDialect = {
  // The words first, whatever the planner thinks of them: it cannot know how rare they are.
  byWords: `WITH found AS MATERIALIZED (SELECT id, path, sport, start_at FROM events WHERE search @@ $1::tsquery)
    SELECT * FROM found ORDER BY id DESC`,
  matched: (word, isBeginning) => `'${filedWord(word)}'${isBeginning ? ':*' : ''}`,
  and: ' & ',
  teams: 'events AS teams',
  among: (column, value) => `${column} = ANY(${value})`,
  list: (texts) => texts,
  lackedParts: "SELECT FROM unnest($3::text[]) AS part WHERE strpos(words || ' ', part) = 0",
}

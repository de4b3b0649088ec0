/** Statements about events and picks on PostgreSQL, and what their rows are. */
import type { PostgresQuery } from '@tallystick/journal-store/postgres'
import type { CommittedPick } from '../domain/committed-pick.ts'
import type { EventInfo, EventState } from '../domain/event-state.ts'
import { eventWords } from '../domain/find-events.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import { teamKey } from '../domain/team-names.ts'
import {
  daysOf,
  FOUND_EVENTS_MAX,
  isBeginning,
  isByWords,
  sportWord,
  wordParts,
} from './event-search.ts'
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

/** The words first, whatever the planner thinks of them: it cannot know how rare they are. */
const BY_WORDS = `WITH found AS MATERIALIZED (SELECT id, path, sport, start_at FROM grading.events WHERE search @@ $1::tsquery)
  SELECT path FROM (SELECT * FROM found ORDER BY id DESC LIMIT ${FOUND_EVENTS_MAX}) AS latest
  WHERE sport = coalesce($2, sport) ORDER BY start_at DESC, id DESC LIMIT $3`

const byStart = (condition: string): string => `SELECT path FROM grading.events
  WHERE start_at >= $1 AND start_at < $2 ${condition}
    AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS part WHERE strpos(words || ' ', part) = 0)
  ORDER BY start_at DESC, id DESC LIMIT $4`

/** Two, so that each has its index: a rare sport must not be searched for in every event. */
const [BY_START, BY_SPORT] = [byStart(''), byStart('AND sport = $5')]

const byTeams = (sides: string): string => `SELECT path FROM grading.events
  WHERE start_at >= $1 AND start_at < $2 AND sport = coalesce($3, sport) AND ${sides}
  ORDER BY start_at DESC, id DESC LIMIT $4`
const [BY_BOTH, BY_HOME, BY_AWAY] = [
  byTeams('home = ANY($5) AND away = ANY($6)'),
  byTeams('home = ANY($5)'),
  byTeams('away = ANY($5)'),
]

/** Statement and values of a search. */
function lookUp(search: EventSearch): readonly [text: string, values: readonly unknown[]] {
  const { limit, sport, teams } = search
  const days = daysOf(search)
  if (teams !== undefined) {
    const { home, away } = teams
    const sides = [home, away].filter((keys) => keys !== undefined)
    const text = away === undefined ? BY_HOME : home === undefined ? BY_AWAY : BY_BOTH
    return [text, [...days, sport ?? null, limit, ...sides]]
  }
  if (isByWords(search)) return [BY_WORDS, [matchText(search), sport ?? null, limit]]
  const values = [...days, wordParts(search), limit]
  return sport === undefined ? [BY_START, values] : [BY_SPORT, [...values, sport]]
}

/** A search in the index's language; words are letters and digits only, so that nothing in them is an operator. */
function matchText(search: EventSearch): string {
  const words = search.words.map(
    (word) => `'${filedWord(word)}'${isBeginning(search, word) ? ':*' : ''}`,
  )
  const { sport } = search
  return (sport === undefined ? words : [...words, `'${sportWord(sport)}'`]).join(' & ')
}

/** Paths of the events that fit, newest first. */
export async function findEvents(
  query: PostgresQuery,
  search: EventSearch,
): Promise<readonly string[]> {
  const { teams } = search
  if (teams !== undefined && teams.home === undefined && teams.away === undefined) return []
  const rows = await query<{ path: string }>(...lookUp(search))
  return rows.map(({ path }) => path)
}

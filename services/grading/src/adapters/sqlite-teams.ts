/** The index of events by their teams' keys and start: what names in picks are looked up in. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import type { EventInfo } from '../domain/event-state.ts'
import type { EventSearch } from '../domain/grading-store.ts'
import { teamKey } from '../domain/team-names.ts'

type TeamSearch = EventSearch & { readonly teams: NonNullable<EventSearch['teams']> }

const lookUp = (sides: string): string =>
  `SELECT path FROM event_teams JOIN events USING (id)
    WHERE ${sides} AND event_teams.start_at >= ? AND event_teams.start_at < ? AND sport = coalesce(?, sport)
    ORDER BY event_teams.start_at DESC LIMIT ?`

const HOME = 'home IN (SELECT value FROM json_each(?))'
const AWAY = 'away IN (SELECT value FROM json_each(?))'

/** Each with its own index. */
const TEAM_LOOKUPS = {
  both: lookUp(`${HOME} AND ${AWAY}`),
  home: lookUp(HOME),
  away: lookUp(AWAY),
} as const

/** Events that an earlier version filed without their teams: their names are only in their entries. */
const UNFILED = `SELECT id, (SELECT text FROM entries WHERE event = events.id ORDER BY seq DESC LIMIT 1), start_at
  FROM events WHERE id > (SELECT coalesce(max(id), 0) FROM event_teams)`

/** The index of one connection; it writes within the caller's transaction. */
export function openTeamIndex(database: DatabaseSync) {
  const insert = database.prepare(
    'INSERT OR IGNORE INTO event_teams (id, home, away, start_at) VALUES (?, ?, ?, ?)',
  )
  const move = database.prepare(
    'UPDATE event_teams SET home = ?, away = ?, start_at = ? WHERE id = (SELECT id FROM events WHERE path = ?)',
  )
  const lookups = {
    both: prepareQuery<readonly [string]>(database, TEAM_LOOKUPS.both),
    home: prepareQuery<readonly [string]>(database, TEAM_LOOKUPS.home),
    away: prepareQuery<readonly [string]>(database, TEAM_LOOKUPS.away),
  }
  const add = (id: number, { home, away, startAtSeconds }: TeamsAndStart): void => {
    insert.run(id, teamKey(home), teamKey(away), startAtSeconds)
  }
  fileUnfiled(database, add)

  return {
    add,
    refile: ({ path, home, away, startAtSeconds }: EventInfo): void => {
      move.run(teamKey(home), teamKey(away), startAtSeconds, path)
    },
    /** Paths of the events that fit, newest first. */
    find: ({ teams, sport, from, to, limit }: TeamSearch): readonly string[] => {
      const { home, away } = teams
      const rest = [
        from ?? Number.MIN_SAFE_INTEGER,
        to ?? Number.MAX_SAFE_INTEGER,
        sport ?? null,
        limit,
      ] as const
      const sides = [home, away].flatMap((keys) => (keys === undefined ? [] : JSON.stringify(keys)))
      const lookup =
        away === undefined ? lookups.home : home === undefined ? lookups.away : lookups.both
      return sides.length === 0 ? [] : lookup.all(...sides, ...rest).map(([path]) => path)
    },
  }
}

type TeamsAndStart = Pick<EventInfo, 'home' | 'away' | 'startAtSeconds'>

/** Once, for a ledger of an earlier version: some 20 µs an event. */
function fileUnfiled(database: DatabaseSync, add: (id: number, info: TeamsAndStart) => void): void {
  const unfiled = prepareQuery<readonly [number, string | null, number]>(database, UNFILED).all()
  if (unfiled.length === 0) return
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const [id, text, startAtSeconds] of unfiled) {
      const { event } = JSON.parse(text ?? '{}') as { readonly event?: EventInfo }
      if (event !== undefined) add(id, { ...event, startAtSeconds })
    }
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

/** The index of events by their teams' keys and start: what names in picks are looked up in. */
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'
import type { EventInfo } from '../domain/event-state.ts'
import { teamKey } from '../domain/team-names.ts'

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
  const add = (id: number, { home, away, startAtSeconds }: TeamsAndStart): void => {
    insert.run(id, teamKey(home), teamKey(away), startAtSeconds)
  }
  fileUnfiled(database, add)

  return {
    add,
    refile: ({ path, home, away, startAtSeconds }: EventInfo): void => {
      move.run(teamKey(home), teamKey(away), startAtSeconds, path)
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

// Records that were put back from a backup hold less than the rows beside them tell of. Whoever was told of what is gone must
// miss nothing of what takes its place.
import type { SqlQuery } from '@tallystick/journal-store'
import { countVersions, type Position } from '../../domain/position.ts'
import type { SideRows } from './side-rows.ts'

/** Their clients hold event ids of what is gone: they begin anew, and read afresh. */
const END_BEYOND = [
  `DELETE FROM mcp_subscriptions WHERE session IN
    (SELECT number FROM mcp_sessions WHERE carried_user > $1 OR carried_assistant > $2)`,
  'DELETE FROM mcp_sessions WHERE carried_user > $1 OR carried_assistant > $2',
]
/** They go on where the records end. */
const BRING_BACK = [
  'UPDATE mcp_subscriptions SET since = $1 WHERE since > $1',
  'UPDATE mcp_judged SET place = $1 WHERE place > $1',
  'UPDATE event_subscriptions SET done_to = $1 WHERE done_to > $1',
]

/** Brings rows that reach beyond the journals back to them, in a transaction; without any, nothing changes. */
export async function bringBackRows(
  query: SqlQuery,
  sizes: Pick<Position, 'user' | 'assistant'>,
): Promise<void> {
  const { assistant, user } = sizes
  await Promise.all([
    ...END_BEYOND.map((text) => query(text, [user, assistant])),
    ...BRING_BACK.map((text) => query(text, [countVersions(sizes)])),
  ])
}

/** An operator gave up what is missing: any client may hold an event id of it, whatever its row tells. */
export async function endSessions(rows: SideRows): Promise<void> {
  await rows.transaction((query) =>
    Promise.all(
      ['mcp_subscriptions', 'mcp_sessions'].map((table) => query(`DELETE FROM ${table}`)),
    ),
  )
}

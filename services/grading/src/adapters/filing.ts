/**
 * A call of ingest that files new events. Which of the ledger's events a feed means is decided before the write (event-ids.ts,
 * join-feeds.ts), so another process, or another call, may file the same match in between. Whoever comes second finds that out
 * under the lock of the head, and decides again.
 */
import type { Rows } from '@tallystick/journal-store'
import type { Observation } from '../domain/closes/observation.ts'
import { teamKey, teamKeys } from '../domain/markets/team-names.ts'

export type Filing = ReturnType<typeof openFiling>

/** What a write of the call filed. */
export type FiledEvents = {
  readonly ids: readonly number[]
  /** The newest event's id before it. */
  readonly lastEventId: number
}

const FILED_SINCE = 'SELECT id, sport, home, away FROM events WHERE id > $1'

type FiledRow = readonly [id: number, sport: string, home: string, away: string]

/** `matchedAt` is the newest event's id when the observations were matched; undefined for those that name their events themselves. */
export function openFiling(matchedAt: number | undefined) {
  const own = new Set<number>()
  /** The newest event if nobody else has filed any. */
  let expected = matchedAt
  return {
    /** Whether one of the observations may be of a match that somebody else filed since; `rows` reads under the lock. */
    async mayBeFiled(
      observations: readonly Observation[],
      { lastEventId, rows }: { readonly lastEventId: number; readonly rows: Rows },
    ): Promise<boolean> {
      if (matchedAt === undefined || lastEventId === expected) return false
      const filed = (await rows<FiledRow>(FILED_SINCE, [matchedAt])).filter(([id]) => !own.has(id))
      // What the same commit files for others cannot be read yet.
      const seen = Math.max(matchedAt, ...own, ...filed.map(([id]) => id))
      return (
        seen < lastEventId ||
        observations.some((observation) => filed.some((row) => isSameMatch(row, observation)))
      )
    },
    /** Takes note of what it filed itself. */
    filed({ ids, lastEventId }: FiledEvents): void {
      for (const id of ids) if (matchedAt !== undefined && id > matchedAt) own.add(id)
      if (expected === lastEventId) expected = Math.max(lastEventId, ...own)
    },
  }
}

/** Whether an observation's teams are those of a filed event. */
function isSameMatch([, sport, home, away]: FiledRow, { event }: Observation): boolean {
  const isTeam = (name: string, key: string): boolean =>
    key === teamKey(name) || teamKeys(event.sport, name).includes(key)
  return sport === event.sport && isTeam(event.home, home) && isTeam(event.away, away)
}

// Streams without a session on PostgreSQL. A listen's row hangs on that of its process, and goes with it.
import type { PostgresConnection } from '@tallystick/journal-store/postgres'
import type { ListenRows } from '../../domain/session-store.ts'

/** Only one process at a time counts listens and adds one. */
const COUNTING = "SELECT pg_advisory_xact_lock(hashtextextended('care listens', 3))"
const ADD = 'INSERT INTO mcp_listens (id, process, sub) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING'
const FOLLOW = `INSERT INTO mcp_listened (listen, uri, since) SELECT $1::uuid, uri, read_place() FROM unnest($2::text[]) AS uri
  ON CONFLICT DO NOTHING`
const REFUSE = `DELETE FROM mcp_listens WHERE id = $1
  AND ((SELECT count(*) FROM mcp_listens) > $2 OR (SELECT count(*) FROM mcp_listens WHERE sub = $3) > $4) RETURNING id`
const COUNT = `SELECT count(*) AS count FROM mcp_listened f JOIN mcp_listens l ON l.id = f.listen
  WHERE f.uri = $1 AND f.since <= $2 AND l.process <> $3`

export const createPostgresListens = (on: {
  /** To read, and to write: a transaction is not to be mixed with reads. */
  readonly reading: PostgresConnection
  readonly writing: PostgresConnection
  /** The name of this process. */
  readonly process: () => string
  readonly onProblem: (error: unknown) => void
}): ListenRows => ({
  add: ({ id, max, perSubMax, sub, uris }) =>
    on.writing.transaction(async (query) => {
      const subCell = Buffer.from(sub)
      const [, , refused] = await Promise.all([
        query(COUNTING),
        query(ADD, [id, on.process(), subCell]),
        query(REFUSE, [id, max, subCell, perSubMax]),
        query(FOLLOW, [id, uris]),
      ])
      return refused.length === 0
    }, 'relaxed'),
  remove: (id) => {
    on.writing
      .transaction((query) => query('DELETE FROM mcp_listens WHERE id = $1', [id]), 'relaxed')
      .catch(on.onProblem)
  },
  countElsewhere: async (uri, place) => {
    const [row] = await on.reading.read<{ readonly count: number }>(COUNT, [
      uri,
      place,
      on.process(),
    ])
    return row?.count ?? 0
  },
})

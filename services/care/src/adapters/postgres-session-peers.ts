// The processes that serve the sessions of one PostgreSQL. Each has an inbox: sessions that it is to read again, put there in the
// transaction of each change. A look reads it in one snapshot with the sizes of the journals, so that whoever sees a version has
// seen every change that was answered before it was written. A process that was silent for too long is forgotten with its inbox;
// when it wakes, its next look tells it so.
import type { SqlQuery } from '@tallystick/journal-store'
import {
  PostgresConnection,
  type PostgresDoor,
  type PostgresProcess,
} from '@tallystick/journal-store/postgres'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import type { SessionPeers } from './session-peers.ts'

/** A notification may be lost with its connection, and a change of a session sends none: a look this often anyway, milliseconds. */
const LOOK_MS = 250
/** How often streams of processes that are gone are looked for, milliseconds. */
const CLEAN_MS = 2_000
/** What was read longer ago may be another process's to tell, milliseconds. */
const FRESH_MS = 1_000
/** How late rows say when their session was last in use: a part of the idle time, and until the next sweep, milliseconds. */
const SEEN_LATE = { part: 1 / 4, ms: 30_000 }

/** Shared by whoever changes sessions. Who enters waits for them, and so misses no change. */
const CHANGING = "hashtextextended('care sessions', 3)"
/** Only one at a time counts the sessions of a principal and adds one. */
const OPENING = "hashtextextended('care sessions opened', 3)"

const ENTER = "SELECT living FROM see_process($1, true, interval '10 s')"
/** In one order, so that no two processes wait for each other. */
const LOCK =
  'SELECT number FROM mcp_sessions WHERE number = ANY($1::bigint[]) ORDER BY number FOR UPDATE'
const TELL =
  'INSERT INTO mcp_inbox (process, session) SELECT id, unnest($1::bigint[]) FROM processes'
const LOOK = `SELECT i.at, i.session, n.changes, j.user_size, j.assistant_size, j.is_known, j.processes
  FROM (SELECT (SELECT size FROM journals WHERE name = 'user') AS user_size,
      (SELECT size FROM journals WHERE name = 'assistant') AS assistant_size,
      EXISTS (SELECT FROM processes WHERE id = $1) AS is_known, (SELECT count(*) FROM processes) AS processes) j
    LEFT JOIN mcp_inbox i ON i.process = $1 AND i.at <> ALL($2::bigint[])
    LEFT JOIN mcp_sessions n ON n.number = i.session`
const FORGET = 'DELETE FROM mcp_inbox WHERE at = ANY($1::bigint[])'
const LEFT = `SELECT number FROM mcp_sessions
  WHERE stream_process IS NOT NULL AND stream_process NOT IN (SELECT id FROM processes) ORDER BY number FOR UPDATE`
const FALL_SILENT = `UPDATE mcp_sessions SET stream_process = NULL, silent_since_ms = now_ms(), seen_at_ms = now_ms(), changes = changes + 1
  WHERE number = ANY($1::bigint[])`

type LookRow = {
  readonly at: number | null
  readonly session: number
  readonly changes: number | null
  readonly user_size: number
  readonly assistant_size: number
  readonly is_known: boolean
  readonly processes: number
}

type PostgresPeersOptions = {
  /** Of this process. */
  readonly process: Pick<PostgresProcess, 'id'>
  /** Tells when journals have grown, whoever wrote. */
  readonly store: { onGrown(listener: () => void): () => void }
  readonly onProblem: (error: unknown) => void
}

export function openPostgresSessionPeers(
  door: PostgresDoor,
  { onProblem, process, store }: PostgresPeersOptions,
): SessionPeers {
  const { schema } = POSTGRES_RECORDS
  const connection = new PostgresConnection(door, {
    schema,
    // What these change is found again after a failover that lost it, so they wait for no standby.
    onConnected: async (line) => void (await line.run('SET synchronous_commit = off')),
  })
  const cleaning = new PostgresConnection(door, { schema })
  /** The name under which it entered. */
  let entered: string | undefined
  /** Entries of the inbox that a look has read: the next one removes them, since its answer may have been lost. */
  let readEntries: readonly number[] = []
  let isOver = false

  const tell = (query: SqlQuery, sessions: readonly number[]) =>
    sessions.length === 0 ? [] : [query(TELL, [sessions])]
  const clean = (): Promise<void> =>
    cleaning.transaction(async (query) => {
      await query(`SELECT pg_advisory_xact_lock_shared(${CHANGING})`)
      const left = (await query<{ readonly number: number }>(LEFT)).map(({ number }) => number)
      if (left.length > 0) await Promise.all([query(FALL_SILENT, [left]), ...tell(query, left)])
    }, 'relaxed')
  const keepLooking = async (wake: () => void): Promise<void> => {
    let cleanedAtMs = performance.now()
    while (!isOver) {
      await door.pause(LOOK_MS)
      if (isOver) return
      wake()
      if (performance.now() - cleanedAtMs < CLEAN_MS) continue
      cleanedAtMs = performance.now()
      await clean().catch(onProblem)
    }
  }

  return {
    process: () => process.id(),
    enter: async (query) => {
      entered = process.id()
      readEntries = []
      await query(`SELECT pg_advisory_xact_lock(${CHANGING})`)
      const [seen] = await query<{ readonly living: number }>(ENTER, [entered])
      return seen?.living === 1
    },
    begin: (query, sessions, opens) => [
      query(`SELECT pg_advisory_xact_lock_shared(${CHANGING})`),
      ...(opens ? [query(`SELECT pg_advisory_xact_lock(${OPENING})`)] : []),
      query(LOCK, [sessions]),
    ],
    tell,
    look: async () => {
      const [name, before] = [process.id(), readEntries]
      const forgetting = before.length > 0 ? connection.read(FORGET, [before]) : undefined
      const looking = connection.read<LookRow>(LOOK, [name, before])
      const [rows] = await Promise.all([looking, forgetting])
      const [first] = rows
      if (first === undefined) throw new Error('a look found nothing')
      const entries = rows.filter(({ at }) => at !== null)
      if (name === entered) readEntries = entries.map(({ at }) => Number(at))
      const newest = new Map(entries.map((row) => [row.session, row.changes ?? undefined]))
      return {
        isKnown: name === entered && first.is_known,
        changed: [...newest].map(([number, changes]) => ({ number, changes })),
        sizes: { user: first.user_size, assistant: first.assistant_size },
        hasOthers: first.processes > 1,
      }
    },
    watch: (wake) => {
      const stop = store.onGrown(wake)
      void keepLooking(wake)
      return () => {
        isOver = true
        stop()
      }
    },
    freshMs: FRESH_MS,
    seenLateMs: (idleMs) => idleMs * SEEN_LATE.part + SEEN_LATE.ms,
    placeSql: (known) => `greatest(read_place(), ${known})`,
    leave: async () => {
      isOver = true
      await Promise.all([connection.end(), cleaning.end()])
    },
  }
}

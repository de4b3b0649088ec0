// The processes that serve the sessions of one PostgreSQL. Each has an inbox: sessions that it is to read again, put there in the
// transaction of each change. A look reads it in one snapshot with the sizes of the journals, so that whoever sees a version has
// seen every change that was answered before it was written. A process that was silent for too long is forgotten with its inbox;
// when it wakes, its next look tells it so.
import type { ProcessPlace, SqlQuery } from '@tallystick/journal-store'
import { PostgresConnection, type PostgresDoor } from '@tallystick/journal-store/postgres'
import type { Clock } from '@tallystick/service-kit'
import type { CancelledRequest, ListenRows, SessionLook } from '../../domain/session-store.ts'
import { POSTGRES_RECORDS } from '../schemas/postgres-record-database.ts'
import { createPostgresListens } from './postgres-listens.ts'
import type { SessionPeers } from './session-peers.ts'

/** A notification may be lost with its connection, and a change of a session sends none: a look this often anyway, milliseconds. */
const LOOK_MS = 250
/** How often streams of processes that are gone are looked for, milliseconds. */
const CLEAN_MS = 2_000
/** Rows say when their session was last in use at the next sweep of its process, or the one behind it, milliseconds. */
const SEEN_LATE_MS = 60_000

/** A request with a longer id ends where it runs alone: each process is sent the id. */
const CANCELLED_CHARS_MAX = 256

/** Two heartbeats and a little: who says so is no process that was just killed, and clients may be sent to it. */
const SEEN_LATELY = "interval '5 s'"

/** Shared by whoever changes sessions. Who enters waits for them, and so misses no change. */
const CHANGING = "hashtextextended('care sessions', 3)"
/** Only one at a time counts the sessions of a principal and adds one. */
const OPENING = "hashtextextended('care sessions opened', 3)"

const ENTER = `SELECT living FROM see_process($1, true, interval '10 s', ${POSTGRES_RECORDS.migrations.length})`
/** In one order, so that no two processes wait for each other. */
const LOCK =
  'SELECT number FROM mcp_sessions WHERE number = ANY($1::bigint[]) ORDER BY number FOR UPDATE'
const TAKE_BACK = `DELETE FROM mcp_sessions
  WHERE number = $1 AND (SELECT count(*) FROM mcp_sessions WHERE sub = $2) > $3::bigint RETURNING number`
const TELL =
  'INSERT INTO mcp_inbox (process, session) SELECT id, unnest($1::bigint[]) FROM processes'
const CANCEL = `INSERT INTO mcp_inbox (process, session, cancelled) SELECT id, $1, $2 FROM processes WHERE id <> $3`
const LOOK = `SELECT i.at, i.session, i.cancelled, n.id, n.changes, j.user_size, j.assistant_size, j.is_known, j.processes, j.has_listens
  FROM (SELECT (SELECT size FROM journals WHERE name = 'user') AS user_size,
      (SELECT size FROM journals WHERE name = 'assistant') AS assistant_size,
      EXISTS (SELECT FROM processes WHERE id = $1) AS is_known, (SELECT count(*) FROM processes WHERE seen_at > clock_timestamp() - ${SEEN_LATELY}) AS processes,
      EXISTS (SELECT FROM mcp_listens WHERE process <> $1) AS has_listens) j
    LEFT JOIN mcp_inbox i ON i.process = $1 AND i.at <> ALL($2::bigint[])
    LEFT JOIN mcp_sessions n ON n.number = i.session`
const REMOVE = 'DELETE FROM mcp_inbox WHERE at = ANY($1::bigint[])'
const LEFT = `SELECT number FROM mcp_sessions
  WHERE stream_process IS NOT NULL AND stream_process NOT IN (SELECT id FROM processes) ORDER BY number FOR UPDATE`
const FALL_SILENT = `UPDATE mcp_sessions SET stream_process = NULL, silent_since_ms = $2, seen_at_ms = $2, changes = changes + 1
  WHERE number = ANY($1::bigint[])`

type LookRow = {
  readonly at: number | null
  readonly session: number
  readonly cancelled: string | null
  readonly id: string | null
  readonly changes: number | null
  readonly user_size: number
  readonly assistant_size: number
  readonly is_known: boolean
  readonly processes: number
  readonly has_listens: boolean
}

type PostgresPeersOptions = {
  readonly process: Pick<ProcessPlace, 'id' | 'beat'>
  /** The time that all processes share. */
  readonly clock: Pick<Clock, 'unixMs'>
  /** Tells when journals have grown, whoever wrote. */
  readonly store: { onGrown(listener: () => void): () => void }
  readonly onProblem: (error: unknown) => void
}

const tell = (query: SqlQuery, sessions: readonly number[]) =>
  sessions.length === 0 ? [] : [query(TELL, [sessions])]

/** Sessions whose stream was at a process that is gone have none. */
const cleanUp = async (query: SqlQuery, nowMs: number): Promise<void> => {
  await query(`SELECT pg_advisory_xact_lock_shared(${CHANGING})`)
  const left = (await query<{ readonly number: number }>(LEFT)).map(({ number }) => number)
  if (left.length > 0) await Promise.all([query(FALL_SILENT, [left, nowMs]), ...tell(query, left)])
}

class PostgresSessionPeers implements SessionPeers {
  readonly listens: ListenRows
  readonly isShared = true
  readonly seenLateMs = SEEN_LATE_MS
  readonly tell = tell
  readonly #options: PostgresPeersOptions
  readonly #door: PostgresDoor
  readonly #looking: PostgresConnection
  readonly #cleaning: PostgresConnection
  /** The name under which it entered. */
  #entered: string | undefined
  /** Entries of the inbox that a look has read: the next one removes them, since its answer may have been lost. */
  #readEntries: readonly number[] = []
  #isOver = false

  constructor(door: PostgresDoor, options: PostgresPeersOptions) {
    const { schema } = POSTGRES_RECORDS
    this.#door = door
    this.#options = options
    this.#cleaning = new PostgresConnection(door, { schema })
    this.#looking = new PostgresConnection(door, {
      schema,
      // What a look removes is found again after a failover that lost it, so it waits for no standby.
      onConnected: async (line) => void (await line.run('SET synchronous_commit = off')),
    })
    const { onProblem, process } = options
    const [reading, writing] = [this.#looking, this.#cleaning]
    this.listens = createPostgresListens({
      reading,
      writing,
      onProblem,
      process: () => process.id(),
    })
  }

  process(): string {
    return this.#options.process.id()
  }

  async enter(query: SqlQuery): Promise<boolean> {
    this.#entered = this.process()
    this.#readEntries = []
    await query(`SELECT pg_advisory_xact_lock(${CHANGING})`)
    const [seen] = await query<{ readonly living: number }>(ENTER, [this.#entered])
    return seen?.living === 1
  }

  begin(query: SqlQuery, sessions: readonly number[], opens: boolean): readonly Promise<unknown>[] {
    return [
      query(`SELECT pg_advisory_xact_lock_shared(${CHANGING})`),
      ...(opens ? [query(`SELECT pg_advisory_xact_lock(${OPENING})`)] : []),
      query(LOCK, [sessions]),
    ]
  }

  async takeBackBeyond(
    query: SqlQuery,
    { perSubMax, session, subCell }: Parameters<SessionPeers['takeBackBeyond']>[1],
  ): Promise<boolean> {
    return (await query(TAKE_BACK, [session, subCell, perSubMax])).length > 0
  }

  async look(): Promise<SessionLook> {
    const [name, before] = [this.process(), this.#readEntries]
    const removing = before.length > 0 ? this.#looking.read(REMOVE, [before]) : undefined
    const reading = this.#looking.read<LookRow>(LOOK, [name, before])
    const [rows] = await Promise.all([reading, removing])
    const [first] = rows
    if (first === undefined) throw new Error('a look found nothing')
    const entries = rows.filter(({ at }) => at !== null)
    // It is to have a new name, under which it enters again.
    if (!first.is_known) await this.#options.process.beat()
    if (name === this.#entered) this.#readEntries = entries.map(({ at }) => Number(at))
    const newest = new Map(entries.map((row) => [row.session, row.changes ?? undefined]))
    return {
      isKnown: name === this.#entered && first.is_known,
      changed: [...newest].map(([number, changes]) => ({ number, changes })),
      cancelled: entries.flatMap(({ cancelled, id, session: number }) =>
        cancelled === null || id === null ? [] : [{ session: { number, id }, request: cancelled }],
      ),
      sizes: { user: first.user_size, assistant: first.assistant_size },
      hasOthers: first.processes > 1,
      hasListensElsewhere: first.has_listens,
    }
  }

  watch(wake: () => void, isListening: () => boolean): () => void {
    const stop = this.#options.store.onGrown(() => {
      if (isListening()) wake()
    })
    void this.#keepLooking(wake)
    return () => {
      this.#isOver = true
      stop()
    }
  }

  placeSql(known: string): string {
    return `greatest(read_place(), ${known})`
  }

  async cancel({ request, session }: CancelledRequest): Promise<void> {
    if (request.length > CANCELLED_CHARS_MAX) return
    const values = [session.number, request, this.process()]
    await this.#cleaning.transaction((query) => query(CANCEL, values), 'relaxed')
  }

  async leave(): Promise<void> {
    this.#isOver = true
    await Promise.all([this.#looking.end(), this.#cleaning.end()])
  }

  async #keepLooking(wake: () => void): Promise<void> {
    let cleanedAtMs = performance.now()
    for (;;) {
      await this.#door.pause(LOOK_MS)
      if (this.#isOver) return
      wake()
      if (performance.now() - cleanedAtMs < CLEAN_MS) continue
      cleanedAtMs = performance.now()
      const { clock, onProblem } = this.#options
      await this.#cleaning
        .transaction((query) => cleanUp(query, clock.unixMs()), 'relaxed')
        .catch(onProblem)
    }
  }
}

export const openPostgresSessionPeers = (
  door: PostgresDoor,
  options: PostgresPeersOptions,
): SessionPeers => new PostgresSessionPeers(door, options)

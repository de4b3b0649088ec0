// The statements of sessions, which both engines take.
import type { SqlConnection, SqlQuery } from '@tallystick/journal-store'
import type { Position } from '../../domain/position.ts'
import type {
  ChangeOutcome,
  SessionChange,
  SessionNote,
  SessionSweep,
  StoredSession,
  SweptSession,
} from '../../domain/session-store.ts'
import type { SessionPeers } from './session-peers.ts'

const OPEN = `INSERT INTO mcp_sessions VALUES ($1, $2, $3, $4, NULL, $8, $5, $6, $7, 1, 0, NULL, $8, $8)
  ON CONFLICT (number) DO UPDATE SET seen_at_ms = excluded.seen_at_ms WHERE mcp_sessions.id = excluded.id RETURNING changes`
const CHANGE = 'UPDATE mcp_sessions SET changes = changes + 1 WHERE number = $1 RETURNING changes'
const LEVEL =
  'UPDATE mcp_sessions SET log_level = $2, changes = changes + 1 WHERE number = $1 RETURNING changes'
const SCOPES =
  'UPDATE mcp_sessions SET scopes = $2, changes = changes + 1 WHERE number = $1 RETURNING changes'
const STREAM = `UPDATE mcp_sessions SET stream_epoch = stream_epoch + 1, stream_process = $2, silent_since_ms = NULL,
    seen_at_ms = $3, changes = changes + 1 WHERE number = $1
  RETURNING changes, stream_epoch AS "streamEpoch", carried_user AS "user", carried_assistant AS "assistant", carried_frames AS "frames"`
const LEAVE = `UPDATE mcp_sessions SET stream_process = NULL, silent_since_ms = $3, seen_at_ms = $3, changes = changes + 1
  WHERE number = $1 AND stream_epoch = $2`
const CARRIED = `UPDATE mcp_sessions SET carried_user = $3, carried_assistant = $4, carried_frames = $5
  WHERE number = $1 AND stream_epoch = $2`
/** One that is there keeps its beginning. */
const subscribeSql = (place: string): string => `INSERT INTO mcp_subscriptions
  SELECT number, $2, ${place} FROM mcp_sessions WHERE number = $1
    AND (SELECT count(*) FROM mcp_subscriptions WHERE session = $1 AND uri <> $2) < CAST($4 AS bigint)
  ON CONFLICT (session, uri) DO UPDATE SET since = mcp_subscriptions.since RETURNING since`
const UNSUBSCRIBE = 'DELETE FROM mcp_subscriptions WHERE session = $1 AND uri = $2'
const END = [
  'DELETE FROM mcp_subscriptions WHERE session = $1',
  'DELETE FROM mcp_sessions WHERE number = $1',
]
/** Nobody else serves them: none has a stream, and none is idle or silent yet, since their clients reached nobody. */
const BEGIN =
  'UPDATE mcp_sessions SET stream_process = NULL, silent_since_ms = $1, seen_at_ms = $1, changes = changes + 1'
const SEEN = 'UPDATE mcp_sessions SET seen_at_ms = $2 WHERE number = $1 AND seen_at_ms < $2'
const sweepSql = (only: string): string => `DELETE FROM mcp_sessions
  WHERE (created_at_ms <= $1 OR (stream_process IS NULL AND seen_at_ms <= $2)) ${only}
  RETURNING number, CASE WHEN created_at_ms <= $1 THEN 'too-old' ELSE 'idle' END AS reason`
const [SWEEP, SWEEP_ONE] = [sweepSql(''), sweepSql('AND number = $3')]
const KEEP_UNHEARD = `INSERT INTO mcp_unheard VALUES ($1, $2, $3, $4)
  ON CONFLICT (uri) DO UPDATE
  SET version = excluded.version, since_ms = excluded.since_ms, language = excluded.language`
const JUDGED = `INSERT INTO mcp_judged AS j VALUES (1, $1)
  ON CONFLICT (number) DO UPDATE SET place = excluded.place WHERE j.place < excluded.place`

type Changed = { readonly changes: number }
const GONE: ChangeOutcome = { kind: 'gone' }
const changeOutcome = ([row]: readonly Changed[]): ChangeOutcome =>
  row === undefined ? GONE : { kind: 'done', changes: row.changes }

type Peers = Pick<SessionPeers, 'process' | 'placeSql' | 'seenLateMs' | 'takeBackBeyond'>
type Change<Kind extends SessionChange['kind']> = Extract<SessionChange, { kind: Kind }>

/** What applies changes, in a transaction. Applying one again does no harm, since an answer may have been lost. */
export class SessionChanges {
  readonly #peers: Peers
  readonly #textCell: SqlConnection['textCell']
  readonly #nowMs: () => number
  readonly #subscribe: string

  constructor(
    peers: Peers,
    { nowMs, textCell }: Pick<SqlConnection, 'textCell'> & { readonly nowMs: () => number },
  ) {
    this.#peers = peers
    this.#textCell = textCell
    this.#nowMs = nowMs
    this.#subscribe = subscribeSql(peers.placeSql('CAST($3 AS bigint)'))
  }

  async apply(query: SqlQuery, change: SessionChange): Promise<ChangeOutcome> {
    const { session } = change
    switch (change.kind) {
      case 'opened':
        return this.#open(query, change)
      case 'subscribed':
        return this.#subscribed(query, change)
      case 'unsubscribed': {
        const [changed] = await Promise.all([
          query<Changed>(CHANGE, [session]),
          query(UNSUBSCRIBE, [session, change.uri]),
        ])
        return changeOutcome(changed)
      }
      case 'level':
        return changeOutcome(await query<Changed>(LEVEL, [session, change.logLevel]))
      case 'scopes': {
        const [changed] = await Promise.all([
          query<Changed>(SCOPES, [session, this.#scopesCell(change.scopes)]),
          ...change.lost.map((uri) => query(UNSUBSCRIBE, [session, uri])),
        ])
        return changeOutcome(changed)
      }
      case 'stream':
        return this.#takeStream(query, session)
      case 'ended':
        await Promise.all(END.map((text) => query(text, [session])))
        return GONE
      default:
        return change satisfies never
    }
  }

  async sweep(
    query: SqlQuery,
    sweep: SessionSweep,
    nowMs: number,
  ): Promise<readonly SweptSession[]> {
    const { absoluteMs, idleMs, only, seen } = sweep
    await Promise.all([...seen].map(([number, seenAtMs]) => query(SEEN, [number, seenAtMs])))
    const limits = [nowMs - absoluteMs, nowMs - idleMs - this.#peers.seenLateMs]
    const swept = await (only === undefined
      ? query<SweptSession>(SWEEP, limits)
      : query<SweptSession>(SWEEP_ONE, [...limits, only]))
    // Whoever asks for one that may be over at the others is about to use it.
    if (only !== undefined) await query(SEEN, [only, nowMs])
    const sweepRest = 'DELETE FROM mcp_subscriptions WHERE session = $1'
    await Promise.all(swept.map(({ number }) => query(sweepRest, [number])))
    return swept.map(({ number, reason }) => ({ number, reason }))
  }

  async #open(query: SqlQuery, change: Change<'opened'>): Promise<ChangeOutcome> {
    const { opened, perSubMax, session } = change
    const { assistant, frames, user } = opened.carried
    const subCell = this.#textCell(opened.sub)
    const texts = [opened.id, subCell, this.#scopesCell(opened.scopes)]
    const [added, isTooMany] = await Promise.all([
      query<Changed>(OPEN, [session, ...texts, user, assistant, frames, this.#nowMs()]),
      this.#peers.takeBackBeyond(query, { session, subCell, perSubMax }),
    ])
    // Its number may be another's.
    return isTooMany || added.length === 0 ? { kind: 'too-many' } : changeOutcome(added)
  }

  async #subscribed(query: SqlQuery, change: Change<'subscribed'>): Promise<ChangeOutcome> {
    const { max, place, session, uri } = change
    const [changed, [subscribed]] = await Promise.all([
      query<Changed>(CHANGE, [session]),
      query<{ readonly since: number }>(this.#subscribe, [session, uri, place(), max]),
    ])
    if (changed.length > 0 && subscribed === undefined) return { kind: 'too-many' }
    return { ...changeOutcome(changed), ...subscribed }
  }

  async #takeStream(query: SqlQuery, session: number): Promise<ChangeOutcome> {
    type Row = Changed & Position & { readonly streamEpoch: number }
    const [row] = await query<Row>(STREAM, [session, this.#peers.process(), this.#nowMs()])
    if (row === undefined) return GONE
    const { assistant, changes, frames, streamEpoch, user } = row
    const carried = { user, assistant, frames }
    return { kind: 'done', changes, stream: { streamEpoch, carried } }
  }

  #scopesCell(scopes: readonly string[]) {
    return this.#textCell(scopes.join(' '))
  }
}

/** A process serves the sessions alone from now on. */
export const beginAlone = (query: SqlQuery, nowMs: number): Promise<unknown> =>
  query(BEGIN, [nowMs])

export function keepNote(query: SqlQuery, note: SessionNote, nowMs: number): Promise<unknown> {
  switch (note.kind) {
    case 'carried': {
      const { carried, epoch, session } = note
      return query(CARRIED, [session, epoch, carried.user, carried.assistant, carried.frames])
    }
    case 'left':
      return query(LEAVE, [note.session, note.epoch, nowMs])
    case 'unheard': {
      const { language = null, sinceMs, uri, version } = note.unheard
      return query(KEEP_UNHEARD, [uri, version, sinceMs, language])
    }
    case 'heard':
      return query('DELETE FROM mcp_unheard WHERE uri = $1', [note.uri])
    case 'judged':
      return query(JUDGED, [note.place])
    default:
      return note satisfies never
  }
}

/** A cell that `textCell` made. */
type TextCell = string | Uint8Array
type SessionRow = Omit<StoredSession, 'sub' | 'scopes' | 'logLevel' | 'carried' | 'subscriptions'> &
  Position & {
    readonly sub: TextCell
    readonly scopes: TextCell
    readonly logLevel: StoredSession['logLevel'] | null
    readonly silentSinceMs: number | null
  }
type SubscriptionRow = { readonly session: number; readonly uri: string; readonly since: number }

const SESSIONS = `SELECT number, id, sub, scopes, log_level AS "logLevel", created_at_ms AS "createdAtMs", carried_user AS "user",
  carried_assistant AS "assistant", carried_frames AS "frames", changes, stream_epoch AS "streamEpoch", silent_since_ms AS "silentSinceMs"
  FROM mcp_sessions`
const SUBSCRIPTIONS = 'SELECT session, uri, since FROM mcp_subscriptions'

/** Above that, all are read at once. */
const EACH_MAX = 64

/** Sessions of these numbers, or all of them. Subscriptions are as new as their sessions, or newer. */
export async function findSessions(
  read: SqlQuery,
  numbers?: readonly number[],
): Promise<readonly StoredSession[]> {
  const wanted = numbers === undefined || numbers.length > EACH_MAX ? undefined : numbers
  const [found, subscriptions] =
    wanted === undefined
      ? await Promise.all([
          read<SessionRow>(`${SESSIONS} ORDER BY created_at_ms, number`),
          read<SubscriptionRow>(SUBSCRIPTIONS),
        ])
      : await Promise.all([
          readEach<SessionRow>(read, `${SESSIONS} WHERE number = $1`, wanted),
          readEach<SubscriptionRow>(read, `${SUBSCRIPTIONS} WHERE session = $1`, wanted),
        ])
  const bySession = Map.groupBy(subscriptions, ({ session }) => session)
  return found.map(
    ({ sub, scopes, logLevel, silentSinceMs, user, assistant, frames, ...session }) => ({
      ...session,
      sub: String(sub),
      scopes: String(scopes).split(' ').filter(Boolean),
      logLevel: logLevel ?? undefined,
      silentSinceMs: silentSinceMs ?? undefined,
      carried: { user, assistant, frames },
      subscriptions: new Map(
        (bySession.get(session.number) ?? []).map(({ since, uri }) => [uri, since]),
      ),
    }),
  )
}

async function readEach<Row extends Readonly<Record<string, unknown>>>(
  read: SqlQuery,
  text: string,
  numbers: readonly number[],
): Promise<readonly Row[]> {
  return (await Promise.all(numbers.map((number) => read<Row>(text, [number])))).flat()
}

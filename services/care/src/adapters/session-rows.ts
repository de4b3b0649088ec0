// MCP sessions as rows, on either engine; session-commits.ts says when they are written.
import { randomBytes } from 'node:crypto'
import type { Position } from '../domain/position.ts'
import {
  EVENT_KEY_BYTES,
  type RestoredSessions,
  type SessionChange,
  type StoredSession,
  type StoredUnheard,
} from '../domain/session-store.ts'
import { SESSION_TABLES, type SideRows } from './side-rows.ts'

const KEEP_SESSION = `INSERT INTO mcp_sessions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)
  ON CONFLICT (number) DO UPDATE SET id = excluded.id, sub = excluded.sub, scopes = excluded.scopes,
    log_level = excluded.log_level, created_at_ms = excluded.created_at_ms, carried_user = excluded.carried_user,
    carried_assistant = excluded.carried_assistant, carried_told = excluded.carried_told`
const KEEP_UNHEARD = `INSERT INTO mcp_unheard VALUES ($1, $2, $3)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version, since_ms = excluded.since_ms`
const CHANGE = 'UPDATE mcp_sessions SET scopes = $2, log_level = $3 WHERE number = $1'
const CARRIED = `UPDATE mcp_sessions SET carried_user = $3, carried_assistant = $4, carried_told = $5
  WHERE number = $1 AND stream_epoch = $2`
const TAKE_STREAM = `UPDATE mcp_sessions SET stream_epoch = stream_epoch + 1 WHERE number = $1
  RETURNING stream_epoch AS epoch`
const SUBSCRIBE = `INSERT INTO mcp_subscriptions
  SELECT number, $2, CAST($3 AS bigint) FROM mcp_sessions WHERE number = $1
  ON CONFLICT (session, uri) DO UPDATE SET since = excluded.since`
const UNSUBSCRIBE = 'DELETE FROM mcp_subscriptions WHERE session = $1 AND uri = $2'
const JUDGED = `INSERT INTO mcp_judged AS j VALUES (1, $1)
  ON CONFLICT (number) DO UPDATE SET place = excluded.place WHERE j.place < excluded.place`
/** The first process draws it. */
const KEEP_KEY = 'INSERT INTO mcp_event_key VALUES (1, $1) ON CONFLICT DO NOTHING'
const EVENT_KEY = 'SELECT key FROM mcp_event_key'

type Durability = Parameters<SideRows['transaction']>[1]
type Statement = readonly [text: string, values: readonly unknown[]]

/** What applies a change. Applying one again changes nothing, since an answer may have been lost. */
function statementsOf(change: SessionChange, textCell: SideRows['textCell']): readonly Statement[] {
  switch (change.kind) {
    case 'session': {
      const { carried, number, id, sub, scopes, logLevel = null, createdAtMs } = change.session
      const texts = [sub, scopes.join(' ')].map(textCell)
      const { user, assistant, told } = carried
      return [[KEEP_SESSION, [number, id, ...texts, logLevel, createdAtMs, user, assistant, told]]]
    }
    case 'changed': {
      const { logLevel = null, scopes, session } = change
      return [[CHANGE, [session, textCell(scopes.join(' ')), logLevel]]]
    }
    case 'carried': {
      const { carried, epoch, session } = change
      return [[CARRIED, [session, epoch, carried.user, carried.assistant, carried.told]]]
    }
    case 'subscribed':
      return [[SUBSCRIBE, [change.session, change.uri, change.since]]]
    case 'unsubscribed':
      return [[UNSUBSCRIBE, [change.session, change.uri]]]
    case 'ended':
      return [
        ['DELETE FROM mcp_sessions WHERE number = $1', [change.session]],
        ['DELETE FROM mcp_subscriptions WHERE session = $1', [change.session]],
      ]
    case 'unheard': {
      const { uri, version, sinceMs } = change.unheard
      return [[KEEP_UNHEARD, [uri, version, sinceMs]]]
    }
    case 'heard':
      return [['DELETE FROM mcp_unheard WHERE uri = $1', [change.uri]]]
    case 'judged':
      return [[JUDGED, [change.place]]]
    default:
      return change satisfies never
  }
}

/** In one transaction: removes everything first if `isCleared`, then applies changes in order. */
export async function applyChanges(
  rows: SideRows,
  changes: readonly SessionChange[],
  { durability, isCleared }: { readonly isCleared: boolean; readonly durability: Durability },
): Promise<void> {
  const cleared: readonly Statement[] = isCleared
    ? SESSION_TABLES.map((table) => [`DELETE FROM ${table}`, []])
    : []
  const statements = changes.flatMap((change) => statementsOf(change, rows.textCell))
  await rows.transaction(
    // Sent without waiting, in their order.
    (query) => Promise.all([...cleared, ...statements].map((each) => query(...each))),
    durability,
  )
}

/** The number of a session's new stream. */
export async function takeStream(
  rows: SideRows,
  session: number,
  durability: Durability,
): Promise<number | undefined> {
  type Row = { readonly epoch: number }
  const taken = await rows.transaction((query) => query<Row>(TAKE_STREAM, [session]), durability)
  return taken[0]?.epoch
}

/** A cell that `textCell` made. */
type TextCell = string | Uint8Array
type SessionRow = Omit<StoredSession, 'sub' | 'scopes' | 'logLevel' | 'carried'> &
  Position & {
    readonly streamEpoch: number
    readonly sub: TextCell
    readonly scopes: TextCell
    readonly logLevel: StoredSession['logLevel'] | null
  }
type SubscriptionRow = { readonly session: number; readonly uri: string; readonly since: number }

const SESSIONS = `SELECT number, id, sub, scopes, log_level AS "logLevel", created_at_ms AS "createdAtMs",
  carried_user AS "user", carried_assistant AS "assistant", carried_told AS "told", stream_epoch AS "streamEpoch" FROM mcp_sessions ORDER BY created_at_ms, number`
const UNHEARD = 'SELECT uri, version, since_ms AS "sinceMs" FROM mcp_unheard'

export async function restoredFrom(rows: SideRows): Promise<RestoredSessions> {
  const { read } = rows
  await rows.transaction((query) => query(KEEP_KEY, [randomBytes(EVENT_KEY_BYTES)]))
  const [sessions, subscriptions, unheard, judged, keys] = await Promise.all([
    read<SessionRow>(SESSIONS),
    read<SubscriptionRow>('SELECT session, uri, since FROM mcp_subscriptions'),
    read<StoredUnheard>(UNHEARD),
    read<{ readonly place: number }>('SELECT place FROM mcp_judged'),
    read<{ readonly key: Uint8Array }>(EVENT_KEY),
  ])
  const [eventKey] = keys
  if (eventKey === undefined) throw new Error('the key of event ids was not kept')
  const bySession = Map.groupBy(subscriptions, ({ session }) => session)
  return {
    sessions: sessions.map(({ sub, scopes, logLevel, user, assistant, told, ...session }) => ({
      ...session,
      sub: String(sub),
      scopes: String(scopes).split(' ').filter(Boolean),
      logLevel: logLevel ?? undefined,
      carried: { user, assistant, told },
      subscriptions: new Map(
        (bySession.get(session.number) ?? []).map(({ since, uri }) => [uri, since]),
      ),
    })),
    unheard,
    judgedTo: judged[0]?.place,
    eventKey: eventKey.key,
  }
}

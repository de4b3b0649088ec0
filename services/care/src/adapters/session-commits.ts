// When sessions are written, on either engine. Changes are gathered and committed together, at the end of the event loop's
// iteration: those that a client asked for, which waits for the commit, and those that nobody waits for. On a file a commit
// survives the end of the process without waiting for the disk; after a loss of power some sessions may be outdated or gone, and
// their clients open new ones. A server's is as durable as a record, since a subscription that a failover forgot is a correction
// that nobody hears. If what nobody waits for cannot be kept whole, nothing is kept: no restart resumes sessions with a gap.

import { randomBytes } from 'node:crypto'
import { sharedRuns } from '@tallystick/journal-store'
import type { Position } from '../domain/position.ts'
import {
  EVENT_KEY_BYTES,
  type RestoredSessions,
  type SessionChange,
  type SessionStore,
  type StoredSession,
  type StoredUnheard,
} from '../domain/session-store.ts'
import { SESSION_TABLES, type SideRows } from './side-rows.ts'

/** Changes that nobody waits for may wait while the disk refuses them, about 20 MB; beyond that, the stored state cannot be completed. */
const QUEUE_MAX = 50_000

/** A change, and whoever waits for it. */
type Asked = { readonly change: SessionChange; readonly waiting?: PromiseWithResolvers<void> }

/** `onProblem` is told when a commit that nobody waits for failed; its changes are tried again with the next. */
export function openSessionStore(
  rows: SideRows,
  onProblem: (error: unknown) => void = () => undefined,
): SessionStore {
  let queue: Asked[] = []
  let isClosed = false
  /** Changes were lost: nothing is kept any more, and what was kept goes with the next commit. */
  let [isGivenUp, isCleared] = [false, false]
  const askedDurability = rows.engine === 'postgres' ? 'synced' : 'relaxed'
  const clear = async (): Promise<void> => {
    for (const { waiting } of queue) waiting?.resolve()
    queue = []
    if (!isCleared) await applyChanges(rows, [], { isCleared: true, durability: 'relaxed' })
    isCleared = true
  }
  const flush = sharedRuns(async () => {
    if (isGivenUp) return clear()
    if (queue.length === 0) return
    const taken = queue
    queue = []
    const isAwaited = taken.some(({ waiting }) => waiting !== undefined)
    const durability = isAwaited ? askedDurability : 'relaxed'
    try {
      const changes = taken.map(({ change }) => change)
      await applyChanges(rows, changes, { isCleared: false, durability })
      for (const { waiting } of taken) waiting?.resolve()
    } catch (error) {
      for (const { waiting } of taken) waiting?.reject(error)
      queue = [...taken.filter(({ waiting }) => waiting === undefined), ...queue]
      throw error
    }
  })
  return {
    flush,
    commit(changes) {
      // In memory alone from now on.
      if (isGivenUp || isClosed) return Promise.resolve()
      const waiting = Promise.withResolvers<void>()
      queue.push(...changes.map((change) => ({ change, waiting })))
      // Whoever waits is told.
      flush().catch(() => undefined)
      return waiting.promise
    },
    takeStream: async (session) => (isGivenUp ? 0 : takeStream(rows, session, askedDurability)),
    save(changes) {
      if (isCleared || isClosed) return
      if (!isGivenUp) queue.push(...changes.map((change) => ({ change })))
      isGivenUp ||= queue.length > QUEUE_MAX
      flush().catch(onProblem)
    },
    async restore() {
      await flush()
      return restoredFrom(rows)
    },
    async close() {
      isClosed = true
      await flush()
    },
  }
}

const KEEP_SESSION = `INSERT INTO mcp_sessions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)
  ON CONFLICT (number) DO UPDATE SET id = excluded.id, sub = excluded.sub, scopes = excluded.scopes,
    log_level = excluded.log_level, created_at_ms = excluded.created_at_ms, carried_user = excluded.carried_user,
    carried_assistant = excluded.carried_assistant, carried_frames = excluded.carried_frames`
const KEEP_UNHEARD = `INSERT INTO mcp_unheard VALUES ($1, $2, $3)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version, since_ms = excluded.since_ms`
const CHANGE = 'UPDATE mcp_sessions SET scopes = $2, log_level = $3 WHERE number = $1'
const CARRIED = `UPDATE mcp_sessions SET carried_user = $3, carried_assistant = $4, carried_frames = $5
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
      const { user, assistant, frames } = carried
      return [
        [KEEP_SESSION, [number, id, ...texts, logLevel, createdAtMs, user, assistant, frames]],
      ]
    }
    case 'changed': {
      const { logLevel = null, scopes, session } = change
      return [[CHANGE, [session, textCell(scopes.join(' ')), logLevel]]]
    }
    case 'carried': {
      const { carried, epoch, session } = change
      return [[CARRIED, [session, epoch, carried.user, carried.assistant, carried.frames]]]
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
async function applyChanges(
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
async function takeStream(
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
  carried_user AS "user", carried_assistant AS "assistant", carried_frames AS "frames", stream_epoch AS "streamEpoch" FROM mcp_sessions ORDER BY created_at_ms, number`
const UNHEARD = 'SELECT uri, version, since_ms AS "sinceMs" FROM mcp_unheard'

async function restoredFrom(rows: SideRows): Promise<RestoredSessions> {
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
    sessions: sessions.map(({ sub, scopes, logLevel, user, assistant, frames, ...session }) => ({
      ...session,
      sub: String(sub),
      scopes: String(scopes).split(' ').filter(Boolean),
      logLevel: logLevel ?? undefined,
      carried: { user, assistant, frames },
      subscriptions: new Map(
        (bySession.get(session.number) ?? []).map(({ since, uri }) => [uri, since]),
      ),
    })),
    unheard,
    judgedTo: judged[0]?.place,
    eventKey: eventKey.key,
  }
}

// MCP sessions in the schema of the records, of the one process that serves them. A commit does not wait for the disk: after a
// crash of the server some sessions may be behind or gone, and their clients open new ones.
import type { PostgresJournalStore, PostgresQuery } from '@tallystick/journal-store/postgres'
import type { RestoredSessions, SessionChange, SessionStore } from '../domain/session-store.ts'
import { ERASED_FRAME, SessionStoreUnavailable } from '../domain/session-store.ts'
import type { Audience } from '../wire/records.ts'
import {
  packRecipients,
  restoredSessions,
  type SessionRows,
  sessionValues,
  WriteBehindSessions,
} from './write-behind-sessions.ts'

const TABLES = [
  'mcp_sessions',
  'mcp_subscriptions',
  'mcp_frames',
  'mcp_published',
  'mcp_unheard',
] as const

const KEEP_SESSION = `INSERT INTO care.mcp_sessions
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (number) DO UPDATE SET id = excluded.id, sub = excluded.sub, scopes = excluded.scopes,
    log_level = excluded.log_level, created_at_ms = excluded.created_at_ms,
    last_sequence = excluded.last_sequence, carried_sequence = excluded.carried_sequence`

const SUBSCRIBE = 'INSERT INTO care.mcp_subscriptions VALUES ($1, $2) ON CONFLICT DO NOTHING'
const UNSUBSCRIBE = 'DELETE FROM care.mcp_subscriptions WHERE session = $1 AND uri = $2'
const KEEP_FRAME = 'INSERT INTO care.mcp_frames VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
const PUBLISH = `INSERT INTO care.mcp_published AS p VALUES ($1, $2)
  ON CONFLICT (uri) DO UPDATE SET version = greatest(p.version, excluded.version)`

const ERASE_FRAMES = 'UPDATE care.mcp_frames SET text = $1, about = $2 WHERE about = ANY ($3)'

const KEEP_UNHEARD = `INSERT INTO care.mcp_unheard VALUES ($1, $2, $3)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version, since_ms = excluded.since_ms`

type Store = Pick<PostgresJournalStore<Audience>, 'read' | 'writeRows'>

type PostgresSessionStoreOptions = {
  /** The store of the records; it outlives the sessions. */
  readonly store: Store
  /** Told when a commit that nobody waits for failed; its changes are tried again with the next. */
  readonly onProblem?: (error: SessionStoreUnavailable) => void
}

/** Opens the sessions. */
export const openPostgresSessionStore = ({
  onProblem,
  store,
}: PostgresSessionStoreOptions): SessionStore =>
  new WriteBehindSessions(rowsOf(store), { place: 'the sessions', onProblem })

const rowsOf = ({ read, writeRows }: Store): SessionRows => ({
  apply: async (changes, isCleared) => {
    await writeRows(async (query) => {
      const cleared = isCleared ? TABLES.map((table) => query(`DELETE FROM care.${table}`)) : []
      // Sent without waiting, in their order.
      await Promise.all([...cleared, ...changes.flatMap((change) => keep(query, change))])
    }, 'relaxed')
  },
  restore: async (): Promise<RestoredSessions> => {
    const [sessions, subscriptions, frames, published, unheard] = await Promise.all([
      read('SELECT * FROM care.mcp_sessions ORDER BY number'),
      read('SELECT * FROM care.mcp_subscriptions'),
      read('SELECT * FROM care.mcp_frames ORDER BY number'),
      read('SELECT * FROM care.mcp_published'),
      read('SELECT * FROM care.mcp_unheard'),
    ])
    return restoredSessions({ sessions, subscriptions, frames, published, unheard })
  },
  close: () => undefined,
})

/** `sub` and `scopes` are of tokens, and kept as bytes. */
const bytesOf = (values: readonly (string | number | null)[]): readonly unknown[] =>
  values.map((value, at) => (at === 2 || at === 3 ? Buffer.from(String(value)) : value))

/** Applies a change. What was applied before changes nothing: an answer may have been lost. */
function keep(query: PostgresQuery, change: SessionChange): readonly Promise<unknown>[] {
  return statementsOf(change).map(([text, values]) => query(text, values))
}

type Statement = readonly [text: string, values: readonly unknown[]]

function statementsOf(change: SessionChange): readonly Statement[] {
  switch (change.kind) {
    case 'session':
      return [[KEEP_SESSION, bytesOf(sessionValues(change.session))]]
    case 'subscribed':
      return [[SUBSCRIBE, [change.session, change.uri]]]
    case 'unsubscribed':
      return [[UNSUBSCRIBE, [change.session, change.uri]]]
    case 'frame': {
      const { number, text, about, recipients } = change.frame
      return [[KEEP_FRAME, [number, Buffer.from(text), about, packRecipients(recipients)]]]
    }
    case 'frames-dropped':
      return [['DELETE FROM care.mcp_frames WHERE number = ANY ($1)', [change.numbers]]]
    case 'ended':
      return [
        ['DELETE FROM care.mcp_sessions WHERE number = $1', [change.session]],
        ['DELETE FROM care.mcp_subscriptions WHERE session = $1', [change.session]],
      ]
    case 'published':
      return [[PUBLISH, [change.uri, change.version]]]
    case 'unheard': {
      const { uri, version, sinceMs } = change.unheard
      return [[KEEP_UNHEARD, [uri, version, sinceMs]]]
    }
    case 'heard':
      return [['DELETE FROM care.mcp_unheard WHERE uri = $1', [change.uri]]]
    case 'erased': {
      const { text, about } = ERASED_FRAME
      return [
        [ERASE_FRAMES, [Buffer.from(text), about, change.uris]],
        ['DELETE FROM care.mcp_published WHERE uri = ANY ($1)', [change.uris]],
      ]
    }
    default:
      return change satisfies never
  }
}

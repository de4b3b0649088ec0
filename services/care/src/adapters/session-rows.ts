// MCP sessions, on either engine. A commit survives the end of the process without waiting for the disk; after a loss of power
// some sessions may be behind or gone, and their clients open new ones.
import type { DatabaseSync } from 'node:sqlite'
import {
  ERASED_FRAME,
  type FrameRecipient,
  type RestoredSessions,
  type SessionChange,
  type SessionStore,
  SessionStoreUnavailable,
  type StoredFrame,
  type StoredSession,
  type StoredUnheard,
} from '../domain/session-store.ts'
import { openSqliteSideRows, type SideRows } from './side-rows.ts'
import { type SessionRows, WriteBehindSessions } from './write-behind-sessions.ts'

/** The service's own connections never overlap; what another program holds is tried again with the next commit. */
const BUSY_TIMEOUT_MS = 50
/** Of the tables in the file. Sessions kept under another one are dropped: their clients open new ones. */
const SCHEMA_VERSION = 1
/** A recipient is its session's number and the sequence, each four bytes. */
const RECIPIENT_BYTES = 8

const SQLITE_TABLES = `
CREATE TABLE IF NOT EXISTS mcp_sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  sub TEXT NOT NULL,
  scopes TEXT NOT NULL,
  log_level TEXT,
  created_at_ms INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  carried_sequence INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS mcp_subscriptions (
  session INTEGER NOT NULL,
  uri TEXT NOT NULL,
  PRIMARY KEY (session, uri)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mcp_frames (
  number INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  about TEXT NOT NULL,
  recipients BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS mcp_published (
  uri TEXT PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mcp_unheard (
  uri TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;`

const TABLES = [
  'mcp_sessions',
  'mcp_subscriptions',
  'mcp_frames',
  'mcp_published',
  'mcp_unheard',
] as const

const KEEP_SESSION = `INSERT INTO mcp_sessions VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (number) DO UPDATE SET id = excluded.id, sub = excluded.sub, scopes = excluded.scopes,
    log_level = excluded.log_level, created_at_ms = excluded.created_at_ms,
    last_sequence = excluded.last_sequence, carried_sequence = excluded.carried_sequence`
const PUBLISH = `INSERT INTO mcp_published AS p VALUES ($1, $2)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version WHERE p.version < excluded.version`
const KEEP_UNHEARD = `INSERT INTO mcp_unheard VALUES ($1, $2, $3)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version, since_ms = excluded.since_ms`
const SUBSCRIBE = 'INSERT INTO mcp_subscriptions VALUES ($1, $2) ON CONFLICT DO NOTHING'
const UNSUBSCRIBE = 'DELETE FROM mcp_subscriptions WHERE session = $1 AND uri = $2'
const KEEP_FRAME = 'INSERT INTO mcp_frames VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
const ERASE_FRAMES = 'UPDATE mcp_frames SET text = $1, about = $2 WHERE about = $3'
const FORGET = 'DELETE FROM mcp_published WHERE uri = $1'

type Statement = readonly [text: string, values: readonly unknown[]]

/** What applies a change. Applying one again changes nothing, since an answer may have been lost. */
function statementsOf(change: SessionChange, textCell: SideRows['textCell']): readonly Statement[] {
  switch (change.kind) {
    case 'session': {
      const { number, id, sub, scopes, logLevel = null, ...rest } = change.session
      const texts = [sub, scopes.join(' ')].map(textCell)
      const counted = [rest.createdAtMs, rest.lastSequence, rest.carriedSequence]
      return [[KEEP_SESSION, [number, id, ...texts, logLevel, ...counted]]]
    }
    case 'subscribed':
      return [[SUBSCRIBE, [change.session, change.uri]]]
    case 'unsubscribed':
      return [[UNSUBSCRIBE, [change.session, change.uri]]]
    case 'frame': {
      const { number, text, about, recipients } = change.frame
      return [[KEEP_FRAME, [number, textCell(text), about, packRecipients(recipients)]]]
    }
    case 'frames-dropped':
      return change.numbers.map((number) => ['DELETE FROM mcp_frames WHERE number = $1', [number]])
    case 'ended':
      return [
        ['DELETE FROM mcp_sessions WHERE number = $1', [change.session]],
        ['DELETE FROM mcp_subscriptions WHERE session = $1', [change.session]],
      ]
    case 'published':
      return [[PUBLISH, [change.uri, change.version]]]
    case 'unheard': {
      const { uri, version, sinceMs } = change.unheard
      return [[KEEP_UNHEARD, [uri, version, sinceMs]]]
    }
    case 'heard':
      return [['DELETE FROM mcp_unheard WHERE uri = $1', [change.uri]]]
    case 'erased': {
      const { text, about } = ERASED_FRAME
      return change.uris.flatMap((uri): readonly Statement[] => [
        [ERASE_FRAMES, [textCell(text), about, uri]],
        [FORGET, [uri]],
      ])
    }
    default:
      return change satisfies never
  }
}

const sessionRows = (rows: SideRows): SessionRows => ({
  apply: async (changes, isCleared) => {
    const cleared: readonly Statement[] = isCleared
      ? TABLES.map((table) => [`DELETE FROM ${table}`, []])
      : []
    const statements = changes.flatMap((change) => statementsOf(change, rows.textCell))
    await rows.transaction(
      // Sent without waiting, in their order.
      (query) => Promise.all([...cleared, ...statements].map((each) => query(...each))),
      'relaxed',
    )
    if (changes.some(({ kind }) => kind === 'erased')) await rows.purge()
  },
  restore: () => restoredFrom(rows),
  close: () => rows.end(),
})

/** A cell that `textCell` made. */
type TextCell = string | Uint8Array
type SessionRow = Omit<StoredSession, 'sub' | 'scopes' | 'logLevel'> & {
  readonly sub: TextCell
  readonly scopes: TextCell
  readonly logLevel: StoredSession['logLevel'] | null
}
type FrameRow = Omit<StoredFrame, 'text' | 'recipients'> & {
  readonly text: TextCell
  readonly recipients: Uint8Array
}

const SESSIONS = `SELECT number, id, sub, scopes, log_level AS "logLevel", created_at_ms AS "createdAtMs",
  last_sequence AS "lastSequence", carried_sequence AS "carriedSequence" FROM mcp_sessions ORDER BY number`
const UNHEARD = 'SELECT uri, version, since_ms AS "sinceMs" FROM mcp_unheard'

async function restoredFrom({ read }: Pick<SideRows, 'read'>): Promise<RestoredSessions> {
  const [sessions, subscriptions, frames, published, unheard] = await Promise.all([
    read<SessionRow>(SESSIONS),
    read<{ readonly session: number; readonly uri: string }>('SELECT * FROM mcp_subscriptions'),
    read<FrameRow>('SELECT * FROM mcp_frames ORDER BY number'),
    read<{ readonly uri: string; readonly version: number }>('SELECT * FROM mcp_published'),
    read<StoredUnheard>(UNHEARD),
  ])
  const bySession = Map.groupBy(subscriptions, ({ session }) => session)
  return {
    sessions: sessions.map(({ sub, scopes, logLevel, ...session }) => ({
      ...session,
      sub: String(sub),
      scopes: String(scopes).split(' ').filter(Boolean),
      logLevel: logLevel ?? undefined,
      subscriptions: (bySession.get(session.number) ?? []).map(({ uri }) => uri),
    })),
    frames: frames.map(({ recipients, text, ...frame }) => ({
      ...frame,
      text: String(text),
      recipients: unpackRecipients(recipients),
    })),
    published: new Map(published.map(({ uri, version }) => [uri, version])),
    unheard,
  }
}

/** The recipients of a frame as one column. */
function packRecipients(recipients: readonly FrameRecipient[]): Uint8Array {
  const packed = Buffer.allocUnsafe(recipients.length * RECIPIENT_BYTES)
  recipients.forEach(({ session, sequence }, index) => {
    packed.writeUInt32LE(session, index * RECIPIENT_BYTES)
    packed.writeUInt32LE(sequence, index * RECIPIENT_BYTES + 4)
  })
  return packed
}

function unpackRecipients(packed: Uint8Array): readonly FrameRecipient[] {
  const bytes = Buffer.from(packed)
  return Array.from({ length: bytes.length / RECIPIENT_BYTES }, (_, index) => ({
    session: bytes.readUInt32LE(index * RECIPIENT_BYTES),
    sequence: bytes.readUInt32LE(index * RECIPIENT_BYTES + 4),
  }))
}

function prepareTables(database: DatabaseSync): void {
  // Erased and rotated rows must not stay readable in the file.
  database.exec('PRAGMA secure_delete = ON')
  database.exec('CREATE TABLE IF NOT EXISTS mcp_schema (version INTEGER NOT NULL) STRICT')
  const known = database.prepare('SELECT version FROM mcp_schema').get()
  if (known !== undefined && known['version'] !== SCHEMA_VERSION)
    for (const table of TABLES) database.exec(`DROP TABLE IF EXISTS ${table}`)
  database.exec(`${SQLITE_TABLES} DELETE FROM mcp_schema; INSERT INTO mcp_schema VALUES (1)`)
}

type SessionStoreOptions = {
  /** Told when a commit that nobody waits for failed; its changes are tried again with the next. */
  readonly onProblem?: (error: SessionStoreUnavailable) => void
}

/** Opens the sessions in a file (`sessionsPath`), making their tables where there are none. Throws SessionStoreUnavailable. */
export function openSqliteSessionStore({
  onProblem,
  path,
}: SessionStoreOptions & { readonly path: string }): SessionStore {
  const rows = openSqliteSideRows(path, {
    prepare: prepareTables,
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    Unavailable: SessionStoreUnavailable,
  })
  return new WriteBehindSessions(sessionRows(rows), { place: path, onProblem })
}

/** Opens the sessions in the schema of the records, of the one process that serves them; the rows outlive them. */
export const openPostgresSessionStore = ({
  onProblem,
  rows,
}: SessionStoreOptions & { readonly rows: SideRows }): SessionStore =>
  new WriteBehindSessions(sessionRows(rows), { place: 'the sessions', onProblem })

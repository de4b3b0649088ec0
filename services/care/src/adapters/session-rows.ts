// MCP sessions as rows, on either engine; write-behind-sessions.ts says when they are written.
import {
  ERASED_FRAME,
  type FrameRecipient,
  type RestoredSessions,
  type SessionChange,
  type StoredFrame,
  type StoredSession,
  type StoredUnheard,
} from '../domain/session-store.ts'
import { SESSION_TABLES, type SideRows } from './side-rows.ts'

/** A recipient is its session's number and the sequence, each four bytes. */
const RECIPIENT_BYTES = 8

const KEEP_SESSION = `INSERT INTO mcp_sessions VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (number) DO UPDATE SET id = excluded.id, sub = excluded.sub, scopes = excluded.scopes,
    log_level = excluded.log_level, created_at_ms = excluded.created_at_ms,
    last_sequence = excluded.last_sequence, carried_sequence = excluded.carried_sequence`
/** A chain begins anew with 1 where its topic was freed. */
const PUBLISH = `INSERT INTO mcp_published AS p VALUES ($1, $2)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version WHERE p.version < excluded.version OR excluded.version = 1`
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

/** In one transaction: removes everything first if `isCleared`, then applies changes in order. */
export async function applyChanges(
  rows: SideRows,
  changes: readonly SessionChange[],
  isCleared: boolean,
): Promise<void> {
  const cleared: readonly Statement[] = isCleared
    ? SESSION_TABLES.map((table) => [`DELETE FROM ${table}`, []])
    : []
  const statements = changes.flatMap((change) => statementsOf(change, rows.textCell))
  await rows.transaction(
    // Sent without waiting, in their order.
    (query) => Promise.all([...cleared, ...statements].map((each) => query(...each))),
    'relaxed',
  )
  if (changes.some(({ kind }) => kind === 'erased')) await rows.purge()
}

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

export async function restoredFrom({ read }: SideRows): Promise<RestoredSessions> {
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
  let at = 0
  for (const { session, sequence } of recipients)
    at = packed.writeUInt32LE(sequence, packed.writeUInt32LE(session, at))
  return packed
}

function unpackRecipients(packed: Uint8Array): readonly FrameRecipient[] {
  const bytes = Buffer.from(packed)
  return Array.from({ length: bytes.length / RECIPIENT_BYTES }, (_, index) => ({
    session: bytes.readUInt32LE(index * RECIPIENT_BYTES),
    sequence: bytes.readUInt32LE(index * RECIPIENT_BYTES + 4),
  }))
}

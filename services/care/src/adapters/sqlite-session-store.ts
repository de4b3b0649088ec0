// MCP sessions in the store's second file. Changes are gathered and committed together: at the end of the event loop's
// iteration, or at once by `flush`. A commit survives the end of the process without an fsync (WAL, synchronous NORMAL); after a
// loss of power some sessions may be behind or gone, and their clients open new ones.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { messageOf } from '@tallystick/journal-store'
import {
  type FrameRecipient,
  type RestoredSessions,
  type SessionChange,
  type SessionStore,
  SessionStoreUnavailable,
  type StoredFrame,
  type StoredSession,
} from '../domain/session-store.ts'
import { LOG_LEVELS } from '../wire/mcp.ts'

/** The service's own connections never overlap; what another program holds is tried again with the next commit. */
const BUSY_TIMEOUT_MS = 50
/** Of the tables below. Sessions kept under another one are dropped: their clients open new ones. */
const SCHEMA_VERSION = 1

const TABLES = `
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
) STRICT, WITHOUT ROWID;`

const CLEAR = 'mcp_sessions mcp_subscriptions mcp_frames mcp_published'
  .split(' ')
  .map((table) => `DELETE FROM ${table};`)
  .join('')

/** Changes that may wait while the disk refuses them, some 20 MB; beyond, what is kept cannot be made whole again. */
const QUEUE_MAX = 50_000
/** A recipient is its session's number and the sequence, each four bytes. */
const RECIPIENT_BYTES = 8

type SqliteSessionStoreOptions = {
  /** The sessions' file of the store (`sessionsPath`). */
  readonly path: string
  /** Told when a commit that nobody waits for failed; its changes are tried again with the next. */
  readonly onProblem?: (error: SessionStoreUnavailable) => void
}

/** Opens the sessions, making their tables where there are none. Throws SessionStoreUnavailable. */
export function openSqliteSessionStore(options: SqliteSessionStoreOptions): SessionStore {
  return new SqliteSessionStore(options)
}

class SqliteSessionStore implements SessionStore {
  readonly #options: SqliteSessionStoreOptions
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepare>
  #queue: SessionChange[] = []
  #isFlushDue = false
  #isClosed = false
  /** Changes were lost: nothing is kept any more, so that no restart takes up sessions with a gap. */
  #isGivenUp = false

  constructor(options: SqliteSessionStoreOptions) {
    this.#options = options
    this.#database = this.#orUnavailable(() => openDatabase(options.path))
    this.#statements = prepare(this.#database)
  }

  async restore(): Promise<RestoredSessions> {
    this.#commit()
    return this.#orUnavailable(() => ({
      sessions: readSessions(this.#database),
      frames: readFrames(this.#database),
      published: readPublished(this.#database),
    }))
  }

  save(changes: readonly SessionChange[]): void {
    if (this.#isGivenUp || this.#isClosed) return
    this.#queue.push(...changes)
    if (this.#queue.length > QUEUE_MAX) {
      this.#isGivenUp = true
      this.#queue = []
    }
    this.#commitSoon()
  }

  async flush(): Promise<void> {
    this.#commit()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    try {
      this.#commit()
    } finally {
      this.#isClosed = true
      this.#database.close()
    }
  }

  #commitSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(() => {
      this.#isFlushDue = false
      if (this.#isClosed) return
      try {
        this.#commit()
      } catch (error) {
        if (!(error instanceof SessionStoreUnavailable)) throw error
        this.#options.onProblem?.(error)
      }
    })
  }

  #commit(): void {
    if (this.#isClosed || (this.#queue.length === 0 && !this.#isGivenUp)) return
    const database = this.#database
    this.#orUnavailable(() => {
      try {
        database.exec('BEGIN IMMEDIATE')
        if (this.#isGivenUp) database.exec(CLEAR)
        for (const change of this.#queue) this.#keep(change)
        database.exec('COMMIT')
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    })
    this.#queue = []
  }

  #keep(change: SessionChange): void {
    const statements = this.#statements
    switch (change.kind) {
      case 'session':
        statements.session.run(...sessionValues(change.session))
        break
      case 'subscribed':
        statements.subscribed.run(change.session, change.uri)
        break
      case 'unsubscribed':
        statements.unsubscribed.run(change.session, change.uri)
        break
      case 'frame': {
        const { number, text, about, recipients } = change.frame
        statements.frame.run(number, text, about, packRecipients(recipients))
        break
      }
      case 'frames-dropped':
        for (const number of change.numbers) statements.frameDropped.run(number)
        break
      case 'ended':
        statements.ended.run(change.session)
        statements.endedSubscriptions.run(change.session)
        break
      case 'published':
        statements.published.run(change.uri, change.version)
        break
    }
  }

  #orUnavailable<Outcome>(run: () => Outcome): Outcome {
    try {
      return run()
    } catch (cause) {
      throw new SessionStoreUnavailable(`${this.#options.path}: ${messageOf(cause)}`, { cause })
    }
  }
}

function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    database.exec('CREATE TABLE IF NOT EXISTS mcp_schema (version INTEGER NOT NULL) STRICT')
    const known = database.prepare('SELECT version FROM mcp_schema').get()
    if (known !== undefined && known['version'] !== SCHEMA_VERSION)
      database.exec(CLEAR.replaceAll('DELETE FROM', 'DROP TABLE IF EXISTS'))
    database.exec(`${TABLES} DELETE FROM mcp_schema; INSERT INTO mcp_schema VALUES (1)`)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

const prepare = (database: DatabaseSync) => {
  const statement = (sql: string): StatementSync => database.prepare(sql)
  return {
    session: statement('INSERT OR REPLACE INTO mcp_sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)'),
    subscribed: statement('INSERT OR IGNORE INTO mcp_subscriptions VALUES (?, ?)'),
    unsubscribed: statement('DELETE FROM mcp_subscriptions WHERE session = ? AND uri = ?'),
    frame: statement('INSERT INTO mcp_frames VALUES (?, ?, ?, ?)'),
    frameDropped: statement('DELETE FROM mcp_frames WHERE number = ?'),
    ended: statement('DELETE FROM mcp_sessions WHERE number = ?'),
    endedSubscriptions: statement('DELETE FROM mcp_subscriptions WHERE session = ?'),
    published: statement(
      'INSERT INTO mcp_published VALUES (?, ?) ON CONFLICT (uri) DO UPDATE SET version = max(version, excluded.version)',
    ),
  }
}

function sessionValues(session: StoredSession): (string | number | null)[] {
  const { number, id, sub, createdAtMs, lastSequence, carriedSequence } = session
  const named = [session.scopes.join(' '), session.logLevel ?? null]
  return [number, id, sub, ...named, createdAtMs, lastSequence, carriedSequence]
}

function readSessions(database: DatabaseSync): RestoredSessions['sessions'] {
  const byNumber = new Map<number, string[]>()
  for (const { session, uri } of database.prepare('SELECT * FROM mcp_subscriptions').all()) {
    const uris = byNumber.get(Number(session)) ?? []
    uris.push(String(uri))
    byNumber.set(Number(session), uris)
  }
  return database
    .prepare('SELECT * FROM mcp_sessions ORDER BY number')
    .all()
    .map((row) => ({
      number: Number(row['number']),
      id: String(row['id']),
      sub: String(row['sub']),
      scopes: String(row['scopes']).split(' ').filter(Boolean),
      logLevel: LOG_LEVELS.find((level) => level === row['log_level']),
      createdAtMs: Number(row['created_at_ms']),
      lastSequence: Number(row['last_sequence']),
      carriedSequence: Number(row['carried_sequence']),
      subscriptions: byNumber.get(Number(row['number'])) ?? [],
    }))
}

const readFrames = (database: DatabaseSync): readonly StoredFrame[] =>
  database
    .prepare('SELECT * FROM mcp_frames ORDER BY number')
    .all()
    .map(({ number, text, about, recipients }) => ({
      number: Number(number),
      text: String(text),
      about: String(about),
      recipients: unpackRecipients(recipients instanceof Uint8Array ? recipients : undefined),
    }))

const readPublished = (database: DatabaseSync): ReadonlyMap<string, number> =>
  new Map(
    database
      .prepare('SELECT * FROM mcp_published')
      .all()
      .map(({ uri, version }) => [String(uri), Number(version)]),
  )

function packRecipients(recipients: readonly FrameRecipient[]): Uint8Array {
  const packed = Buffer.allocUnsafe(recipients.length * RECIPIENT_BYTES)
  recipients.forEach(({ session, sequence }, index) => {
    packed.writeUInt32LE(session, index * RECIPIENT_BYTES)
    packed.writeUInt32LE(sequence, index * RECIPIENT_BYTES + 4)
  })
  return packed
}

function unpackRecipients(packed: Uint8Array | undefined): readonly FrameRecipient[] {
  const bytes = Buffer.from(packed ?? [])
  const recipients: FrameRecipient[] = []
  for (let at = 0; at + RECIPIENT_BYTES <= bytes.length; at += RECIPIENT_BYTES)
    recipients.push({ session: bytes.readUInt32LE(at), sequence: bytes.readUInt32LE(at + 4) })
  return recipients
}

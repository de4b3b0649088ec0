// MCP sessions in the store's second file. A commit survives the end of the process without an fsync (WAL, synchronous NORMAL);
// after a loss of power some sessions may be behind or gone, and their clients open new ones.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makePrivateFile, messageOf } from '@tallystick/journal-store'
import {
  ERASED_FRAME,
  type RestoredSessions,
  type SessionChange,
  type SessionStore,
  SessionStoreUnavailable,
} from '../domain/session-store.ts'
import {
  packRecipients,
  restoredSessions,
  type SessionRows,
  sessionValues,
  WriteBehindSessions,
} from './write-behind-sessions.ts'

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
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mcp_unheard (
  uri TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;`

const CLEAR = 'mcp_sessions mcp_subscriptions mcp_frames mcp_published mcp_unheard'
  .split(' ')
  .map((table) => `DELETE FROM ${table};`)
  .join('')

type SqliteSessionStoreOptions = {
  /** The sessions' file of the store (`sessionsPath`). */
  readonly path: string
  /** Told when a commit that nobody waits for failed; its changes are tried again with the next. */
  readonly onProblem?: (error: SessionStoreUnavailable) => void
}

/** Opens the sessions, making their tables where there are none. Throws SessionStoreUnavailable. */
export function openSqliteSessionStore(options: SqliteSessionStoreOptions): SessionStore {
  const { path, onProblem } = options
  return new WriteBehindSessions(new SqliteSessionRows(path), { place: path, onProblem })
}

class SqliteSessionRows implements SessionRows {
  readonly #database: DatabaseSync
  readonly #statements: ReturnType<typeof prepare>

  constructor(path: string) {
    try {
      this.#database = openDatabase(path)
      this.#statements = prepare(this.#database)
    } catch (cause) {
      throw new SessionStoreUnavailable(`${path}: ${messageOf(cause)}`, { cause })
    }
  }

  apply(changes: readonly SessionChange[], isCleared: boolean): void {
    const database = this.#database
    try {
      database.exec('BEGIN IMMEDIATE')
      if (isCleared) database.exec(CLEAR)
      for (const change of changes) this.#keep(change)
      database.exec('COMMIT')
      // Nor shall it stay readable in the write-ahead log.
      if (changes.some(({ kind }) => kind === 'erased'))
        database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  restore(): RestoredSessions {
    const all = (table: string) => this.#database.prepare(`SELECT * FROM ${table}`).all()
    return restoredSessions({
      sessions: all('mcp_sessions ORDER BY number'),
      subscriptions: all('mcp_subscriptions'),
      frames: all('mcp_frames ORDER BY number'),
      published: all('mcp_published'),
      unheard: all('mcp_unheard'),
    })
  }

  close(): void {
    this.#database.close()
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
      case 'unheard': {
        const { uri, version, sinceMs } = change.unheard
        statements.unheard.run(uri, version, sinceMs)
        break
      }
      case 'heard':
        statements.heard.run(change.uri)
        break
      case 'erased':
        for (const uri of change.uris) {
          statements.frameErased.run(ERASED_FRAME.text, ERASED_FRAME.about, uri)
          statements.forgotten.run(uri)
        }
        break
    }
  }
}

function openDatabase(path: string): DatabaseSync {
  makePrivateFile(path)
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    // What was erased, or has rotated, shall not stay readable in the file.
    database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON',
    )
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
    frameErased: statement('UPDATE mcp_frames SET text = ?, about = ? WHERE about = ?'),
    forgotten: statement('DELETE FROM mcp_published WHERE uri = ?'),
    frameDropped: statement('DELETE FROM mcp_frames WHERE number = ?'),
    ended: statement('DELETE FROM mcp_sessions WHERE number = ?'),
    endedSubscriptions: statement('DELETE FROM mcp_subscriptions WHERE session = ?'),
    unheard: statement('INSERT OR REPLACE INTO mcp_unheard VALUES (?, ?, ?)'),
    heard: statement('DELETE FROM mcp_unheard WHERE uri = ?'),
    published: statement(
      'INSERT INTO mcp_published VALUES (?, ?) ON CONFLICT (uri) DO UPDATE SET version = max(version, excluded.version)',
    ),
  }
}

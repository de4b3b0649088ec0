/**
 * One MCP session: who it belongs to, what it listens to, and how far it was told; as new as its row was when that was last
 * read. It is a class since tens of thousands live at once: methods are shared, and unused parts are not allocated.
 */
import type { RequestId } from '@modelcontextprotocol/sdk/types.js'
import type { Position } from '../domain/position.ts'
import type { StoredSession } from '../domain/session-store.ts'
import type { LogLevel } from '../wire/mcp.ts'
import type { StreamEnd } from './open-stream.ts'

export class McpSession {
  readonly number: number
  readonly sub: string
  /** What clients send in `mcp-session-id`. */
  readonly id: string
  readonly createdAtMs: number
  /** From the token presented last. */
  scopes: readonly string[]
  /** Those that its row has. */
  keptScopes: readonly string[]
  /** Unset until the client sets it; until then everything is sent. */
  logLevel: LogLevel | undefined
  /** At this process. */
  lastSeenMs: number
  /** What its row says of that, at the latest. */
  keptSeenMs: number
  /** Since when no process has a stream of it; absent while one has. */
  silentSinceMs: number | undefined
  /** Behind the newest frame that any stream of the session has carried, as far as this process knows. */
  carried: Position
  /** The newest of those that its row has, or will have soon. */
  keptCarried: Position
  /** How often its row was changed when it was read. */
  changes: number
  /** The number of its newest stream, among those of all processes. */
  streamEpoch: number
  /** Its stream, if that is at this process. */
  stream: { end(reason: StreamEnd): void } | undefined
  /** GETs so far: the newest wins, also over one that is still being judged. */
  opening = 0
  /**
   * Chain URIs, and numbered ones, which never fire, each with the place from which on the session is told; absent while
   * empty.
   */
  subscriptions: Map<string, number> | undefined
  /** Requests in flight by the client's id, with their numbers at the server. Absent while there are none. */
  waiting: Map<RequestId, number> | undefined
  isEnded = false

  constructor(stored: Omit<StoredSession, 'subscriptions'>, lastSeenMs: number) {
    this.number = stored.number
    this.sub = stored.sub
    this.id = stored.id
    this.createdAtMs = stored.createdAtMs
    this.scopes = stored.scopes
    this.keptScopes = stored.scopes
    this.logLevel = stored.logLevel
    this.lastSeenMs = lastSeenMs
    this.keptSeenMs = lastSeenMs
    this.silentSinceMs = stored.silentSinceMs
    this.carried = stored.carried
    this.keptCarried = stored.carried
    this.changes = stored.changes
    this.streamEpoch = stored.streamEpoch
  }
}

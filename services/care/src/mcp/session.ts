/**
 * One MCP session: who it belongs to, what it listens to, and the frames that it may ask for again. Streams, sweeping and
 * storing live elsewhere; its requests are answered by the one server of all sessions (session-server.ts).
 */
import type { RequestId } from '@modelcontextprotocol/sdk/types.js'
import type { LogLevel, StoredSession } from '../domain/session-store.ts'
import type { EventStream } from './event-stream.ts'
import { FrameRing } from './frame-ring.ts'

/** A class, since tens of thousands of sessions live at once: methods are shared, and what is not used is not made. */
export class McpSession {
  readonly number: number
  readonly sub: string
  /** What clients send in `mcp-session-id`; event ids begin with a part of it. */
  readonly id: string
  readonly createdAtMs: number
  /** Of the token that was presented last. */
  scopes: readonly string[]
  /** Unset until the client sets it: everything is sent then. */
  logLevel: LogLevel | undefined
  lastSeenMs: number
  /** Sequence of the newest frame that any stream of the session has carried. */
  carriedSequence: number
  /** The one open stream. */
  stream: EventStream | undefined
  /** Chain URIs, and numbered ones, which never fire; absent while empty. */
  subscriptions: Set<string> | undefined
  /** Requests that are being worked on, by the client's id: their numbers at the server. Absent while there are none. */
  waiting: Map<RequestId, number> | undefined
  readonly ring: FrameRing
  isEnded = false

  constructor(stored: StoredSession, lastSeenMs: number) {
    this.number = stored.number
    this.sub = stored.sub
    this.id = stored.id
    this.createdAtMs = stored.createdAtMs
    this.scopes = stored.scopes
    this.logLevel = stored.logLevel
    this.lastSeenMs = lastSeenMs
    this.carriedSequence = stored.carriedSequence
    this.ring = new FrameRing(stored.lastSequence)
  }

  /** The session as it is kept. */
  toStored(): StoredSession {
    const { number, id, sub, scopes, logLevel, createdAtMs, carriedSequence } = this
    const { lastSequence } = this.ring
    return { number, id, sub, scopes, logLevel, createdAtMs, carriedSequence, lastSequence }
  }
}

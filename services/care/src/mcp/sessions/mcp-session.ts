/**
 * One MCP session: who it belongs to, what it listens to, and how far it was told; as new as its row was when that was last
 * read. Tens of thousands live at once, so it has no field that something else can say. Its times are milliseconds since its
 * registry began: V8 keeps a small integer in the field, and any other number in an object of its own.
 */
import type { Position } from '../../domain/position.ts'
import type { StoredSession } from '../../domain/session-store.ts'
import type { LogLevel } from '../../wire/mcp.ts'
import type { StreamEnd } from './open-stream.ts'

/** A session's number, which its event ids hold: the first bits of its id, as many as V8 takes for a small integer. */
export function numberIn(id: string): number {
  const first = Buffer.alloc(4)
  first.write(id, 'base64url')
  return first.readUInt32BE() >>> 1
}

export class McpSession {
  readonly number: number
  readonly sub: string
  /** What clients send in `mcp-session-id`. */
  readonly id: string
  readonly createdMs: number
  /** From the token presented last. */
  scopes: readonly string[]
  /** Unset until the client sets it; until then everything is sent. */
  logLevel: LogLevel | undefined
  /** At this process. */
  seenMs: number
  /** Since when no process has a stream of it; absent while one has. */
  silentMs: number | undefined
  /** Behind the newest frame that any stream of the session has carried, as far as this process knows. */
  carried: Position
  /** How often its row was changed when it was read. */
  changes: number
  /** The number of its newest stream, among those of all processes. */
  streamEpoch: number
  /** Its stream, if that is at this process. */
  stream: { end(reason: StreamEnd): void } | undefined
  /**
   * Chain URIs, and numbered ones, which never fire, each with the place from which on the session is told; absent while
   * empty.
   */
  subscriptions: Map<string, number> | undefined

  constructor(stored: Omit<StoredSession, 'subscriptions'>, beganAtMs: number, seenMs: number) {
    const { silentSinceMs } = stored
    this.number = stored.number
    this.sub = stored.sub
    this.id = stored.id
    this.createdMs = stored.createdAtMs - beganAtMs
    this.scopes = stored.scopes
    this.logLevel = stored.logLevel
    this.seenMs = seenMs
    this.silentMs = silentSinceMs === undefined ? undefined : silentSinceMs - beganAtMs
    this.carried = stored.carried
    this.changes = stored.changes
    this.streamEpoch = stored.streamEpoch
  }

  /** Whether a stream stands here of which its row does not say so: it could not be stored. */
  get hasUnnotedStream(): boolean {
    return this.stream !== undefined && this.silentMs !== undefined
  }
}

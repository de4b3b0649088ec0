// The port behind which MCP sessions outlive the process: who they belong to, what they subscribe to, and the frames that
// they may still request. SQLite and PostgreSQL implement it (adapters/); session-store.contract.ts is the suite that every
// implementation passes. The live state is in memory (mcp/): the store is written behind it and read at start.
import type { LogLevel } from '../wire/mcp.ts'

/** A session as stored. Times are Unix milliseconds. */
export type StoredSession = {
  /** Small, and never reused while a frame still names it. */
  readonly number: number
  /** What clients send in `mcp-session-id`. */
  readonly id: string
  readonly sub: string
  /** From the token presented last. */
  readonly scopes: readonly string[]
  /** Absent until the client sets one; until then everything is sent. */
  readonly logLevel?: LogLevel | undefined
  readonly createdAtMs: number
  /** Sequence of the newest frame stored for it, 0 before the first. */
  readonly lastSequence: number
  /** Sequence of the newest frame that a stream has carried. */
  readonly carriedSequence: number
}

/** A frame, stored once for all its recipients. */
export type StoredFrame = {
  readonly number: number
  /** The JSON-RPC message. */
  readonly text: string
  /** The URI whose scope the frame requires, even if the message names none. */
  readonly about: string
  readonly recipients: readonly FrameRecipient[]
}

/** One session's copy of a frame; a session's sequences have no gaps. */
export type FrameRecipient = { readonly session: number; readonly sequence: number }

export type SessionChange =
  /** Adds a session, or replaces what is stored about it. */
  | { readonly kind: 'session'; readonly session: StoredSession }
  | { readonly kind: 'subscribed'; readonly session: number; readonly uri: string }
  | { readonly kind: 'unsubscribed'; readonly session: number; readonly uri: string }
  | { readonly kind: 'frame'; readonly frame: StoredFrame }
  /** No session can request these frames any more. */
  | { readonly kind: 'frames-dropped'; readonly numbers: readonly number[] }
  /** The session, with its subscriptions, is gone. */
  | { readonly kind: 'ended'; readonly session: number }
  /**
   * The newest version of a chain that its subscribers know of, from a notification or from before they subscribed; an
   * older one changes nothing, but for the first: it begins a chain. 0 where they know that a free left nothing (C47).
   */
  | { readonly kind: 'published'; readonly uri: string; readonly version: number }
  /** A correction that nobody has heard yet, or a newer one of the same record. */
  | { readonly kind: 'unheard'; readonly unheard: StoredUnheard }
  | { readonly kind: 'heard'; readonly uri: string }
  /**
   * The chains of these URIs were erased (C31): their frames lose content and names but keep their places, and their published
   * versions are forgotten.
   */
  | { readonly kind: 'erased'; readonly uris: readonly string[] }

/** A correction that nobody has heard yet. */
export type StoredUnheard = {
  readonly uri: string
  readonly version: number
  /** Unix milliseconds. */
  readonly sinceMs: number
}

/** The rest of a frame about an erased chain: it names nothing that anybody may receive. */
export const ERASED_FRAME = { text: '{}', about: '' } as const

/** The stored state, as a process finds it at start. */
export type RestoredSessions = {
  readonly sessions: readonly (StoredSession & { readonly subscriptions: readonly string[] })[]
  /** In the order in which they were stored; recipients may name sessions that are gone. */
  readonly frames: readonly StoredFrame[]
  /** Newest published version by chain URI. */
  readonly published: ReadonlyMap<string, number>
  readonly unheard: readonly StoredUnheard[]
}

export type SessionStore = {
  restore(): Promise<RestoredSessions>
  /** Takes changes in order. They are stored soon; once the next `flush` resolves, they survive a kill. */
  save(changes: readonly SessionChange[]): void
  /** Resolves when everything saved is stored. Rejects with `RecordStoreUnavailable`, in which case the changes stay queued. */
  flush(): Promise<void>
  close(): Promise<void>
}

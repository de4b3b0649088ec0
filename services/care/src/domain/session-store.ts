// The port behind which MCP sessions are rows: who they belong to, what they subscribe to, and how far they were told. What they
// are told stands in the journals. SQLite and PostgreSQL implement it (adapters/); session-store.contract.ts is the suite that
// every implementation passes. What a client asked of its session is committed before it is answered; memory (mcp/) mirrors it.
import type { LogLevel } from '../wire/mcp.ts'
import type { Position } from './position.ts'

/** A session as stored. Times are Unix milliseconds. */
export type StoredSession = {
  /** Drawn at random, below 2^32: its event ids hold it. */
  readonly number: number
  /** What clients send in `mcp-session-id`. */
  readonly id: string
  readonly sub: string
  /** From the token presented last. */
  readonly scopes: readonly string[]
  /** Absent until the client sets one; until then everything is sent. */
  readonly logLevel?: LogLevel | undefined
  readonly createdAtMs: number
  /** Behind the newest frame that a stream has carried; at first, where the session began. */
  readonly carried: Position
}

export type SessionChange =
  /** Adds a session, or replaces what is stored about it. */
  | { readonly kind: 'session'; readonly session: StoredSession }
  /** `since` is the place from which on the session is told. Nothing, if the session is gone. */
  | {
      readonly kind: 'subscribed'
      readonly session: number
      readonly uri: string
      readonly since: number
    }
  | { readonly kind: 'unsubscribed'; readonly session: number; readonly uri: string }
  /** What its token may read now, and what its client wants to hear. */
  | {
      readonly kind: 'changed'
      readonly session: number
      readonly scopes: readonly string[]
      readonly logLevel: LogLevel | undefined
    }
  /** How far a stream has told; changes nothing once a newer stream was taken. */
  | {
      readonly kind: 'carried'
      readonly session: number
      readonly epoch: number
      readonly carried: Position
    }
  /** The session, with its subscriptions, is gone. */
  | { readonly kind: 'ended'; readonly session: number }
  /** A correction that nobody has heard yet, or a newer one of the same record. */
  | { readonly kind: 'unheard'; readonly unheard: StoredUnheard }
  | { readonly kind: 'heard'; readonly uri: string }
  /** Corrections before this place are among those, or were heard; a lower one changes nothing. */
  | { readonly kind: 'judged'; readonly place: number }

/** A correction that nobody has heard yet. */
export type StoredUnheard = {
  readonly uri: string
  readonly version: number
  /** Unix milliseconds. */
  readonly sinceMs: number
}

type RestoredSession = StoredSession & {
  /** How many streams it has had: the newest alone says how far it was told. */
  readonly streamEpoch: number
  /** Where its subscriptions began, by URI. */
  readonly subscriptions: ReadonlyMap<string, number>
}

/** The stored state, as a process finds it at start. */
export type RestoredSessions = {
  readonly sessions: readonly RestoredSession[]
  readonly unheard: readonly StoredUnheard[]
  /** Corrections from this place on may be missing there; undefined in a new store. */
  readonly judgedTo: number | undefined
  /** Seals event ids; drawn at the first start, and the same for all processes. */
  readonly eventKey: Uint8Array
}

/** Bytes of `eventKey`. */
export const EVENT_KEY_BYTES = 32

export type SessionStore = {
  restore(): Promise<RestoredSessions>
  /** Stores changes, all or none of them, behind what was saved before. Rejects with `RecordStoreUnavailable`. */
  commit(changes: readonly SessionChange[]): Promise<void>
  /** A new stream of a session: the number that is newer than those of all others; undefined if the session is gone. */
  takeStream(session: number): Promise<number | undefined>
  /**
   * Takes changes that nobody waits for, in order. They are stored soon; once the next `flush` resolves, they survive a kill.
   */
  save(changes: readonly SessionChange[]): void
  /** Resolves when everything saved is stored. Rejects with `RecordStoreUnavailable`, in which case the changes stay queued. */
  flush(): Promise<void>
  close(): Promise<void>
}

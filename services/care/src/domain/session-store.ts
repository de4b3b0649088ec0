// The port behind which MCP sessions are rows: who they belong to, what they subscribe to, and how far they were told. What they
// are told stands in the journals. SQLite and PostgreSQL implement it (adapters/); session-store.contract.ts is the suite that
// every implementation passes. What a client asked of its session is committed before it is answered; memory (mcp/) mirrors the
// rows of all sessions, whichever of several processes changed them.
import type { LogLevel } from '../wire/mcp.ts'
import type { Position } from './position.ts'

/** A session as stored. Times are Unix milliseconds, by the clock that all processes share. */
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
  /** How often it was changed: whoever mirrors it knows by this whether that is the newest. */
  readonly changes: number
  /** How many streams it has had: the newest alone says how far it was told. */
  readonly streamEpoch: number
  /** Since when no process has a stream of it; absent while one has. */
  readonly silentSinceMs?: number | undefined
  /** Where its subscriptions began, by URI. */
  readonly subscriptions: ReadonlyMap<string, number>
}

export type NewSession = Pick<StoredSession, 'number' | 'id' | 'sub' | 'scopes' | 'carried'>

/** What a client asks of its session. */
export type SessionChange = { readonly session: number } & (
  | {
      readonly kind: 'opened'
      readonly opened: NewSession
      /** How many sessions its principal may have at all processes; whoever is the only one has counted them. */
      readonly perSubMax: number
    }
  | {
      readonly kind: 'subscribed'
      readonly uri: string
      /** How many subscriptions a session may have. */
      readonly max: number
      /** The place of the next version as far as this process knows. */
      readonly place: () => number
    }
  | { readonly kind: 'unsubscribed'; readonly uri: string }
  | { readonly kind: 'level'; readonly logLevel: LogLevel }
  /** What its token may read now, and the subscriptions that are lost with it. */
  | {
      readonly kind: 'scopes'
      readonly scopes: readonly string[]
      readonly lost: readonly string[]
    }
  /** A new stream of it begins at this process, and is newer than all others. */
  | { readonly kind: 'stream' }
  /** The session, with its subscriptions, is gone. */
  | { readonly kind: 'ended' }
)

export type ChangeOutcome =
  | {
      readonly kind: 'done'
      readonly changes: number
      /** Of a subscription: the place from which on it is told. */
      readonly since?: number | undefined
      /** Of a stream: its number, and how far the session was told. */
      readonly stream?: Pick<StoredSession, 'streamEpoch' | 'carried'> | undefined
    }
  | { readonly kind: 'gone' }
  /** It would be more than may be. */
  | { readonly kind: 'too-many' }

/** What nobody waits for. */
export type SessionNote =
  /** How far a stream has told; changes nothing once a newer stream was taken. */
  | {
      readonly kind: 'carried'
      readonly session: number
      readonly epoch: number
      readonly carried: Position
    }
  /** A stream has ended; changes nothing once a newer stream was taken. */
  | { readonly kind: 'left'; readonly session: number; readonly epoch: number }
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
  /** BCP 47; undefined if nobody has said it. */
  readonly language: string | undefined
}

/** The stored state, as a process finds it at start. */
export type RestoredSessions = {
  readonly sessions: readonly StoredSession[]
  readonly unheard: readonly StoredUnheard[]
  /** Corrections from this place on may be missing there; undefined in a new store. */
  readonly judgedTo: number | undefined
  /** Seals event ids; drawn at the first start, and the same for all processes. */
  readonly eventKey: Uint8Array
}

/** Bytes of `eventKey`. */
export const EVENT_KEY_BYTES = 32

/** A request that its client has cancelled. */
export type CancelledRequest = {
  readonly session: Pick<StoredSession, 'number' | 'id'>
  /** The client's id of it, as JSON. */
  readonly request: string
}

/** What changed since the look before, in one snapshot. */
export type SessionLook = {
  /** Whether the others count on this process; if not, they have forgotten what it was to be told. */
  readonly isKnown: boolean
  /** Sessions that changed, each with its newest count of changes; undefined for one that is gone. */
  readonly changed: readonly { readonly number: number; readonly changes: number | undefined }[]
  /** At other processes. */
  readonly cancelled: readonly CancelledRequest[]
  /** Sizes of the journals; absent where this process alone writes them. */
  readonly sizes?: Pick<Position, 'user' | 'assistant'> | undefined
  /** Whether other processes serve the same sessions. */
  readonly hasOthers: boolean
  /** Whether anybody listens at those. */
  readonly hasListensElsewhere: boolean
}

/** A stream without a session (C21). */
type NewListen = {
  /** A UUID. */
  readonly id: string
  readonly sub: string
  /** Of records that it follows. */
  readonly uris: readonly string[]
  /** How many there may be, and how many of its principal. */
  readonly max: number
  readonly perSubMax: number
}

/** Each listen is at one process, and is counted by all. Rejects with `RecordStoreUnavailable`. */
export type ListenRows = {
  /** False if there would be too many. */
  add(listen: NewListen): Promise<boolean>
  /** Nobody waits for it. */
  remove(id: string): void
  /** How many at other processes followed a URI when the version of a place was written. */
  countElsewhere(uri: string, place: number): Promise<number>
}

/** Which sessions are over. */
export type SessionSweep = {
  readonly idleMs: number
  readonly absoluteMs: number
  /** When sessions were last in use at this process, by number. */
  readonly seen: ReadonlyMap<number, number>
  /** Of these sessions alone. */
  readonly only?: number | undefined
}

export type SweptSession = { readonly number: number; readonly reason: 'idle' | 'too-old' }

/** Everything rejects with `RecordStoreUnavailable` if the store cannot be used. */
export type SessionStore = {
  readonly listens: ListenRows
  /**
   * Counts this process among those that serve the sessions; again, under a new name, once it was forgotten. Whoever is alone
   * brings what reaches beyond the journals back to them, and no session is idle yet.
   */
  enter(sizes: Pick<Position, 'user' | 'assistant'>): Promise<void>
  restore(): Promise<RestoredSessions>
  /** The sessions of these numbers that are there. */
  find(numbers: readonly number[]): Promise<readonly StoredSession[]>
  /** Whoever sees a version after a look has seen every change that was answered before that version was written. */
  look(): Promise<SessionLook>
  /**
   * Calls back whenever another process may have changed something, at once behind a commit while somebody listens; returns what
   * stops it.
   */
  watch(wake: () => void, isListening: () => boolean): () => void
  /** Whether other processes may change the sessions. */
  readonly isShared: boolean
  /** Stores a change behind what was asked before. */
  commit(change: SessionChange): Promise<ChangeOutcome>
  /** Has the other processes end a request, soon. */
  cancel(cancelled: CancelledRequest): Promise<void>
  /** Removes sessions that are over; each is returned to one process. */
  sweep(sweep: SessionSweep): Promise<readonly SweptSession[]>
  /** Takes notes in order. They are stored soon; once the next `flush` resolves, they survive a kill. */
  save(notes: readonly SessionNote[]): void
  /** Resolves when everything saved is stored; what is refused stays queued. */
  flush(): Promise<void>
  /** Has the other processes forget this one. */
  close(): Promise<void>
}

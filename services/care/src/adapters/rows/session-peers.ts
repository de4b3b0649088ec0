// The processes that serve the same sessions, as the engine has them.
import type { SqlConnection, SqlQuery } from '@tallystick/journal-store'
import type {
  CancelledRequest,
  ListenRows,
  SessionLook,
  SessionStore,
} from '../../domain/session-store.ts'

type OpenedRow = {
  readonly session: number
  /** Of its principal. */
  readonly subCell: ReturnType<SqlConnection['textCell']>
  readonly perSubMax: number
}

export type SessionPeers = {
  readonly listens: ListenRows
  /** The name of this process among them. */
  process(): string
  /**
   * Begins a transaction in which this process enters; no change of a session is under way meanwhile. Returns whether it is
   * alone.
   */
  enter(query: SqlQuery): Promise<boolean>
  /** Begins a transaction that changes sessions; with `opens`, no other opens any meanwhile. */
  begin(query: SqlQuery, sessions: readonly number[], opens: boolean): readonly Promise<unknown>[]
  /** Has all processes read sessions again. */
  tell(query: SqlQuery, sessions: readonly number[]): readonly Promise<unknown>[]
  look(): Promise<SessionLook>
  watch: SessionStore['watch']
  /** Whether there may be others. */
  readonly isShared: boolean
  /** Takes a session back that was just opened, if its principal has more than it may; returns whether it did. */
  takeBackBeyond(query: SqlQuery, opened: OpenedRow): Promise<boolean>
  /** What the others know of the use of a session may be as late as this, milliseconds. */
  readonly seenLateMs: number
  /** SQL for the place of the next version, given SQL for what this process takes for it. */
  placeSql(known: string): string
  /** Has the others end a request. */
  cancel(cancelled: CancelledRequest): Promise<void>
  leave(): Promise<void>
}

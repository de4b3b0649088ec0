/** Work that must happen once, wherever: the process that holds its lease does it, and another one after its end. */
import type { SqlQuery } from './sql-connection.ts'

export type Lease = {
  /** Whether it is sure that no other process holds it: nothing is done outside the database without it. */
  isHeld(): boolean
  /** The number of this holding, while it is held. Work that began under another number is not this holding's. */
  epoch(): number | undefined
  /** Calls the listener at the beginning of each holding, and at once if it is held. */
  onHeld(listener: (epoch: number) => void): void
  /** In a transaction that stores what the work came to: it fails if another process took the lease since that epoch. */
  require(query: SqlQuery, epoch: number): Promise<void>
  /** Leaves it to the next process at once. */
  close(): Promise<void>
}

/** How long a silent process is remembered, milliseconds: longer than a lease, so that its work is another's before it is forgotten. */
export const FORGOTTEN_MS = 10_000

/** The place of a process among the equal processes that serve one store. */
export type ProcessPlace = {
  /** Under which the others know it. */
  id(): string
  /** Whether nobody can have forgotten it yet, by its own clock. */
  isKnown(): boolean
  /** How many processes live, this one included: shared limits are divided by it. */
  living(): number
  /** The database's time, wherever this machine's clock is set, Unix milliseconds. */
  unixMs(): number
  /** Says at once that it lives, and finds out whether it was forgotten. */
  beat(): Promise<void>
  /** Called with the new id when it was forgotten. */
  onForgotten(listener: (id: string) => void): void
  close(): Promise<void>
}

/** Of a store that one process serves. */
export const OWN_PROCESS: ProcessPlace = {
  id: () => 'own',
  isKnown: () => true,
  living: () => 1,
  unixMs: Date.now,
  beat: async () => undefined,
  onForgotten: () => undefined,
  close: async () => undefined,
}

/** The same. */
export const OWN_LEASE: Lease = {
  isHeld: () => true,
  epoch: () => 1,
  onHeld: (listener) => listener(1),
  require: async () => undefined,
  close: async () => undefined,
}

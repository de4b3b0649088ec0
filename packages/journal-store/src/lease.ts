/** Work that must happen once, wherever: the process that holds its lease does it, and another one after its end. */
import type { SqlQuery } from './sql-connection.ts'

export type Lease = {
  /** Whether it is sure that no other process holds it: nothing is done outside the database without it. */
  isHeld(): boolean
  /** The number of this holding, while it is held. Work that began under another number is not this holding's. */
  epoch(): number | undefined
  /** In a transaction that stores what the work came to: it fails if another process took the lease since that epoch. */
  require(query: SqlQuery, epoch: number): Promise<void>
  /** Leaves it to the next process at once. */
  close(): Promise<void>
}

/** Of a store that one process serves. */
export const OWN_LEASE: Lease = {
  isHeld: () => true,
  epoch: () => 1,
  require: async () => undefined,
  close: async () => undefined,
}

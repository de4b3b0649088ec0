import type { Ledger } from '../ledger/ledger.ts'
import type { Scheduler } from '../ledger/scheduler.ts'

/** What the mirror node reads. */
export type MirrorParts = {
  ledger: Ledger
  scheduler: Pick<Scheduler, 'find'>
  /** Where the consensus edge listens, for `/network/nodes`. */
  consensus: { host: string; port: number }
}

/** The ledger as the process sees it that polls for all: what it stores is refused once another process does so (G12). */
import type { Lease } from '@tallystick/journal-store'
import type { GradingStore } from '../domain/closes/grading-store.ts'

/** The name of that process's lease. */
export const POLLER = 'poller'

export type Polling = {
  /** Whether this process is the one that polls; what is stored from now on is under that holding. */
  readonly mayPoll: () => Promise<boolean>
  readonly store: GradingStore
}

export function openPolledStore(store: GradingStore, lease: Pick<Lease, 'epoch'>): Polling {
  let pollerEpoch: number | undefined
  return {
    mayPoll: async () => {
      pollerEpoch = lease.epoch()
      return pollerEpoch !== undefined
    },
    store: {
      ...store,
      ingest: (batch) => store.ingest({ ...batch, pollerEpoch }),
      markPayload: (payload) => store.markPayload({ ...payload, pollerEpoch }),
    },
  }
}

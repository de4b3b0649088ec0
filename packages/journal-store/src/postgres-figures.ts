/** What a process knows of PostgreSQL without asking it: the door counts, and no figure costs a statement. */
import type { Lease, ProcessPlace } from './lease.ts'

/** Each with its help text on /metrics. Totals count since the process started. */
export const POSTGRES_FIGURES = {
  connections: 'Open connections to PostgreSQL.',
  busyConnections: 'Connections with a statement that is not answered yet.',
  unansweredStatements: 'Statements that are not answered yet.',
  unansweredCommits: 'COMMITs that are not answered yet: their writes are in doubt until then.',
  doubtfulCommitsTotal: 'COMMITs that never got an answer, and were looked up.',
  silentHosts: 'Hosts that left a statement unanswered and have not answered since.',
  timeline: 'The timeline of the server that takes writes; each promotion begins a new one.',
  lookAgeSeconds: 'How long ago this process last saw what the others committed, in whole seconds.',
  processes: 'Equal processes that serve the store, this one included.',
  leaseEpoch: 'The number of the lease that this process holds; 0 while another holds it.',
} as const

export type PostgresFigures = Readonly<Record<keyof typeof POSTGRES_FIGURES, number>>

/** The figures of a process among equal ones. */
export const placeFigures = ({
  lease,
  process,
}: {
  readonly lease: Pick<Lease, 'epoch'>
  readonly process: Pick<ProcessPlace, 'living'>
}): Pick<PostgresFigures, 'leaseEpoch' | 'processes'> => ({
  processes: process.living(),
  leaseEpoch: lease.epoch() ?? 0,
})

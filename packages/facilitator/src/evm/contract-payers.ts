/**
 * Payers that are contracts (X21). Their own code decides whether a transfer succeeds, and may agree in every rehearsal: what it
 * did in a transaction is the only proof, and costs the facilitator's gas.
 */
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import { ConsensusUnavailable, type SettlementEnd } from '../settlement.ts'

/** How long a payer whose transaction reverted is refused, milliseconds: then its gas costs less than a cent a day. */
const REFUSED_MS = 3_600_000

/** Payers remembered; the one that reverted longest ago is forgotten first. Each of them had to be deployed and funded. */
const REVERTED_MAX = 10_000

export type ContractPayers = ReturnType<typeof createContractPayers>

export function createContractPayers(clock: Clock) {
  const revertedAtMs = new BoundedMap<string, number>(REVERTED_MAX)
  const underWay = new Set<string>()
  return {
    /** Whether a transaction of this payer reverted within the last hour. */
    hasReverted(payer: string): boolean {
      const atMs = revertedAtMs.get(payer)
      return atMs !== undefined && clock.unixMs() < atMs + REFUSED_MS
    },
    /** One transaction at a time: many at once could revert together. Throws ConsensusUnavailable while there is another. */
    begin(payer: string): void {
      if (underWay.has(payer)) throw new ConsensusUnavailable('consensus_unavailable')
      underWay.add(payer)
    },
    /** Its transaction is over; if it reverted, the payer is refused. No effect on payers that are no contracts. */
    end(payer: string, end?: SettlementEnd): void {
      if (!underWay.delete(payer)) return
      if (end?.hasReverted === true) revertedAtMs.set(payer, clock.unixMs())
    },
  }
}

/**
 * Payers that are contracts (X21). Their own code decides whether a transfer succeeds, and may agree in every rehearsal: what it
 * did in a transaction is the only proof, and costs the facilitator's gas.
 */
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import type { VerifiedPayment } from '@tallystick/x402'
import { ConsensusUnavailable, type SettlementEnd } from '../settlement.ts'

/** How long a payer whose transaction reverted is refused, milliseconds: then its gas costs less than a cent a day. */
const REFUSED_MS = 3_600_000

/** Payers remembered; the oldest is forgotten first. Each of them had to be deployed and funded. */
const PAYERS_MAX = 10_000

type ContractPayment = Pick<VerifiedPayment, 'id' | 'payer' | 'validUntilSeconds'>

export type ContractPayers = ReturnType<typeof createContractPayers>

export function createContractPayers(clock: Clock) {
  const revertedAtMs = new BoundedMap<string, number>(PAYERS_MAX)
  const underWay = new BoundedMap<string, ContractPayment>(PAYERS_MAX)
  return {
    /** Whether a transaction of this payer reverted within the last hour. */
    hasReverted(payer: string): boolean {
      const atMs = revertedAtMs.get(payer)
      return atMs !== undefined && clock.unixMs() < atMs + REFUSED_MS
    },
    /** One transaction at a time: many at once could revert together. Throws ConsensusUnavailable while there is another. */
    begin(payment: ContractPayment): void {
      const other = underWay.get(payment.payer)
      if (other !== undefined && clock.unixMs() < other.validUntilSeconds * 1_000)
        throw new ConsensusUnavailable('consensus_unavailable')
      underWay.set(payment.payer, payment)
    },
    /**
     * Its transaction is over; if it reverted, the payer is refused. One in doubt may still be in the node's pool: it stays
     * under way until somebody learns its end, or its authorization is over.
     */
    end({ id, payer }: ContractPayment, end?: SettlementEnd): void {
      if (end?.hasReverted === true) revertedAtMs.set(payer, clock.unixMs())
      if (end?.outcome !== 'pending' && underWay.get(payer)?.id === id) underWay.delete(payer)
    },
  }
}

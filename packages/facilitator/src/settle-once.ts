import type { SettleResponse } from '@x402/core/types'
import { ConsensusUnavailable } from './consensus-unavailable.ts'
import type { SettlementEnd } from './settlement-end.ts'
import type { PaymentIdentity, SettlementFlights } from './settlement-flights.ts'

/** One settlement of a verified payment: what is done on its ledger, and how its end is answered. */
export type Settlement = {
  readonly identity: PaymentIdentity
  /** The end of a payment under whose id another one is under way. */
  readonly conflict: SettlementEnd
  /** Hands the payment to the ledger; undefined where it went, or may have gone, and is in doubt then. */
  submit(): Promise<SettlementEnd | undefined>
  /** Reads what became of a payment in doubt. */
  conclude(): Promise<SettlementEnd>
  answer(end: SettlementEnd): SettleResponse
}

/**
 * Submits a payment once and reads its end, the same on every ledger: sent at once it shares one answer, and while its
 * outcome is in doubt it is not submitted again. Throws ConsensusUnavailable where too many are under way, and what
 * `submit` throws, both before anything was submitted.
 */
export async function settleOnce(
  flights: SettlementFlights<SettleResponse>,
  settlement: Settlement,
): Promise<SettleResponse> {
  const { conflict, identity } = settlement
  const answer = flights.join({
    payment: identity,
    async settle() {
      const isInDoubt = flights.doubted(identity) !== undefined
      const end = isInDoubt ? undefined : await settlement.submit()
      return settlement.answer(end ?? (await settlement.conclude()))
    },
  })
  if (answer === 'conflict') return settlement.answer(conflict)
  if (answer === 'full') throw new ConsensusUnavailable('consensus_unavailable')
  return await answer
}

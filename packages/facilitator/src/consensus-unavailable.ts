/** Why nothing was submitted although the payment is good: codes of a 503, never of a refusal. */
export type ConsensusProblem =
  /** No node that the payment is addressed to could be reached, all were busy, or too many settlements are under way. */
  | 'consensus_unavailable'
  /** The account that pays the transaction's fee, or its gas, cannot. */
  | 'fee_payer_balance_too_low'
  /** The fee payer's account does not exist, is deleted, or has another key than FEE_PAYER_KEY. */
  | 'fee_payer_unusable'

/** The payment cannot be submitted now, and no bytes of it have left this process. */
export class ConsensusUnavailable extends Error {
  override readonly name = 'ConsensusUnavailable'
  readonly problem: ConsensusProblem

  constructor(problem: ConsensusProblem, options?: ErrorOptions) {
    super(problem, options)
    this.problem = problem
  }
}

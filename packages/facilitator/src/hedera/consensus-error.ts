/** Why nothing was submitted although the payment is good: codes of a 503, never of a refusal. */
export type ConsensusProblem =
  /** No consensus node that the payment is addressed to could be reached, or all were busy. */
  | 'consensus_unavailable'
  /** The fee payer's account cannot pay the transaction's fee. */
  | 'fee_payer_balance_too_low'
  /** The fee payer's account does not exist, is deleted, or has another key than FEE_PAYER_KEY. */
  | 'fee_payer_unusable'

/** The consensus nodes cannot be used, and no bytes of the payment have left this process. */
export class ConsensusUnavailable extends Error {
  override readonly name = 'ConsensusUnavailable'
  readonly problem: ConsensusProblem

  constructor(problem: ConsensusProblem, options?: ErrorOptions) {
    super(problem, options)
    this.problem = problem
  }
}

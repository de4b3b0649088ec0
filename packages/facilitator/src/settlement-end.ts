import type { VerifiedPayment } from '@tallystick/x402'
import type { Network, SettleResponse } from '@x402/core/types'

/** How a settlement ended. `settled` and `failed` are on the ledger; `refused` never reached it. */
export type SettlementEnd = {
  readonly outcome: 'settled' | 'failed' | 'refused' | 'duplicate' | 'pending'
  /** x402's `errorReason`; empty where settled. */
  readonly reason: string
  /** Id or hash of the transaction that the answer names: one that the ledger has, or may have. */
  readonly transaction?: string
  /** The network's own word for it, where it has one. */
  readonly message?: string
  /** For the log: why it is not known what happened. */
  readonly cause?: unknown
}

/** A submission of which it is not known whether it arrived, for the log; how the settlement ends is told apart. */
export type SubmissionDoubt = {
  /** Id or hash of the transaction. */
  readonly transaction: string
  readonly cause: unknown
}

/** Told of settlements of verified payments, for logs and metrics. */
export type SettlementListener = {
  /** How each one ended. */
  readonly onEnd?: ((payment: VerifiedPayment, end: SettlementEnd) => void) | undefined
  /** That a submission may not have arrived, before its end is known. */
  readonly onDoubt?: ((payment: VerifiedPayment, doubt: SubmissionDoubt) => void) | undefined
}

/** The answer to a settlement of a verified payment. */
export function settleResponse(payment: VerifiedPayment, end: SettlementEnd): SettleResponse {
  const network = payment.network as Network
  const { payer } = payment
  const { message, outcome, reason, transaction = '' } = end
  if (outcome === 'settled')
    return { success: true, transaction, network, payer, amount: payment.amount.toString() }
  return {
    success: false,
    errorReason: reason,
    ...(message === undefined ? {} : { errorMessage: message }),
    transaction,
    network,
    payer,
  }
}

/** The answer to a settlement of what is no payment: nothing was submitted. */
export function refusedResponse(errorReason: string, network: string): SettleResponse {
  return { success: false, errorReason, transaction: '', network: network as Network }
}

/**
 * Settles once, alike on every ledger: which payments are in flight, which submitted ones are in doubt, and the answer to
 * each end. A refusal without a transaction means that nothing of ours was submitted; `settlement_pending` that
 * something may have been. What a ledger itself says is in hedera/exact-hedera.ts and evm/exact-evm.ts.
 */
import { hash } from 'node:crypto'
import { BoundedMap } from '@tallystick/service-kit'
import {
  acceptsRequirement,
  type PaymentRequirement,
  type Verification,
  type VerifiedPayment,
} from '@tallystick/x402'
import type {
  Network,
  PaymentPayload,
  PaymentRequirements,
  SchemeNetworkFacilitator,
  SettleResponse,
} from '@x402/core/types'

/** Why nothing was submitted although the payment is good: codes of a 503, never of a refusal. */
export type ConsensusProblem =
  /** No node that the payment is addressed to could be reached, all were busy, or too many settlements are in flight. */
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

/** A submission that may not have arrived, for the log; how the settlement ends is reported separately. */
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

/** A transaction that the ledger took or, where there is a `cause`, may have taken. */
export type Submitted = {
  /** Hash by which the transaction is recognized later, hex. */
  readonly hash: string
  /** Id or hash for the log. */
  readonly transaction: string
  readonly cause?: unknown
}

/** A payment that keeps the rules, whose validity may have ended. */
type Unrefused = Exclude<Verification, { kind: 'refused' }>

/** One verified payment as its ledger handles it. */
export type Order = {
  /** What was signed: tells one payment from another under the same id. */
  readonly terms: string | Uint8Array
  /** The end of a payment whose id was used by another transaction. */
  readonly duplicate: SettlementEnd
  /** What would surely fail on the ledger at our cost; undefined where nothing speaks against it. */
  preflight(): Promise<SettlementEnd | undefined>
  /** Checks the same and submits. Throws LedgerUnavailable or ConsensusUnavailable only where nothing was submitted. */
  submit(): Promise<SettlementEnd | Submitted>
  /** Reads what became of a submitted transaction; `pending` where that is not known yet. */
  conclude(hash: string): Promise<SettlementEnd>
}

/** What one ledger contributes to `exact`. */
type LedgerSide = {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  readonly caipFamily: string
  /** Who submits and pays the fees. */
  readonly signer: string
  /** What clients must know before they sign, beside the seller's requirement. */
  readonly extra?: Record<string, unknown>
  /** Reason of the refusal of a payment whose validity has ended. */
  readonly expired: string
  /** Verifies by the rules that the gate uses. Throws LedgerUnavailable. */
  verify(payload: unknown, requirement: PaymentRequirement): Promise<Verification>
  order(payment: VerifiedPayment, payload: unknown): Order
}

/** Scheme `exact` on one ledger, as `@x402/core`'s x402Facilitator takes it (X12). */
export type ExactFacilitator = SchemeNetworkFacilitator & {
  /** Settlements in flight. */
  readonly inFlightCount: number
}

/** Settlements at once: each holds a connection to a node for some seconds; more would only queue there. */
const IN_FLIGHT_MAX = 256

/** Doubts remembered; the oldest goes first. Past its validity a payment cannot be submitted again anyway. */
const DOUBTS_MAX = 10_000

/** How a facilitator is observed and limited. */
type Options = SettlementListener & { readonly inFlightMax?: number }

/**
 * The facilitator side of `exact` on a ledger. Identical payments at once share one submission and one answer; a payment
 * whose outcome is in doubt is not submitted again. Both methods throw LedgerUnavailable, and `settle` also throws
 * ConsensusUnavailable, both before anything was submitted.
 */
export function createExactFacilitator(side: LedgerSide, options: Options = {}): ExactFacilitator {
  const settlements = createSettlements(options)

  async function judge({ accepted, payload }: PaymentPayload, wanted: PaymentRequirements) {
    const requirement = acceptedRequirement(accepted, wanted, side.network)
    return 'reason' in requirement ? requirement : await side.verify(payload, requirement)
  }

  /** The order of a payment; one whose validity has ended is refused whatever the ledger says. */
  function orderOf({ kind, payment }: Unrefused, { payload }: PaymentPayload): Order {
    const order = side.order(payment, payload)
    if (kind === 'valid') return order
    const expired = async (): Promise<SettlementEnd> => ({
      outcome: 'refused',
      reason: side.expired,
    })
    return { ...order, preflight: expired, submit: expired }
  }

  return {
    scheme: 'exact',
    caipFamily: side.caipFamily,
    getExtra: () => side.extra,
    getSigners: () => [side.signer],
    get inFlightCount() {
      return settlements.count
    },
    async verify(payload, wanted) {
      const verification = await judge(payload, wanted)
      if (verification.kind === 'refused') {
        return { isValid: false, invalidReason: verification.reason }
      }
      const { payer } = verification.payment
      const refusal = await orderOf(verification, payload).preflight()
      return refusal === undefined
        ? { isValid: true, payer }
        : { isValid: false, invalidReason: refusal.reason, payer }
    },
    async settle(payload, wanted) {
      const verification = await judge(payload, wanted)
      return verification.kind === 'refused'
        ? refusedResponse(verification.reason, wanted.network)
        : await settlements.settle(verification.payment, orderOf(verification, payload))
    },
  }
}

/** The settlements of one ledger: in flight by payment id, and in doubt until their end is known. */
function createSettlements({ inFlightMax = IN_FLIGHT_MAX, onDoubt, onEnd }: Options) {
  const inFlight = new Map<string, { fingerprint: string; answer: Promise<SettleResponse> }>()
  const doubts = new BoundedMap<string, { fingerprint: string; hash: string }>(DOUBTS_MAX)

  async function submitOnce(
    payment: VerifiedPayment,
    order: Order,
    fingerprint: string,
  ): Promise<SettlementEnd> {
    let doubt = doubts.get(payment.id)
    if (doubt?.fingerprint !== fingerprint) {
      const sent = await order.submit()
      if ('outcome' in sent) return sent
      const { cause, transaction } = sent
      doubt = { fingerprint, hash: sent.hash }
      doubts.set(payment.id, doubt)
      if (cause !== undefined) onDoubt?.(payment, { transaction, cause })
    }
    const end = await order.conclude(doubt.hash)
    if (end.outcome !== 'pending') doubts.delete(payment.id)
    return end
  }

  function answer(payment: VerifiedPayment, end: SettlementEnd): SettleResponse {
    onEnd?.(payment, end)
    return settleResponse(payment, end)
  }

  return {
    get count() {
      return inFlight.size
    },
    async settle(payment: VerifiedPayment, order: Order): Promise<SettleResponse> {
      const fingerprint = hash('sha256', order.terms, 'hex')
      const current = inFlight.get(payment.id)
      if (current?.fingerprint === fingerprint) return await current.answer
      if (current !== undefined) return answer(payment, order.duplicate)
      if (inFlight.size >= inFlightMax) throw new ConsensusUnavailable('consensus_unavailable')
      const settling = submitOnce(payment, order, fingerprint)
        .then((end) => answer(payment, end))
        .finally(() => inFlight.delete(payment.id))
      inFlight.set(payment.id, { fingerprint, answer: settling })
      return await settling
    },
  }
}

/**
 * What a seller wants, as the rules of `exact` on `network` take it; a refusal where it wants another scheme or network,
 * or something else than its payer accepted (X3).
 */
function acceptedRequirement(
  accepted: PaymentRequirements,
  wanted: PaymentRequirements,
  network: string,
): PaymentRequirement | Extract<Verification, { kind: 'refused' }> {
  if (wanted.scheme !== 'exact') return { kind: 'refused', reason: 'unsupported_scheme' }
  if (wanted.network !== network) return { kind: 'refused', reason: 'network_mismatch' }
  const requirement: PaymentRequirement = { ...wanted, scheme: 'exact' }
  return acceptsRequirement(accepted, requirement)
    ? requirement
    : { kind: 'refused', reason: 'accepted_payment_requirements_mismatch' }
}

/** The answer to a settlement of a verified payment. */
export function settleResponse(payment: VerifiedPayment, end: SettlementEnd): SettleResponse {
  const network = payment.network as Network
  const { payer } = payment
  const { message, outcome, reason, transaction = '' } = end
  if (outcome === 'settled') {
    return { success: true, transaction, network, payer, amount: payment.amount.toString() }
  }
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

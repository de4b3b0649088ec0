/**
 * Settles once, in the same way on every ledger: which payments are in flight, which submitted ones are in doubt, and the
 * answer to each outcome. A refusal without a transaction means that we submitted nothing; `settlement_pending` means
 * that we may have. hedera/exact-hedera.ts and evm/exact-evm.ts interpret what their ledger says.
 */
import { hash } from 'node:crypto'
import { BoundedMap } from '@tallystick/service-kit'
import {
  acceptsRequirement,
  type NothingSubmitted,
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
export type ConsensusProblem = Exclude<NothingSubmitted, 'ledger_unavailable'>

/** The payment cannot be submitted now, and none of its bytes have left this process. */
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
  /** x402's `errorReason`; empty if settled. */
  readonly reason: string
  /** Id or hash of the transaction named in the answer: one that the ledger has, or may have. */
  readonly transaction?: string
  /** The network's own message, if it has one. */
  readonly message?: string
  /** For the log: why the outcome is unknown. */
  readonly cause?: unknown
  /** Our transaction failed on the ledger, and nothing else had used the payment: its gas was spent for nothing. */
  readonly hasReverted?: true
}

/** A submission that may not have arrived, for the log; the settlement's end is reported separately. */
export type SubmissionDoubt = {
  /** Id or hash of the transaction. */
  readonly transaction: string
  readonly cause: unknown
}

/** Notified about settlements of verified payments, for logs and metrics. */
type SettlementListener = {
  /** How each one ended. */
  readonly onEnd?: ((payment: VerifiedPayment, end: SettlementEnd) => void) | undefined
  /** That a submission may not have arrived, before its outcome is known. */
  readonly onDoubt?: ((payment: VerifiedPayment, doubt: SubmissionDoubt) => void) | undefined
}

/** A transaction that the ledger took or, if there is a `cause`, may have taken. */
export type Submitted = {
  /** Hash that identifies the transaction later, hex. */
  readonly hash: string
  /** Id or hash for the log. */
  readonly transaction: string
  readonly cause?: unknown
}

/** A payment that keeps the rules, though it may have expired. */
type Unrefused = Exclude<Verification, { kind: 'refused' }>

/** One verified payment as its ledger handles it. */
export type Order = {
  /** This was signed: it distinguishes payments under the same id. */
  readonly terms: string | Uint8Array
  /** The outcome of a payment whose id another transaction used. */
  readonly duplicate: SettlementEnd
  /** A failure that is certain on the ledger, at our cost; undefined if none is foreseen. */
  preflight(): Promise<SettlementEnd | undefined>
  /** Repeats that check and submits. Throws LedgerUnavailable or ConsensusUnavailable, only if nothing was submitted. */
  submit(): Promise<SettlementEnd | Submitted>
  /** Whether the ledger takes the payment once however often it is submitted, so that another attempt costs nothing. */
  readonly isRepeatable: boolean
  /** Reads what happened to transactions that were submitted for it; `pending` while that is unknown. */
  conclude(hashes: ReadonlySet<string>): Promise<SettlementEnd>
}

/** One ledger contributes this to `exact`. */
type LedgerSide = {
  /** CAIP-2, e.g. `hedera:testnet`. */
  readonly network: string
  readonly caipFamily: string
  /** Who submits and pays the fees. */
  readonly signer: string
  /** Clients must know this before they sign, besides the seller's requirement. */
  readonly extra?: Record<string, unknown>
  /** The refusal reason for an expired payment. */
  readonly expired: string
  /** Verifies by the gate's rules. Throws LedgerUnavailable. */
  verify(payload: unknown, requirement: PaymentRequirement): Promise<Verification>
  order(payment: VerifiedPayment, payload: unknown): Order
}

/** Scheme `exact` on one ledger, as accepted by `@x402/core`'s x402Facilitator (X12). */
export type ExactFacilitator = SchemeNetworkFacilitator & {
  /** Settlements in flight. */
  readonly inFlightCount: number
}

/** Concurrent settlements: each holds a connection to a node for some seconds, and more would only queue there. */
const IN_FLIGHT_MAX = 256

/** Doubts remembered; the oldest is dropped first. An expired payment cannot be submitted again anyway. */
const DOUBTS_MAX = 10_000

/** Submissions in one settlement of a repeatable payment: the second follows one that may not have arrived. */
const SUBMISSIONS_MAX = 2

/** How a facilitator is observed and limited. */
export type FacilitatorLimits = SettlementListener & {
  readonly inFlightMax?: number
  /** The only receivers whose payments, and refunds, are settled, in lower case; by default any. */
  readonly servedPayTo?: ReadonlySet<string> | undefined
}

/**
 * The facilitator side of `exact` on a ledger. Identical concurrent payments share one submission and one answer; a payment
 * in doubt is resubmitted only where that is harmless. Both methods throw LedgerUnavailable, and `settle` also throws
 * ConsensusUnavailable, in each case before anything was submitted.
 */
export function createExactFacilitator(
  side: LedgerSide,
  options: FacilitatorLimits = {},
): ExactFacilitator {
  const settlements = createSettlements(options)

  async function judge({ accepted, payload }: PaymentPayload, wanted: PaymentRequirements) {
    const requirement = acceptedRequirement(accepted, wanted, side.network)
    if ('reason' in requirement) return requirement
    const verification = await side.verify(payload, requirement)
    if (verification.kind === 'refused' || isServed(verification.payment)) return verification
    return { kind: 'refused', reason: 'pay_to_not_served_by_facilitator' } as const
  }

  /** Payments of a served receiver itself, such as a refund, are settled as well. */
  function isServed({ payer, payTo }: VerifiedPayment): boolean {
    const { servedPayTo } = options
    return servedPayTo === undefined || servedPayTo.has(payTo) || servedPayTo.has(payer)
  }

  /** The order for a payment; an expired one is refused whatever the ledger says. */
  function makeOrder({ kind, payment }: Unrefused, { payload }: PaymentPayload): Order {
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
      const refusal = await makeOrder(verification, payload).preflight()
      return refusal === undefined
        ? { isValid: true, payer }
        : { isValid: false, invalidReason: refusal.reason, payer }
    },
    async settle(payload, wanted) {
      const verification = await judge(payload, wanted)
      return verification.kind === 'refused'
        ? refusedResponse(verification.reason, wanted.network)
        : await settlements.settle(verification.payment, makeOrder(verification, payload))
    },
  }
}

/** A payment whose outcome is unknown, and the transactions that were submitted for it. */
type Doubt = { readonly fingerprint: string; readonly hashes: ReadonlySet<string> }

/** The settlements of one ledger: in flight by payment id, and in doubt until their outcome is known. */
function createSettlements({ inFlightMax = IN_FLIGHT_MAX, onDoubt, onEnd }: FacilitatorLimits) {
  const inFlight = new Map<string, { fingerprint: string; answer: Promise<SettleResponse> }>()
  const doubts = new BoundedMap<string, Doubt>(DOUBTS_MAX)

  /** Submits once, or again; after an earlier submission, a refusal means nothing. Throws only what a first submission throws. */
  async function submitOnce(
    payment: VerifiedPayment,
    order: Order,
    doubt: Doubt,
  ): Promise<SettlementEnd | Submitted | undefined> {
    const isFirst = doubt.hashes.size === 0
    try {
      const sent = await order.submit()
      if ('outcome' in sent) return isFirst ? sent : undefined
      const { cause, hash: submitted, transaction } = sent
      doubts.set(payment.id, { ...doubt, hashes: new Set([...doubt.hashes, submitted]) })
      if (cause !== undefined) onDoubt?.(payment, { transaction, cause })
      return sent
    } catch (error) {
      if (isFirst) throw error
      return undefined
    }
  }

  async function settleOnce(
    payment: VerifiedPayment,
    order: Order,
    fingerprint: string,
  ): Promise<SettlementEnd> {
    const { id } = payment
    const earlier = doubts.get(id)
    let doubt: Doubt =
      earlier?.fingerprint === fingerprint ? earlier : { fingerprint, hashes: new Set() }
    for (let submissions = 0; submissions < SUBMISSIONS_MAX; submissions += 1) {
      if (doubt.hashes.size > 0 && !order.isRepeatable) break
      const sent = await submitOnce(payment, order, doubt)
      if (sent !== undefined && 'outcome' in sent) return sent
      doubt = doubts.get(id) ?? doubt
      if (sent === undefined || sent.cause === undefined) break
    }
    const end = await order.conclude(doubt.hashes)
    if (end.outcome !== 'pending') doubts.delete(id)
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
      const settling = settleOnce(payment, order, fingerprint)
        .then((end) => answer(payment, end))
        .finally(() => inFlight.delete(payment.id))
      inFlight.set(payment.id, { fingerprint, answer: settling })
      return await settling
    },
  }
}

/**
 * Reads what a seller wants, in the form that the rules of `exact` on `network` expect; a refusal if it wants another scheme or
 * network, or something that its payer did not accept (X3).
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

/** The answer to settling a verified payment. */
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

/** The answer to settling something that is not a payment: nothing was submitted. */
export function refusedResponse(errorReason: string, network: string): SettleResponse {
  return { success: false, errorReason, transaction: '', network: network as Network }
}

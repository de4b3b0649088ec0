// The outcomes of requests to the access service, status by status (access.md, "Endpoints").
import { canonicalTransactionId, parseTransactionId } from '@tallystick/x402/hedera'
import { decodePaymentResponseHeader } from '@x402/fetch'
import {
  type AccessStatus,
  ErrorBody,
  type Granted,
  GrantedBody,
  SignInBody,
  StatusBody,
} from './access-answers.ts'
import type { GuardFailed, GuardOutcome } from './access-contract.ts'
import {
  EarlierPaymentValid,
  hbarOffer,
  offerNames,
  type PaidExchange,
  retryAfterSeconds,
  type SignedPayment,
} from './paid-request.ts'
import type { PurchaseEvidence } from './purchase-evidence.ts'

/** The outcome of one call of the paid resource. */
export type AccessOutcome =
  | (Granted & {
      readonly kind: 'granted'
      /** The payment that the service settled for this request. */
      readonly payment:
        | { readonly amountTinybar: bigint; readonly transaction: string; readonly payer: string }
        | undefined
      /**
       * This was signed for the request. If `payment` is absent, the service does not say it took it: a window may have
       * opened between the challenge and the payment.
       */
      readonly signedPayment: SignedPayment | undefined
      /** The outcome of guarding the window after the purchase; absent if that was not tried. */
      readonly guard?: GuardOutcome | GuardFailed | undefined
      /** The service signed this about the purchase; absent if nothing was paid. */
      readonly evidence?: PurchaseEvidence | undefined
    })
  /** No window is open and the price is above the caller's maximum (by default 0): nothing was signed. */
  | {
      readonly kind: 'payment-needed'
      readonly priceTinybar: bigint
      readonly maxPaymentTinybar: bigint
      readonly payTo: string
      readonly description: string | undefined
    }
  /** The service asks for a payment that this agent cannot make, e.g. on another network: nothing was signed. */
  | { readonly kind: 'cannot-pay'; readonly offers: readonly string[] }
  /** The service refused the payment, and says it moved no money. While the payment is valid, it is resent, not replaced. */
  | { readonly kind: 'payment-refused'; readonly reason: string; readonly payment: SignedPayment }
  /** The payment may have moved money and its window is not open yet. Do not sign another: ask again later. */
  | {
      readonly kind: 'payment-pending'
      readonly retryAfterSeconds: number
      /** The service's error code. */
      readonly error: string
      /** Absent when an earlier request's payment is the pending one. */
      readonly payment: SignedPayment | undefined
    }
  /** The quota of this window is spent (429); it refills when the window renews. */
  | { readonly kind: 'quota-spent'; readonly retryAfterSeconds: number }
  /** Calls for this agent, or from this address, come too fast (429); no quota was used. */
  | { readonly kind: 'too-many-requests'; readonly retryAfterSeconds: number }
  /**
   * The window is open and guarded, and no proof of its key was accepted: this is not the agent's own signer, or `error` says
   * what was wrong. A payment signed for this request is unsettled, or is the one that opened the window.
   */
  | {
      readonly kind: 'proof-needed'
      readonly error: string
      /** The service's own host: proofs are for it, and are signed only if it was called by that name. */
      readonly domain: string
      readonly payment: SignedPayment | undefined
    }
  | Unavailable

/** The service, its ledger or its facilitator is down (502, 503): nothing was signed. */
type Unavailable = {
  readonly kind: 'unavailable'
  readonly httpStatus: number
  readonly error: string
}

/** The outcome of reading the status. */
export type StatusOutcome = { readonly kind: 'status'; readonly status: AccessStatus } | Unavailable

/** The service was unreachable, or gave an answer that access.md does not define. */
export class AccessServiceUnavailable extends Error {
  override readonly name = 'AccessServiceUnavailable'
}

/** When to ask again about a payment that got no answer or no `Retry-After`. */
export const RETRY_AFTER_SECONDS = 5

async function readBody(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

export function errorCode(body: unknown): string {
  return ErrorBody.safeParse(body).data?.error ?? 'no_error_named'
}

function unexpected(response: Response): AccessServiceUnavailable {
  const { origin, pathname } = new URL(response.url)
  return new AccessServiceUnavailable(
    `${origin}${pathname} answered ${response.status}, which the service's description does not know.`,
  )
}

/** The outcome of a 402 that asks for a proof instead of a payment (A17); undefined for any other. */
function proofOutcome(
  body: unknown,
  payment: SignedPayment | undefined,
): AccessOutcome | undefined {
  const { data } = SignInBody.safeParse(body)
  if (data === undefined) return undefined
  const { domain } = data.extensions['sign-in-with-x'].info
  return { kind: 'proof-needed', error: data.error, domain, payment }
}

/** One answer of the access endpoint, read. */
type Answer = {
  readonly response: Response
  readonly body: unknown
  readonly payment: SignedPayment | undefined
}

function pendingOutcome({ response, body, payment }: Answer): AccessOutcome {
  return {
    kind: 'payment-pending',
    retryAfterSeconds: retryAfterSeconds(response) ?? RETRY_AFTER_SECONDS,
    error: errorCode(body),
    payment,
  }
}

/** For an answer that access.md does not define: it must not hide a payment, or its caller would sign another. */
function unexpectedOutcome(answer: Answer): AccessOutcome {
  if (answer.payment === undefined) throw unexpected(answer.response)
  return pendingOutcome(answer)
}

/** A transaction id as this package writes it, whatever the facilitator's form. */
function paymentId(transaction: string): string | undefined {
  const id = parseTransactionId(transaction)
  return id && canonicalTransactionId(id)
}

/** The settlement of a payment that an answer names; undefined for another's, or none. */
export function settledPayment({ response, payment }: Omit<Answer, 'body'>) {
  const header = response.headers.get('payment-response')
  if (header === null || payment === undefined) return undefined
  try {
    const { transaction, payer = '' } = decodePaymentResponseHeader(header)
    // Somebody else's settlement, or an earlier one's, says nothing about this payment.
    if (paymentId(transaction) !== payment.transaction) return undefined
    return { transaction, payer }
  } catch {
    return 'unreadable'
  }
}

function grantedOutcome(answer: Answer): AccessOutcome {
  const granted = GrantedBody.safeParse(answer.body)
  const settled = settledPayment(answer)
  const { payment: signedPayment } = answer
  if (!granted.success || settled === 'unreadable') return unexpectedOutcome(answer)
  const payment = settled && signedPayment && { amountTinybar: signedPayment.amount, ...settled }
  return { ...granted.data, kind: 'granted', payment, signedPayment }
}

/**
 * The outcome of an answer of the access endpoint. For what access.md does not define, a signed payment is pending; without
 * one, it throws AccessServiceUnavailable.
 */
export async function answeredOutcome(
  response: Response,
  payment: SignedPayment | undefined,
): Promise<AccessOutcome> {
  const body = await readBody(response)
  const answer = { response, body, payment }
  switch (response.status) {
    case 200:
      return grantedOutcome(answer)
    case 402: {
      const proof = proofOutcome(body, payment)
      if (proof !== undefined) return proof
      if (payment === undefined) throw unexpected(response)
      return { kind: 'payment-refused', reason: errorCode(body), payment }
    }
    case 429:
      return {
        kind: errorCode(body) === 'too_many_requests' ? 'too-many-requests' : 'quota-spent',
        retryAfterSeconds: retryAfterSeconds(response) ?? RETRY_AFTER_SECONDS,
      }
    case 502:
    case 503:
      return payment !== undefined || errorCode(body) === 'payment_pending'
        ? pendingOutcome(answer)
        : { kind: 'unavailable', httpStatus: response.status, error: errorCode(body) }
    default:
      return unexpectedOutcome(answer)
  }
}

/** The outcome of a challenge that nothing was signed for. Throws what kept an affordable payment from being signed. */
export function unsignedOutcome(
  exchange: Extract<PaidExchange, { kind: 'unsigned' }>,
  terms: { readonly network: string; readonly maxPaymentTinybar: bigint },
): AccessOutcome {
  const { challenge, payment } = exchange
  const proof = proofOutcome(challenge, payment)
  if (proof !== undefined) return proof
  const offer = hbarOffer(challenge, terms.network)
  if (offer === undefined) return { kind: 'cannot-pay', offers: offerNames(challenge) }
  if (exchange.cause instanceof EarlierPaymentValid) {
    const earlier = exchange.cause.payment
    return {
      kind: 'payment-pending',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      error: 'earlier_payment_still_valid',
      payment: earlier,
    }
  }
  const priceTinybar = BigInt(offer.amount)
  // Within the maximum, yet unsigned: the scheme or the signer failed, which no outcome may hide.
  if (priceTinybar <= terms.maxPaymentTinybar) throw exchange.cause
  return {
    kind: 'payment-needed',
    priceTinybar,
    maxPaymentTinybar: terms.maxPaymentTinybar,
    payTo: offer.payTo,
    description: challenge.resource?.description,
  }
}

/** The outcome of an answer of the status endpoint. Throws AccessServiceUnavailable likewise. */
export async function statusOutcome(response: Response): Promise<StatusOutcome> {
  const body = await readBody(response)
  if (response.status === 502 || response.status === 503) {
    return { kind: 'unavailable', httpStatus: response.status, error: errorCode(body) }
  }
  const status = StatusBody.safeParse(body)
  if (response.status !== 200 || !status.success) throw unexpected(response)
  return { kind: 'status', status: status.data }
}

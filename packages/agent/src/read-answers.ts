// Turns what the access service answered into an outcome, status by status (access.md, "Endpoints").
import { decodePaymentResponseHeader } from '@x402/fetch'
import { ErrorBody, GrantedBody, StatusBody } from './access-answers.ts'
import {
  type AccessOutcome,
  AccessServiceUnavailable,
  type SignedPayment,
  type StatusOutcome,
} from './access-outcome.ts'
import { hbarOffer, type PaidExchange } from './paid-request.ts'
import { retryAfterSeconds } from './resending-fetch.ts'

/** What an answer without `Retry-After` is taken to ask for. */
const RETRY_AFTER_SECONDS = 5

async function bodyOf(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

function errorCode(body: unknown): string {
  return ErrorBody.safeParse(body).data?.error ?? 'no_error_named'
}

function unexpected(response: Response): AccessServiceUnavailable {
  return new AccessServiceUnavailable(
    `The service answered ${response.status}, which its description does not know.`,
  )
}

function settledPayment(response: Response, payment: SignedPayment | undefined) {
  const header = response.headers.get('payment-response')
  if (header === null || payment === undefined) return undefined
  try {
    const { transaction, payer = '' } = decodePaymentResponseHeader(header)
    return { amountTinybar: payment.amountTinybar, transaction, payer }
  } catch (cause) {
    throw new AccessServiceUnavailable(
      'The service answered a PAYMENT-RESPONSE that cannot be read.',
      {
        cause,
      },
    )
  }
}

function grantedOutcome(
  response: Response,
  body: unknown,
  payment: SignedPayment | undefined,
): AccessOutcome {
  const granted = GrantedBody.safeParse(body)
  if (!granted.success) throw unexpected(response)
  const { access: _constant, ...rest } = granted.data
  return {
    ...rest,
    kind: 'granted',
    why: rest.why,
    metering: rest.metering,
    payment: settledPayment(response, payment),
  }
}

/** The outcome of an answer of the access endpoint. Throws AccessServiceUnavailable for what access.md does not know. */
export async function answeredOutcome(
  response: Response,
  payment: SignedPayment | undefined,
): Promise<AccessOutcome> {
  const body = await bodyOf(response)
  const waitSeconds = retryAfterSeconds(response) ?? RETRY_AFTER_SECONDS
  switch (response.status) {
    case 200:
      return grantedOutcome(response, body, payment)
    case 402:
      if (payment === undefined) throw unexpected(response)
      return { kind: 'payment-refused', reason: errorCode(body), payment }
    case 429:
      return { kind: 'quota-spent', retryAfterSeconds: waitSeconds }
    case 502:
    case 503:
      return payment !== undefined || errorCode(body) === 'payment_pending'
        ? {
            kind: 'payment-pending',
            retryAfterSeconds: waitSeconds,
            error: errorCode(body),
            payment,
          }
        : { kind: 'unavailable', httpStatus: response.status, error: errorCode(body) }
    default:
      throw unexpected(response)
  }
}

/** The outcome of a challenge that nothing was signed for. Throws what kept an affordable payment from being signed. */
export function unsignedOutcome(
  exchange: Extract<PaidExchange, { kind: 'unsigned' }>,
  terms: { readonly network: string; readonly maxPaymentTinybar: bigint },
): AccessOutcome {
  const { challenge } = exchange
  const offer = hbarOffer(challenge, terms.network)
  if (offer === undefined) {
    const offers = challenge.accepts.map(
      ({ scheme, network, asset }) => `${scheme} ${network} ${asset}`,
    )
    return { kind: 'cannot-pay', offers }
  }
  const priceTinybar = BigInt(offer.amount)
  // within the maximum and yet unsigned: the scheme or the signer failed, which no outcome hides
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
  const body = await bodyOf(response)
  if (response.status === 502 || response.status === 503) {
    return { kind: 'unavailable', httpStatus: response.status, error: errorCode(body) }
  }
  const status = StatusBody.safeParse(body)
  if (response.status !== 200 || !status.success) throw unexpected(response)
  return { kind: 'status', status: status.data }
}

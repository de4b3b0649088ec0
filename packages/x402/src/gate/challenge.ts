import type { PaidResource, PaymentRequirement } from '../payment.ts'
import type { ResourceDiscovery } from './resource-discovery.ts'

/** Why a 402 was answered: the `error` in its body. A scheme's refusal reasons pass through unchanged. */
export type ChallengeError =
  | 'payment_required'
  | 'payment_header_too_large'
  | 'payment_header_undecodable'
  | 'payment_headers_conflict'
  | 'payment_requirements_mismatch'
  | 'payment_resource_mismatch'
  | 'payment_already_used'
  | (string & {})

/** A 402, ready to send: the same JSON in the body and, base64, in `PAYMENT-REQUIRED`. */
export type Challenge = {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** What is on sale at this moment. */
export type PaymentTerms = {
  readonly requirements: readonly PaymentRequirement[]
  readonly resource: PaidResource
  /** How to make the call and what it answers, for agents and catalogues. */
  readonly discovery?: ResourceDiscovery | undefined
}

/** Errors cached per terms: more than we have codes, yet a facilitator's reasons cannot fill memory. */
const CACHED_ERRORS_MAX = 64

const cache = new WeakMap<PaymentTerms, Map<ChallengeError, Challenge>>()

/** A 402 for these terms (X3). Its bytes are built once per terms object and error, so reuse a terms object while it holds. */
export function buildChallenge(terms: PaymentTerms, error: ChallengeError): Challenge {
  let byError = cache.get(terms)
  if (byError === undefined) {
    byError = new Map()
    cache.set(terms, byError)
  }
  const cached = byError.get(error)
  if (cached !== undefined) return cached
  const { discovery, requirements, resource } = terms
  const accepts = requirements.map((requirement) => {
    const { amount, asset } = requirement
    return { ...requirement, price: { asset, amount } }
  })
  const extensions = discovery && { bazaar: discovery }
  const challenge = encodeChallenge({ x402Version: 2, error, resource, accepts, extensions })
  if (byError.size < CACHED_ERRORS_MAX) byError.set(error, challenge)
  return challenge
}

/** The one JSON text of a 402, as body and, base64 of its UTF-8, in `PAYMENT-REQUIRED`; no cache may store it (X2, X5). */
export function encodeChallenge(required: object): Challenge {
  const body = inAscii(JSON.stringify(required))
  return {
    body,
    headers: {
      'PAYMENT-REQUIRED': Buffer.from(body, 'utf8').toString('base64'),
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
    },
  }
}

/**
 * The same JSON with everything beyond ASCII escaped, such as the ₮ of USD₮0. This lets Node send head and body in one
 * piece without encoding each answer again, and a client that mistakes the decoded base64 for Latin-1 still reads it
 * correctly.
 */
function inAscii(json: string): string {
  return json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

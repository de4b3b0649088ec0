import type { PaymentRequirement } from '../payment.ts'
import type { Challenge, ChallengeError, PaymentTerms } from './payment-gate.ts'

/** Distinct errors kept per terms: more than our own codes, while a facilitator's reasons cannot fill memory. */
const CACHED_ERRORS_MAX = 64

const cache = new WeakMap<PaymentTerms, Map<ChallengeError, Challenge>>()

/**
 * A 402 for these terms (X2, X3, X5): one JSON text, as body and, base64 of its UTF-8, in `PAYMENT-REQUIRED`; never to
 * be stored. The bytes are made once per terms object and error, so callers keep their terms while they hold.
 */
export function buildChallenge(terms: PaymentTerms, error: ChallengeError): Challenge {
  let byError = cache.get(terms)
  if (byError === undefined) {
    byError = new Map()
    cache.set(terms, byError)
  }
  const cached = byError.get(error)
  if (cached !== undefined) return cached
  const body = inAscii(
    JSON.stringify({
      x402Version: 2,
      error,
      resource: terms.resource,
      accepts: terms.requirements.map(toOffer),
      ...(terms.discovery === undefined ? {} : { extensions: { bazaar: terms.discovery } }),
    }),
  )
  const challenge: Challenge = {
    body,
    headers: {
      'PAYMENT-REQUIRED': Buffer.from(body, 'utf8').toString('base64'),
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
    },
  }
  if (byError.size < CACHED_ERRORS_MAX) byError.set(error, challenge)
  return challenge
}

/**
 * The same JSON with escapes for whatever is beyond ASCII, such as the ₮ of USD₮0. Node sends head and body in one piece
 * then, without encoding each answer anew, and a client that mistakes base64 for Latin-1 reads it right as well.
 */
function inAscii(json: string): string {
  return json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function toOffer(requirement: PaymentRequirement): object {
  return { ...requirement, price: { asset: requirement.asset, amount: requirement.amount } }
}

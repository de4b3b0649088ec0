import { PAYMENT_IDENTIFIER, PAYMENT_IDENTIFIER_OFFER } from '../extensions/payment-identifier.ts'
import type { PaidResource, PaymentRequirement } from '../payment.ts'
import { OFFER_RECEIPT, type SignedStatement } from '../receipts/signed-statement.ts'
import type { ResourceDiscovery } from './resource-discovery.ts'

/** Why a 402 was answered: the `error` in its body. A scheme's refusal reasons pass through unchanged. */
export type ChallengeError =
  | 'payment_required'
  | 'payment_header_too_large'
  | 'payment_header_undecodable'
  | 'payment_headers_conflict'
  | 'payment_version_unsupported'
  | 'payment_requirements_mismatch'
  | 'payment_resource_mismatch'
  | 'payment_already_used'
  | 'payment_identifier_invalid'
  | (string & {})

/** A 402, ready to send: the same JSON in the body and, base64, in `PAYMENT-REQUIRED`. */
export type Challenge = {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** This is on sale now. */
export type PaymentTerms = {
  readonly requirements: readonly PaymentRequirement[]
  readonly resource: PaidResource
  /** How to make the call and what it answers, for agents and catalogues. */
  readonly discovery?: ResourceDiscovery | undefined
  /** Facts of the seller's own to know before paying, sent beside `error`. Official clients leave them alone. */
  readonly beside?: Readonly<Record<string, unknown>> | undefined
  /** Clients may name their requests (`payment-identifier`). Only for jobs that keep their answers. */
  readonly takesIdentifier?: true | undefined
}

/**
 * In base64, 2,800 bytes: with 700 for everything else, a `PAYMENT-RESPONSE` of a refusal included, the head of a 402 stays
 * under the 3,500 of S10. Where a long BASE_URL or name makes it longer, first the signed offers are left out, then the
 * catalogue's extension: a buyer can do without either, and `omitted` names what was left out.
 */
const CHALLENGE_BYTES_MAX = 2_100

const isTooLong = ({ body }: Challenge): boolean => body.length > CHALLENGE_BYTES_MAX

/** Errors cached per terms: more than our own codes, and a bound on a facilitator's reasons. */
const CACHED_ERRORS_MAX = 64

type Rendered = {
  readonly offers: readonly SignedStatement[] | undefined
  readonly byError: Map<ChallengeError, Challenge>
}

const cache = new WeakMap<PaymentTerms, Rendered>()

/**
 * A 402 for these terms (X3), with the signed offers if there are any. Its bytes are built once per terms object, offers
 * and error, so reuse a terms object while it is valid.
 */
export function buildChallenge(
  terms: PaymentTerms,
  error: ChallengeError,
  offers?: readonly SignedStatement[],
): Challenge {
  let rendered = cache.get(terms)
  if (rendered === undefined || rendered.offers !== offers) {
    rendered = { offers, byError: new Map() }
    cache.set(terms, rendered)
  }
  const { byError } = rendered
  const cached = byError.get(error)
  if (cached !== undefined) return cached
  const { beside, requirements, resource } = terms
  const accepts = requirements.map((requirement) => {
    const { amount, asset } = requirement
    return { ...requirement, price: { asset, amount } }
  })
  const whole = listExtensions(terms, offers)
  const encode = (extensions: Extensions): Challenge => {
    const left = Object.keys(whole ?? {}).filter((name) => extensions?.[name] === undefined)
    const omitted = left.length > 0 ? left : undefined
    return encodeChallenge({
      x402Version: 2,
      error,
      ...beside,
      omitted,
      resource,
      accepts,
      extensions,
    })
  }
  let challenge = encode(whole)
  if (isTooLong(challenge)) challenge = encode(listExtensions(terms, undefined))
  if (isTooLong(challenge))
    challenge = encode(listExtensions({ ...terms, discovery: undefined }, undefined))
  if (byError.size < CACHED_ERRORS_MAX) byError.set(error, challenge)
  return challenge
}

type Extensions = Readonly<Record<string, object>> | undefined

/** Official clients echo all of this in a header (X15): only the catalogue's extension carries a schema. */
function listExtensions(
  { discovery, takesIdentifier }: PaymentTerms,
  offers: readonly SignedStatement[] | undefined,
): Extensions {
  const extensions = {
    ...(discovery && { bazaar: discovery }),
    ...(takesIdentifier && { [PAYMENT_IDENTIFIER]: PAYMENT_IDENTIFIER_OFFER }),
    ...(offers && { [OFFER_RECEIPT]: { info: { offers } } }),
  }
  return Object.keys(extensions).length === 0 ? undefined : extensions
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

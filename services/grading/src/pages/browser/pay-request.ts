/**
 * One paid call. It is sent unpaid first, so that malformed input costs nothing; then it is signed once, on the terms
 * that the page showed the reader. A signed payment that got no answer is sent again unchanged, and never replaced by a
 * second one.
 */
import { type Issue, post } from './page-api.ts'
import { type Authorization, chainIdOf, type Domain, type Payer } from './transfer.ts'

/** What the page announced; base units. */
type Terms = { readonly network: string; readonly asset: string; readonly amount: string }

/** One entry of `accepts`. */
type Offer = Terms & {
  readonly scheme: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Readonly<Record<string, unknown>>
}

/** The body of a 402. */
type Challenge = {
  readonly x402Version: number
  readonly error: string
  readonly resource: unknown
  readonly accepts: readonly Offer[]
}

type Refused =
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] }
  | { readonly kind: 'refused'; readonly error: string }
  | { readonly kind: 'failed'; readonly status: number; readonly error: string }

export type PaidOutcome =
  | Refused
  | { readonly kind: 'answer'; readonly answer: unknown; readonly transaction: string | undefined }
  | { readonly kind: 'other_terms' }
  | { readonly kind: 'not_signed'; readonly error: unknown }
  | { readonly kind: 'unanswered'; readonly again: () => Promise<PaidOutcome> }

export type Step = 'asking' | 'signing' | 'settling' | 'waiting'

type Call = { readonly path: string; readonly body: unknown }
type PaidCall = Call & {
  readonly payer: Payer
  readonly terms: Terms
  readonly onStep: (step: Step) => void
  readonly pause: (seconds: number) => Promise<void>
}

/** How often a payment in progress is sent again before the reader is asked to repeat it. */
const ATTEMPTS_MAX = 6
/** The page's longest wait between two of them, whatever the service says. */
const PAUSE_SECONDS_MAX = 10

/**
 * The offer that the page announced: same network and token, no higher price. Undefined if a challenge has none, so that
 * nobody signs away more than they were shown.
 */
export function announcedOffer({ accepts }: Challenge, terms: Terms): Offer | undefined {
  return accepts.find(
    (offer) =>
      offer.scheme === 'exact' &&
      offer.network === terms.network &&
      offer.asset.toLowerCase() === terms.asset.toLowerCase() &&
      /^[1-9]\d{0,77}$/.test(offer.amount) &&
      BigInt(offer.amount) <= BigInt(terms.amount) &&
      /^0x[0-9a-fA-F]{40}$/.test(offer.payTo) &&
      typeof offer.extra['name'] === 'string' &&
      typeof offer.extra['version'] === 'string',
  )
}

/** What is signed for an offer. */
export function transferFor(
  offer: Offer,
  by: { readonly from: string; readonly nowSeconds: number; readonly nonce: string },
): { readonly domain: Domain; readonly message: Authorization } {
  const chainId = chainIdOf(offer.network)
  if (chainId === undefined) throw new RangeError(`${offer.network} is not an EVM network`)
  return {
    domain: {
      name: String(offer.extra['name']),
      version: String(offer.extra['version']),
      chainId,
      verifyingContract: offer.asset,
    },
    message: {
      from: by.from,
      to: offer.payTo,
      value: offer.amount,
      validAfter: '0',
      validBefore: String(Math.floor(by.nowSeconds) + Math.floor(offer.maxTimeoutSeconds)),
      nonce: by.nonce,
    },
  }
}

/** The payment header of a signed transfer: base64 of UTF-8. */
export function paymentHeader(
  { resource }: Challenge,
  accepted: Offer,
  payload: { readonly authorization: Authorization; readonly signature: string },
): string {
  const text = JSON.stringify({ x402Version: 2, resource, accepted, payload })
  return btoa(
    Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''),
  )
}

/** A settlement header's content; undefined if there is none. */
export function readSettlement(
  header: string | null,
): { readonly success: boolean; readonly transaction?: string } | undefined {
  if (header === null) return undefined
  const bytes = Uint8Array.from(atob(header), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

async function failure(answer: Response): Promise<Refused> {
  const body = await answer.json().catch(() => ({}))
  const error = String(body?.error ?? 'no_answer')
  if (answer.status === 400 && Array.isArray(body.issues))
    return { kind: 'invalid', issues: body.issues }
  if (answer.status === 402) return { kind: 'refused', error }
  return { kind: 'failed', status: answer.status, error }
}

/**
 * Sends the request without paying: returns the challenge, or what is wrong. It also reads the service's clock, because a
 * payment is valid for only minutes and a reader's clock may be off by more.
 */
async function ask({ path, body }: Call) {
  const answer = await post(path, body).catch(() => undefined)
  if (answer === undefined) return { kind: 'failed', status: 0, error: 'no_answer' } as const
  if (answer.status !== 402) return failure(answer)
  const nowMs = Date.parse(answer.headers.get('date') ?? '') || Date.now()
  const challenge: Challenge = await answer.json()
  return { kind: 'challenge', challenge, nowSeconds: nowMs / 1_000 } as const
}

async function send(
  call: PaidCall,
  headers: Readonly<Record<string, string>>,
): Promise<PaidOutcome> {
  const { body, onStep, path, pause } = call
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    onStep(attempt === 1 ? 'settling' : 'waiting')
    const answer = await post(path, body, headers).catch(() => undefined)
    if (answer?.status === 200) {
      const transaction = readSettlement(answer.headers.get('payment-response'))?.transaction
      return { kind: 'answer', answer: await answer.json(), transaction }
    }
    // No answer, or one that does not mention the payment: only these leave open whether money moved.
    if (answer !== undefined && answer.status < 500) return failure(answer)
    const seconds = Number(answer?.headers.get('retry-after') ?? 2)
    if (attempt < ATTEMPTS_MAX) await pause(Math.min(PAUSE_SECONDS_MAX, Math.max(1, seconds)))
  }
  return { kind: 'unanswered', again: () => send(call, headers) }
}

const newNonce = (): string =>
  `0x${Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('')}`

export async function payRequest(call: PaidCall): Promise<PaidOutcome> {
  const { onStep, payer, terms } = call
  onStep('asking')
  const asked = await ask(call)
  if (asked.kind !== 'challenge') return asked
  const { challenge, nowSeconds } = asked
  const offer = announcedOffer(challenge, terms)
  if (offer === undefined) return { kind: 'other_terms' }
  onStep('signing')
  const nonce = newNonce()
  const { domain, message } = transferFor(offer, { from: payer.address, nowSeconds, nonce })
  let signature: string
  try {
    signature = await payer.sign(domain, message)
  } catch (error) {
    return { kind: 'not_signed', error }
  }
  const header = paymentHeader(challenge, offer, { authorization: message, signature })
  // Every payment draws a new nonce, so the nonce identifies it.
  return send(call, { 'payment-signature': header, 'idempotency-key': nonce })
}

/** Checks whether the request is well formed, for a reader who cannot pay. */
export async function checkRequest(
  call: Call,
): Promise<Refused | { readonly kind: 'well_formed' }> {
  const asked = await ask(call)
  return asked.kind === 'challenge' ? { kind: 'well_formed' } : asked
}

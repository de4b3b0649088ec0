/**
 * One paid call. It is sent unpaid first, so that malformed input costs nothing; then it is signed once, on the terms
 * that the page showed the reader. A signed payment that got no answer is sent again unchanged, and never replaced by a
 * second one.
 */
import type { EvmSigner } from '@tallystick/x402/evm'
import { ExactEvmClient } from '@tallystick/x402/evm-client'
import { type Issue, post } from './page-api.ts'

/** What the page announced; base units. */
type Terms = { readonly network: string; readonly asset: string; readonly amount: string }

/** One entry of `accepts`. */
type Offer = Parameters<ExactEvmClient['createPaymentPayload']>[1]

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
  readonly payer: EvmSigner
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

/** A payment header: base64 of UTF-8. */
function paymentHeader(payment: object): string {
  const bytes = new TextEncoder().encode(JSON.stringify(payment))
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
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
  return { kind: 'challenge', challenge, nowMs } as const
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

export async function payRequest(call: PaidCall): Promise<PaidOutcome> {
  const { onStep, payer, terms } = call
  onStep('asking')
  const unpaid = await ask(call)
  if (unpaid.kind !== 'challenge') return unpaid
  const { challenge, nowMs } = unpaid
  const accepted = announcedOffer(challenge, terms)
  if (accepted === undefined) return { kind: 'other_terms' }
  onStep('signing')
  const client = new ExactEvmClient({ signer: payer, clock: { unixMs: () => nowMs } })
  const signed = await client
    .createPaymentPayload(2, accepted)
    .catch((error: unknown) => ({ kind: 'not_signed', error }) as const)
  if ('kind' in signed) return signed
  const { payload, x402Version } = signed
  const header = paymentHeader({ x402Version, resource: challenge.resource, accepted, payload })
  // Every payment draws a new nonce, so the nonce identifies it.
  const { nonce } = payload.authorization
  return send(call, { 'payment-signature': header, 'idempotency-key': nonce })
}

/** Checks whether the request is well formed, for a reader who cannot pay. */
export async function checkRequest(
  call: Call,
): Promise<Refused | { readonly kind: 'well_formed' }> {
  const unpaid = await ask(call)
  return unpaid.kind === 'challenge' ? { kind: 'well_formed' } : unpaid
}

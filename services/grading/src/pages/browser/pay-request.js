/**
 * One paid call: asked unpaid first, so that what is malformed costs nothing; then signed once. A signed payment that got
 * no answer is sent again as it is, and never replaced by a second one.
 */
import { announcedOffer, paymentHeader, readSettlement, transferFor } from './challenge.js'
import { hexOfBytes } from './hex.js'
import { post } from './page-api.js'

/** @typedef {import('./challenge.js').Challenge} Challenge */
/** @typedef {import('./challenge.js').Terms} Terms */
/** @typedef {import('./development-key.js').Payer} Payer */
/** @typedef {{ field: string, expected: string }} Issue */
/**
 * @typedef {{ kind: 'answer', answer: unknown, transaction: string | undefined }
 *   | { kind: 'invalid', issues: Issue[] }
 *   | { kind: 'other_terms' }
 *   | { kind: 'refused', error: string }
 *   | { kind: 'not_signed', error: unknown }
 *   | { kind: 'failed', status: number, error: string }
 *   | { kind: 'unanswered', again: () => Promise<PaidOutcome> }} PaidOutcome
 */
/** @typedef {'asking' | 'signing' | 'settling' | 'waiting'} Step */
/**
 * @typedef {object} PaidCall
 * @property {string} path
 * @property {unknown} body
 * @property {Payer} payer
 * @property {Terms} terms
 * @property {(step: Step) => void} onStep
 * @property {(seconds: number) => Promise<void>} pause
 */

/** How often a payment that is being completed is asked after before the reader is asked to. */
const ATTEMPTS_MAX = 6
/** Longest that the page waits between two of them, whatever the service says. */
const PAUSE_SECONDS_MAX = 10

/** @param {Response} answer */
async function failure(answer) {
  const body = await answer.json().catch(() => ({}))
  const error = String(body?.error ?? 'no_answer')
  if (answer.status === 400 && Array.isArray(body.issues))
    return /** @type {const} */ ({ kind: 'invalid', issues: body.issues })
  if (answer.status === 402) return /** @type {const} */ ({ kind: 'refused', error })
  return /** @type {const} */ ({ kind: 'failed', status: answer.status, error })
}

/**
 * Asks without paying: the challenge, or what is wrong. The service's own clock is read along, since a payment is valid for
 * minutes only and a reader's clock may be off by more.
 *
 * @param {Pick<PaidCall, 'path' | 'body'>} call
 */
async function ask({ path, body }) {
  const answer = await post(path, body).catch(() => undefined)
  if (answer === undefined)
    return /** @type {const} */ ({ kind: 'failed', status: 0, error: 'no_answer' })
  if (answer.status !== 402) return failure(answer)
  const nowMs = Date.parse(answer.headers.get('date') ?? '') || Date.now()
  /** @type {Challenge} */
  const challenge = await answer.json()
  return /** @type {const} */ ({ kind: 'challenge', challenge, nowSeconds: nowMs / 1_000 })
}

/**
 * @param {PaidCall} call
 * @param {Record<string, string>} headers
 * @returns {Promise<PaidOutcome>}
 */
async function send(call, headers) {
  const { body, onStep, path, pause } = call
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    onStep(attempt === 1 ? 'settling' : 'waiting')
    const answer = await post(path, body, headers).catch(() => undefined)
    if (answer?.status === 200) {
      const transaction = readSettlement(answer.headers.get('payment-response'))?.transaction
      return { kind: 'answer', answer: await answer.json(), transaction }
    }
    // No answer, or one that says nothing of the payment: only these leave it open whether money moved.
    if (answer !== undefined && answer.status < 500) return failure(answer)
    const seconds = Number(answer?.headers.get('retry-after') ?? 2)
    if (attempt < ATTEMPTS_MAX) await pause(Math.min(PAUSE_SECONDS_MAX, Math.max(1, seconds)))
  }
  return { kind: 'unanswered', again: () => send(call, headers) }
}

/**
 * @param {PaidCall} call
 * @returns {Promise<PaidOutcome>}
 */
export async function payRequest(call) {
  const { onStep, payer, terms } = call
  onStep('asking')
  const asked = await ask(call)
  if (asked.kind !== 'challenge') return asked
  const { challenge, nowSeconds } = asked
  const offer = announcedOffer(challenge, terms)
  if (offer === undefined) return { kind: 'other_terms' }
  onStep('signing')
  const nonce = hexOfBytes(crypto.getRandomValues(new Uint8Array(32)))
  const { domain, message } = transferFor(offer, { from: payer.address, nowSeconds, nonce })
  /** @type {string} */
  let signature
  try {
    signature = await payer.sign(domain, message)
  } catch (error) {
    return { kind: 'not_signed', error }
  }
  const header = paymentHeader({ challenge, offer, authorization: message, signature })
  // The nonce is drawn anew for every payment, so that it names this one.
  return send(call, { 'payment-signature': header, 'idempotency-key': nonce })
}

/**
 * Asks without paying, for a reader who cannot pay: whether the request is well formed.
 *
 * @param {Pick<PaidCall, 'path' | 'body'>} call
 */
export async function checkRequest(call) {
  const asked = await ask(call)
  return asked.kind === 'challenge' ? /** @type {const} */ ({ kind: 'well_formed' }) : asked
}

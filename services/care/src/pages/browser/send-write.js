import { serviceName } from './page-element.js'

/**
 * @typedef {object} Accepted
 * @property {string} uri
 * @property {number} version
 * @property {string} versionHash
 * @property {string} writtenAt
 * @property {number} subscribers
 * @property {boolean} notified
 */
/**
 * @typedef {{ kind: 'accepted', accepted: Accepted }
 *   | { kind: 'refused' }
 *   | { kind: 'conflict' }
 *   | { kind: 'failed', what: string }
 *   | { kind: 'no-answer' }} WriteOutcome
 */

/** A stored write takes milliseconds; after this long the connection is given up, and the same write may be sent again. */
const ANSWER_LIMIT_MS = 15_000

/**
 * Sends a signed write. Sent again unchanged inside its five minutes it gets the first answer and adds no version (C14),
 * so that `no-answer` and `failed` may always be repeated.
 *
 * @param {import('./sign-write.js').SignedWrite} signed
 * @returns {Promise<WriteOutcome>}
 */
export async function sendWrite({ body, timestamp, signature }) {
  const headers = {
    'content-type': 'application/json',
    [`x-${serviceName()}-timestamp`]: timestamp,
    [`x-${serviceName()}-signature`]: signature,
  }
  try {
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
    const answer = await fetch('/write', { method: 'POST', headers, body, signal })
    if (answer.ok) return { kind: 'accepted', accepted: await answer.json() }
    if (answer.status === 401) return { kind: 'refused' }
    if (answer.status === 409) return { kind: 'conflict' }
    const { error = '' } = await answer.json().catch(() => ({}))
    return { kind: 'failed', what: `${answer.status} ${error}`.trim() }
  } catch {
    return { kind: 'no-answer' }
  }
}

/**
 * How far this computer's clock is ahead of the service's, in seconds (negative: behind), read from the `Date` of an
 * answer; undefined where the service does not answer. Exact to about a second.
 *
 * @param {() => number} nowMs
 */
export async function clockAheadSeconds(nowMs) {
  try {
    const answer = await fetch('/health', { cache: 'no-store' })
    const serverMs = Date.parse(answer.headers.get('date') ?? '')
    return Number.isNaN(serverMs) ? undefined : Math.round((nowMs() - serverMs) / 1000)
  } catch {
    return undefined
  }
}

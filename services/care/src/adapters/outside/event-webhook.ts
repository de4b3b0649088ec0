// Sends events and challenges to receivers, signed by Standard Webhooks: HMAC-SHA256 over id, timestamp and the exact bytes of
// the body. Connections go only to checked addresses, redirects are not followed, and no answer of an endpoint enters an
// error (C22).
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, type PostAnswer, postChecked, type ResolveName } from '@tallystick/service-kit'
import type {
  ChallengeOutcome,
  DeliveryOutcome,
  EventFailure,
  EventReceiver,
  RevisionEvent,
} from '../../domain/event-subscription.ts'
import type { EventProfile } from '../../wire/events.ts'

/** For name, connection and answer. */
const DELIVERY_TIMEOUT_MS = 10_000
/** A challenge's answer repeats some 50 characters. */
const ANSWER_BYTES_MAX = 4_096
const CHALLENGE_BYTES = 32
const GONE = 410
const TOO_LARGE = 413

type Addressed = { readonly id: string; readonly receiver: EventReceiver }

/** `v1,<base64>` for each secret that holds at a time, separated by spaces. */
function signPayload(signed: string, { secrets }: EventReceiver, nowMs: number): string {
  return secrets
    .filter(({ untilMs }) => untilMs === undefined || untilMs > nowMs)
    .map(({ secret }) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    })
    .join(' ')
}

function describeFailure(answer: PostAnswer): EventFailure {
  if (answer.kind === 'answered')
    return answer.status < 400 ? 'http_3xx' : answer.status < 500 ? 'http_4xx' : 'http_5xx'
  const { reason } = answer
  // Does not reveal whether a name resolves into a private network.
  return reason === 'timeout' || reason === 'tls_error' ? reason : 'connection_refused'
}

const isTaken = (answer: PostAnswer): boolean =>
  answer.kind === 'answered' && answer.status >= 200 && answer.status < 300

const random = (prefix: string): string =>
  `${prefix}${randomBytes(CHALLENGE_BYTES).toString('base64url')}`

export function createEventWebhook({
  clock,
  mayBePrivate,
  profile,
  resolve,
}: {
  readonly clock: Clock
  readonly profile: EventProfile
  readonly mayBePrivate: boolean
  readonly resolve?: ResolveName | undefined
}) {
  const post = (
    { id, receiver }: Addressed,
    sent: { readonly body: string; readonly messageId: string; readonly bytesMax: number },
    signal?: AbortSignal,
  ): Promise<PostAnswer> => {
    const { body, bytesMax, messageId } = sent
    const nowMs = clock.unixMs()
    const timestamp = `${Math.floor(nowMs / 1_000)}`
    return postChecked({
      url: new URL(receiver.url),
      body,
      headers: {
        'content-type': 'application/json',
        'webhook-id': messageId,
        'webhook-timestamp': timestamp,
        'webhook-signature': signPayload(`${messageId}.${timestamp}.${body}`, receiver, nowMs),
        'x-mcp-subscription-id': id,
      },
      clock,
      timeoutMs: DELIVERY_TIMEOUT_MS,
      answerBytesMax: bytesMax,
      mayBePrivate,
      signal,
      resolve,
    })
  }
  return {
    /** Delivers an event once. Never rejects. */
    deliver: async (
      to: Addressed,
      event: RevisionEvent,
      signal: AbortSignal,
    ): Promise<DeliveryOutcome> => {
      const messageId = profile.isIdOfMessage ? random('msg_') : event.eventId
      const body = JSON.stringify(event)
      const answer = await post(to, { body, messageId, bytesMax: 0 }, signal)
      if (isTaken(answer)) return { kind: 'taken' }
      if (answer.kind === 'answered' && (answer.status === GONE || answer.status === TOO_LARGE))
        return { kind: 'refused' }
      return { kind: 'failed', reason: describeFailure(answer) }
    },
    /** Asks a receiver whether it wants events. Never rejects. */
    challenge: async (to: Addressed): Promise<ChallengeOutcome> => {
      const challenge = random('')
      const body = JSON.stringify({ type: 'verification', challenge })
      const sent = { body, messageId: random('msg_verification_'), bytesMax: ANSWER_BYTES_MAX }
      const answer = await post(to, sent)
      if (answer.kind === 'failed' || !isTaken(answer))
        return { kind: 'failed', reason: describeFailure(answer) }
      return isSame(challengeIn(answer.text), challenge)
        ? { kind: 'answered' }
        : { kind: 'failed', reason: 'challenge_failed' }
    },
  }
}

function challengeIn(text: string): string {
  try {
    const answer: unknown = JSON.parse(text)
    return typeof answer === 'object' && answer !== null && 'challenge' in answer
      ? String(answer.challenge)
      : ''
  } catch {
    return ''
  }
}

/** Compares in constant time. */
function isSame(left: string, right: string): boolean {
  const [leftBytes, rightBytes] = [Buffer.from(left), Buffer.from(right)]
  return leftBytes.length === rightBytes.length && timingSafeEqual(leftBytes, rightBytes)
}

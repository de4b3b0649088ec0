// Tells an operator's webhook of an alert (C29). Connections go only to addresses that were checked: a name that resolves to a
// private one is refused, unless the operator says that the webhook is in their own network.
import { type BinaryLike, createHmac } from 'node:crypto'
import {
  type Clock,
  createRetryingDelivery,
  type PostAnswer,
  postChecked,
  type ResolveName,
  type Secret,
} from '@tallystick/service-kit'

/** Only the status of an answer matters; a webhook that takes longer counts as unavailable. */
const TIMEOUT_MS = 5_000
/** Between attempts: over five minutes in all, enough for the system behind a webhook to restart. */
const RETRY_AFTER_MS = [1_000, 5_000, 30_000, 300_000] as const
/** Alerts that may wait while the webhook does not answer; a clinic has fewer corrections in a day. */
const WAITING_MAX = 1_000
/** How long shutdown waits; a correction still unheard is an alert again at the next start. */
const CLOSE_MS = 5_000

/** The webhook did not take an alert. */
export class AlertWebhookUnavailable extends Error {
  override readonly name = 'AlertWebhookUnavailable'
}

type WebhookOptions = {
  readonly url: string
  /** Signs the body like a write. */
  readonly secret?: Secret | undefined
  readonly serviceName: string
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean
  readonly clock: Clock
  /** An alert was given up. */
  readonly onProblem: (error: AlertWebhookUnavailable) => void
  readonly resolve?: ResolveName
}

const SAID: Readonly<Record<Extract<PostAnswer, { kind: 'failed' }>['reason'], string>> = {
  not_public: 'its name leads to an address that is not public',
  timeout: 'it did not answer in time',
  tls_error: 'its certificate does not hold',
  connection_refused: 'it cannot be reached',
  aborted: 'the service ended',
}

/** Delivers alerts in the background, in order. Once closing, it accepts none, and tries each waiting alert once more. */
export function createAlertWebhook(options: WebhookOptions) {
  const { clock, isPrivate, onProblem, resolve, secret, serviceName } = options
  const url = new URL(options.url)
  return createRetryingDelivery<object>({
    clock,
    retryAfterMs: RETRY_AFTER_MS,
    waitingMax: WAITING_MAX,
    closeMs: CLOSE_MS,
    attempt: async (alert, signal) => {
      const body = JSON.stringify(alert)
      const signed =
        secret && signedHeaders(secret.bytes(), { serviceName, body, unixMs: clock.unixMs() })
      const headers = { 'content-type': 'application/json', ...signed }
      const to = { url, timeoutMs: TIMEOUT_MS, mayBePrivate: isPrivate, resolve, signal, clock }
      const answer = await postChecked({ ...to, body, headers })
      if (answer.kind === 'failed') return SAID[answer.reason]
      const isTaken = answer.status >= 200 && answer.status < 300
      return isTaken ? undefined : `it answered ${answer.status}`
    },
    onLost: (_, reason) => onProblem(new AlertWebhookUnavailable(`not delivered: ${reason}`)),
  })
}

/** The headers that sign a body like a write. */
export function signedHeaders(
  secret: BinaryLike,
  {
    body,
    serviceName,
    unixMs,
  }: { readonly serviceName: string; readonly body: string; readonly unixMs: number },
): Readonly<Record<string, string>> {
  const timestamp = new Date(unixMs).toISOString()
  const mac = createHmac('sha256', secret).update(`${timestamp}.${body}`)
  return {
    [`x-${serviceName}-timestamp`]: timestamp,
    [`x-${serviceName}-signature`]: mac.digest('hex'),
  }
}

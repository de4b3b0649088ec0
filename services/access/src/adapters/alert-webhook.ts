/** Sends the seller's alerts to a webhook, one after the other. No caller waits for it. */
import { type Clock, createRetryingDelivery, isoNow } from '@tallystick/service-kit'
import { fetchJson } from '@tallystick/x402'
import type { AlertNotice } from '../domain/access-events.ts'

/** Limit for an endpoint that hangs, milliseconds: a chat or pager answers within a second. */
const TIMEOUT_MS = 5_000

/** Waits before the second and later tries, milliseconds: they outlast a restart and a short outage. After the last, only
 * the next notice or reminder informs the seller. */
const RETRY_MS = [1_000, 15_000, 60_000]

/** Most of an endpoint's answer that is read, bytes. Nobody uses it. */
const ANSWER_BYTES_MAX = 65_536

type AlertWebhookOptions = {
  readonly url: string
  readonly clock: Clock
  /** Sent with each notice, so that the receiver can tell sellers apart, and whose recorder runs out of money. */
  readonly service: {
    readonly network: string
    readonly contract: string | undefined
    readonly payTo: string
    readonly recorder: string
  }
  /** A notice that no try delivered. The reason never contains the URL, which may be a secret. */
  readonly onLost: (notice: AlertNotice, reason: string) => void
}

export function createAlertWebhook(options: AlertWebhookOptions) {
  const { clock, onLost, service, url } = options
  const delivery = createRetryingDelivery<AlertNotice & { readonly at: string }>({
    clock,
    retryAfterMs: RETRY_MS,
    // Only the newest of each alert waits.
    waitingMax: Number.POSITIVE_INFINITY,
    nameItem: ({ alert }) => alert,
    closeMs: 0,
    attempt: async (notice) => {
      const answer = await fetchJson({
        url,
        clock,
        timeoutMs: TIMEOUT_MS,
        bytesMax: ANSWER_BYTES_MAX,
        // `text` is the field that chats show.
        body: JSON.stringify({ ...notice, ...service }),
      })
      if (answer.kind === 'unreachable') return 'no answer'
      const isTaken = answer.status >= 200 && answer.status < 300
      return isTaken ? undefined : `status ${answer.status}`
    },
    onLost,
  })
  return {
    /** Queues a notice. It replaces an undelivered one of the same alert. */
    send: (notice: AlertNotice) => delivery.send({ ...notice, at: isoNow(clock) }),
    /** Gives up undelivered notices. */
    close: () => void delivery.close(),
  }
}

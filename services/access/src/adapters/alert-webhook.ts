/** Sends the seller's alerts to a webhook, one after the other, without ever making anybody wait. */
import type { Clock } from '@tallystick/service-kit'
import { fetchJson } from '@tallystick/x402'
import type { AlertNotice, SellerAlert } from '../domain/seller-alerts.ts'

/** A chat's or pager's endpoint answers within a second; this is one that hangs, milliseconds. */
const TIMEOUT_MS = 5_000

/** Waits before the second and later tries, milliseconds: past a restart and past a short outage. After the last, the next notice or reminder tells. */
const RETRY_MS = [1_000, 15_000, 60_000]

/** What an endpoint says is of no use; this much of it is read, bytes. */
const ANSWER_BYTES_MAX = 65_536

export type AlertWebhook = {
  /** Queues a notice. A newer one of the same alert takes the place of one not delivered yet. */
  send(notice: AlertNotice): void
  /** Gives up what is not delivered. */
  close(): void
}

type AlertWebhookOptions = {
  readonly url: string
  readonly clock: Clock
  /** Sent with each notice, so that the receiver can tell sellers apart. */
  readonly service: {
    readonly network: string
    readonly contract: string | undefined
    readonly payTo: string
  }
  /** A notice that no try delivered. The reason never has the URL, which may be a secret. */
  readonly onLost: (notice: AlertNotice, reason: string) => void
}

export function createAlertWebhook(options: AlertWebhookOptions): AlertWebhook {
  const { clock, onLost, service, url } = options
  /** At most one of each alert, the newest. */
  const waiting = new Map<SellerAlert, AlertNotice & { readonly at: string }>()
  let isClosed = false
  let isSending = false
  let endWait: (() => void) | undefined

  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = clock.after(ms, resolve)
      endWait = () => {
        cancel()
        resolve()
      }
    })

  /** Why it was not taken; none where it was. */
  const post = async (notice: AlertNotice): Promise<string | undefined> => {
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
  }

  const deliver = async (alert: SellerAlert, notice: AlertNotice): Promise<void> => {
    let reason = await post(notice)
    for (const waitMs of RETRY_MS) {
      if (reason === undefined) return
      await wait(waitMs)
      if (isClosed || waiting.has(alert)) return
      reason = await post(notice)
    }
    if (reason !== undefined) onLost(notice, reason)
  }

  const drain = async (): Promise<void> => {
    if (isSending) return
    isSending = true
    for (const [alert, notice] of waiting) {
      waiting.delete(alert)
      if (!isClosed) await deliver(alert, notice)
    }
    isSending = false
  }

  return {
    send(notice) {
      waiting.set(notice.alert, { ...notice, at: new Date(clock.unixMs()).toISOString() })
      void drain()
    },
    close() {
      isClosed = true
      endWait?.()
    },
  }
}

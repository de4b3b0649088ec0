// Tells a webhook that an agent's paid time ends soon, and that it has ended: for `watch` with `warnSeconds`.
import { type Clock, fetchJson, pause } from '@tallystick/x402'
import { toWire } from './access-answers.ts'
import type { WindowChange } from './window-watch.ts'

/** Limit for an endpoint that hangs, milliseconds: a chat or pager answers within a second. */
const TIMEOUT_MS = 5_000

/** Waits before the second and later tries, milliseconds: they outlast a restart and a short outage. */
const RETRY_MS = [1_000, 15_000, 60_000]

/** Most of an endpoint's answer that is read, bytes. Nobody uses it. */
const ANSWER_BYTES_MAX = 65_536

/** An end has two posts; more than this at once, and the service makes ends up. */
const UNDER_WAY_MAX = 10

type EndChange = Extract<WindowChange, { kind: 'ends-soon' | 'closed' }>

/**
 * Returns what to give to `watch`: it posts `{text, kind, status, …}` for each `ends-soon` and `closed`, amounts in tinybar and
 * times in Unix seconds, tries four times, and leaves other changes alone. It never throws.
 *
 * @param onLost a change that no try delivered; the reason never contains the URL, which may be a secret
 * @example agent.watch(endWebhook({ url, clock: systemClock, onLost }), { warnSeconds: 3_600 })
 */
export function endWebhook(options: {
  readonly url: string
  readonly clock: Clock
  readonly onLost: (change: EndChange, reason: string) => void
}): (change: WindowChange) => void {
  const { clock, onLost } = options
  const underWay = new Set<Promise<void>>()

  async function deliver(change: EndChange): Promise<void> {
    const body = JSON.stringify({ text: endText(change), ...wire(change) })
    for (const afterMs of [...RETRY_MS, undefined]) {
      const reason = await post({ ...options, body })
      if (reason === undefined) return
      if (afterMs === undefined) return onLost(change, reason)
      await pause(clock, afterMs)
    }
  }

  return (change) => {
    if (change.kind !== 'ends-soon' && change.kind !== 'closed') return
    if (underWay.size >= UNDER_WAY_MAX) return onLost(change, 'too many are under way')
    const posting = deliver(change).finally(() => underWay.delete(posting))
    underWay.add(posting)
  }
}

const wire = (change: EndChange) => toWire(change) as Readonly<Record<string, unknown>>

/** For chats, which show this field. */
function endText(change: EndChange): string {
  const { agent, ended } = change.status
  if (change.kind === 'closed')
    return `Access of ${agent} has ended. ${ended?.sentence ?? ''}`.trim()
  // Unlike ISO's form this one throws for no second that a service may make up.
  const endsAt = new Date(change.endsAtSeconds * 1_000).toUTCString()
  return `Access of ${agent} ends at ${endsAt} unless it is topped up.`
}

/** Tries once; returns why it was not taken. */
async function post(call: {
  readonly url: string
  readonly clock: Clock
  readonly body: string
}): Promise<string | undefined> {
  const { body, clock, url } = call
  const limits = { timeoutMs: TIMEOUT_MS, bytesMax: ANSWER_BYTES_MAX }
  const answer = await fetchJson({ url, clock, body, ...limits })
  if (answer.kind === 'unreachable') return 'no answer'
  const isTaken = answer.status >= 200 && answer.status < 300
  return isTaken ? undefined : `status ${answer.status}`
}

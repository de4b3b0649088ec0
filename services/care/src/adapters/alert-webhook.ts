// Tells an operator's webhook of an alert (C29). Connections go only to addresses that were checked: a name that resolves to a
// private one is refused, unless the operator says that the webhook stands in his own network. Redirects are not followed.
import { createHmac } from 'node:crypto'
import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIPv6 } from 'node:net'
import type { Clock, Secret } from '@tallystick/service-kit'

/** An answer says nothing but its status; a webhook that takes longer is taken for gone. */
const TIMEOUT_MS = 5_000
/** Between attempts: over five minutes in all, as long as a restart of what stands behind a webhook may take. */
const RETRY_AFTER_MS = [1_000, 5_000, 30_000, 300_000] as const
/** Alerts that wait while the webhook does not answer; a clinic has fewer corrections in a day. */
const WAITING_MAX = 1_000

/** Addresses that no stranger's name may lead to: loopback, private, link-local, shared, documentation, multicast. */
const PRIVATE_V4 = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  PRIVATE_V4.addSubnet(network, prefix, 'ipv4')
/** All of IPv6 that is not global unicast, and what of that leads back to IPv4. */
const PRIVATE_V6 = new BlockList()
for (const [network, prefix] of [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const)
  PRIVATE_V6.addSubnet(network, prefix, 'ipv6')

/** Whether an address is one that a webhook may be at. */
export const isPublicAddress = (address: string): boolean =>
  isIPv6(address) ? !PRIVATE_V6.check(address, 'ipv6') : !PRIVATE_V4.check(address, 'ipv4')

/** The webhook did not take an alert. */
export class AlertWebhookUnavailable extends Error {
  override readonly name = 'AlertWebhookUnavailable'
}

type WebhookOptions = {
  readonly url: string
  /** Signs the body as a write is signed. */
  readonly secret?: Secret | undefined
  readonly serviceName: string
  /** Whether private addresses are allowed. */
  readonly isPrivate: boolean
  readonly clock: Clock
  /** An alert was given up. */
  readonly onProblem: (error: AlertWebhookUnavailable) => void
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>
}

const resolveAll = (hostname: string): Promise<readonly LookupAddress[]> =>
  lookup(hostname, { all: true })

export function createAlertWebhook(options: WebhookOptions) {
  const { clock, isPrivate, onProblem, resolve = resolveAll } = options
  const url = new URL(options.url)
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const queue: string[] = []
  let running: Promise<void> | undefined
  let isClosed = false
  let cancelPause: (() => void) | undefined

  const checkedAddress = async (): Promise<LookupAddress> => {
    const found = await resolve(hostname)
    const address = found.find((one) => isPrivate || isPublicAddress(one.address))
    if (address === undefined || (!isPrivate && found.some((one) => !isPublicAddress(one.address))))
      throw new AlertWebhookUnavailable('its name leads to an address that is not public')
    return address
  }
  const attempt = async (body: string): Promise<void> => {
    const address = await checkedAddress()
    const status = await post(url, { body, address, headers: headersOf(options, body) })
    if (status < 200 || status >= 300) throw new AlertWebhookUnavailable(`it answered ${status}`)
  }
  const wait = (ms: number): Promise<void> =>
    new Promise((done) => {
      const cancel = clock.after(ms, done)
      cancelPause = () => {
        cancel()
        done()
      }
    })
  const deliver = async (body: string): Promise<void> => {
    for (let tries = 0; ; tries += 1)
      try {
        return await attempt(body)
      } catch (cause) {
        const afterMs = RETRY_AFTER_MS[tries]
        if (afterMs === undefined || isClosed) {
          const reason = cause instanceof AlertWebhookUnavailable ? `: ${cause.message}` : ''
          return onProblem(new AlertWebhookUnavailable(`not delivered${reason}`, { cause }))
        }
        await wait(afterMs)
      }
  }
  const run = async (): Promise<void> => {
    for (let body = queue.shift(); body !== undefined; body = queue.shift()) await deliver(body)
    running = undefined
  }
  return {
    /** Delivers an alert in the background, in order. */
    send(alert: object): void {
      if (isClosed) return
      if (queue.length >= WAITING_MAX) {
        onProblem(new AlertWebhookUnavailable('too many alerts are waiting'))
        return
      }
      queue.push(JSON.stringify(alert))
      running ??= run()
    },
    /** Takes nothing more; what waits has one more attempt. */
    async close(): Promise<void> {
      isClosed = true
      cancelPause?.()
      await running
    },
  }
}

function headersOf(
  { clock, secret, serviceName }: WebhookOptions,
  body: string,
): Readonly<Record<string, string>> {
  const headers = {
    'content-type': 'application/json',
    'content-length': `${Buffer.byteLength(body)}`,
  }
  if (secret === undefined) return headers
  const timestamp = new Date(clock.unixMs()).toISOString()
  const signature = createHmac('sha256', secret.bytes())
    .update(`${timestamp}.${body}`)
    .digest('hex')
  return {
    ...headers,
    [`x-${serviceName}-timestamp`]: timestamp,
    [`x-${serviceName}-signature`]: signature,
  }
}

/** One POST to a given address, whatever the name says by now; resolves with the status. */
function post(
  url: URL,
  sent: {
    readonly body: string
    readonly address: LookupAddress
    readonly headers: Readonly<Record<string, string>>
  },
): Promise<number> {
  const { address, body, headers } = sent
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  type Found = (error: null, found: string | LookupAddress[], family?: number) => void
  const atAddress = (_name: string, { all }: LookupOptions, found: Found): void =>
    all === true ? found(null, [address]) : found(null, address.address, address.family)
  return new Promise((done, fail) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const request = send(url, { method: 'POST', headers, lookup: atAddress, signal, agent: false })
    request.on('response', (response) => {
      done(response.statusCode ?? 0)
      response.destroy()
    })
    request.on('error', fail)
    request.end(body)
  })
}

import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Clock, type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import type { AlertNotice } from '../domain/access-events.ts'
import { createAlertWebhook } from './alert-webhook.ts'

const SERVICE = {
  network: 'hedera:testnet',
  contract: '0xc0',
  payTo: '0.0.7001',
  recorder: '0xcec',
}
const raised: AlertNotice = { alert: 'reserve_low', change: 'raised', text: 'The reserve is low.' }

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** A receiver over real HTTP: answers as told, and keeps what came. `undefined` never answers. */
async function startReceiver(statuses: readonly (number | undefined)[]) {
  const bodies: Record<string, unknown>[] = []
  server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.end()
      return
    }
    const body = await text(request)
    const status = statuses[Math.min(bodies.length, statuses.length - 1)]
    bodies.push(JSON.parse(body) as Record<string, unknown>)
    // No JSON, as chats answer.
    if (status !== undefined) response.writeHead(status).end('ok')
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return { bodies, url: `http://127.0.0.1:${address.port}/hook/sesame` }
}

function open(url: string, clock: Clock) {
  const lost: string[] = []
  const webhook = createAlertWebhook({
    url,
    clock,
    service: SERVICE,
    onLost: (_, reason) => void lost.push(reason),
  })
  return { webhook, lost }
}

/**
 * Lets pauses pass until so many posts came. Each second takes as long as a request does on this machine: none that is under
 * way times out.
 */
async function untilPosts(
  clock: ManualClock,
  { bodies, url }: { readonly bodies: readonly unknown[]; readonly url: string },
  count: number,
) {
  const secondLater = async (): Promise<number> => {
    clock.advanceMs(1_000)
    await fetch(url)
    return bodies.length
  }
  await expect.poll(secondLater, { interval: 1 }).toBe(count)
}

describe('the alert webhook', () => {
  test('posts a notice once, with who tells it and when, and nothing secret', async () => {
    const { bodies, url } = await startReceiver([200])
    const clock = manualClock(1_800_000_000_000)
    const { webhook, lost } = open(url, clock)
    webhook.send(raised)
    await expect
      .poll(() => bodies)
      .toEqual([{ ...raised, ...SERVICE, at: '2027-01-15T08:00:00.000Z' }])
    expect(JSON.stringify(bodies)).not.toContain('sesame')
    expect(lost).toEqual([])
  })

  test('tries four times in all, then gives up and says why without the address', async () => {
    const { bodies, url } = await startReceiver([500])
    const clock = manualClock(0)
    const { webhook, lost } = open(url, clock)
    webhook.send(raised)
    await untilPosts(clock, { bodies, url }, 4)
    await expect.poll(() => lost).toEqual(['status 500'])
    clock.advanceMs(3_600_000)
    expect(bodies).toHaveLength(4)
  })

  test('a receiver that never answers is cut off, and tried again', async () => {
    const { bodies, url } = await startReceiver([undefined, 204])
    const clock = manualClock(0)
    const { webhook, lost } = open(url, clock)
    webhook.send(raised)
    await untilPosts(clock, { bodies, url }, 2)
    expect(lost).toEqual([])
  })

  test('a newer notice of the same alert takes the place of one that did not get through', async () => {
    const { bodies, url } = await startReceiver([500, 200])
    const clock = manualClock(0)
    const { webhook } = open(url, clock)
    webhook.send(raised)
    await expect.poll(() => bodies).toHaveLength(1)
    webhook.send({ ...raised, change: 'cleared' })
    await untilPosts(clock, { bodies, url }, 2)
    expect(bodies.map(({ change }) => change)).toEqual(['raised', 'cleared'])
  })

  test('close gives up at once, in the middle of a pause', async () => {
    const { bodies, url } = await startReceiver([500])
    const clock = manualClock(0)
    const { webhook } = open(url, clock)
    webhook.send(raised)
    await expect.poll(() => bodies).toHaveLength(1)
    webhook.close()
    clock.advanceMs(3_600_000)
    expect(bodies).toHaveLength(1)
  })
})

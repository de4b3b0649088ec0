import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '@tallystick/x402'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StatusBody } from './access-answers.ts'
import { endedBody, hurriedClock, statusBody } from './access-stand-in.fixture.ts'
import { endWebhook } from './end-webhook.ts'
import type { WindowChange } from './window-watch.ts'

const status = StatusBody.parse(statusBody({ hasAccess: false, ended: endedBody }))
const soon: WindowChange = { kind: 'ends-soon', status, endsAtSeconds: 1_763_600_080 }
const closed: WindowChange = { kind: 'closed', status }

let posts: unknown[]
let lost: (readonly [string, string])[]
let answer: (response: ServerResponse) => void
let url: string
/** Runs at each post and each loss. */
let onNews: () => void
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  posts.push(JSON.parse(Buffer.concat(chunks).toString()))
  answer(response)
  onNews()
})

beforeEach(async () => {
  posts = []
  lost = []
  onNews = () => undefined
  answer = (response) => void response.end('ok')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const webhook = (clock: Clock = hurriedClock()) =>
  endWebhook({
    url,
    clock,
    onLost({ kind }, reason) {
      lost.push([kind, reason])
      onNews()
    },
  })

const until = (condition: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    onNews = () => condition() && resolve()
    onNews()
  })

describe('A27: a webhook hears that access ends and that it has ended', () => {
  test('one post each, with a text for chats and the service’s own names; other changes are none', async () => {
    const tell = webhook({ ...hurriedClock(), after: () => () => {} })
    for (const change of [{ kind: 'status', status } as const, soon, closed]) tell(change)
    await until(() => posts.length === 2)
    expect(posts).toHaveLength(2)
    expect(posts).toContainEqual(
      expect.objectContaining({
        text: `Access of ${status.agent} has ended. ${endedBody.sentence}`,
        kind: 'closed',
        status: expect.objectContaining({ ended: endedBody }),
      }),
    )
    expect(posts).toContainEqual(
      expect.objectContaining({
        text: `Access of ${status.agent} ends at Thu, 20 Nov 2025 00:54:40 GMT unless it is topped up.`,
        kind: 'ends-soon',
        endsAt: 1_763_600_080,
      }),
    )
    expect(lost).toEqual([])
  })

  test('what is refused is tried four times, then lost, and the reason never has the URL', async () => {
    answer = (response) => void response.writeHead(500).end('{}')
    const waitsMs: number[] = []
    const tell = webhook({
      ...hurriedClock(),
      after(ms, run) {
        waitsMs.push(ms)
        // Only pauses end at once: the deadline of a post does not.
        const handle = ms === 5_000 ? undefined : setImmediate(run)
        return () => clearImmediate(handle)
      },
    })
    tell(soon)
    await until(() => lost.length === 1)
    expect(lost).toEqual([['ends-soon', 'status 500']])
    expect(posts).toHaveLength(4)
    expect(waitsMs.filter((ms) => ms !== 5_000)).toEqual([1_000, 15_000, 60_000])
  })

  test('an endpoint that hangs is given up after its deadline', async () => {
    answer = () => undefined
    webhook()(closed)
    await until(() => lost.length === 1)
    expect(lost).toEqual([['closed', 'no answer']])
  })

  test('a second that the service makes up harms nobody', async () => {
    webhook()({ ...soon, endsAtSeconds: Number.MAX_SAFE_INTEGER })
    await until(() => posts.length + lost.length > 0)
    expect([...posts, ...lost]).toHaveLength(1)
  })

  test('so many are under way at once, and no more', () => {
    const tell = webhook({ ...hurriedClock(), after: () => () => {} })
    for (let post = 0; post < 11; post += 1) tell(soon)
    expect(lost).toEqual([['ends-soon', 'too many are under way']])
  })
})

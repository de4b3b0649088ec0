// C29: the operator's webhook. It is told once, signed, and nothing that a name resolves to lets it reach the operator's network.
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manualClock, Secret } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AlertWebhookUnavailable, createAlertWebhook } from './alert-webhook.ts'

const SECRET = 'webhook-secret-for-tests-0123456789abcdef'
const clock = manualClock(Date.UTC(2026, 10, 21, 12))

let server: Server
let got: { readonly body: string; readonly headers: IncomingHttpHeaders }[]
let answers: { readonly status: number; readonly location?: string }[]
let problems: AlertWebhookUnavailable[]
beforeEach(async () => {
  ;[got, answers, problems] = [[], [], []]
  server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.end()
      return
    }
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      got.push({ body, headers: request.headers })
      const { status, ...headers } = answers.shift() ?? { status: 204 }
      response.writeHead(status, headers).end()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const open = (over: Partial<Parameters<typeof createAlertWebhook>[0]> = {}) =>
  createAlertWebhook({
    url: `http://alerts.example:${(server.address() as AddressInfo).port}/hook`,
    secret: new Secret(SECRET),
    serviceName: 'care',
    isPrivate: true,
    clock,
    onProblem: (problem) => problems.push(problem),
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    ...over,
  })

/** One request of the receiver: what it answered before has arrived by then. */
const roundTrip = (): Promise<Response> =>
  fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

/** How many posts came by a second later, which lasts as long as a request on this machine, so that none times out. */
async function postsSecondLater(): Promise<number> {
  clock.advanceMs(1_000)
  await roundTrip()
  return got.length
}

/** Lets pauses pass until so many posts came. */
const untilPosts = async (count: number): Promise<void> =>
  await expect.poll(postsSecondLater, { interval: 1 }).toBe(count)

describe('C29: an alert', () => {
  test('is one POST, signed like a write', async () => {
    const webhook = open()
    webhook.send({ uri: 'care://ann/tea', version: 2 })
    await webhook.close()
    expect(got).toHaveLength(1)
    const [{ body, headers } = { body: '', headers: {} }] = got
    expect(body).toBe('{"uri":"care://ann/tea","version":2}')
    const timestamp = String(headers['x-care-timestamp'])
    const mac = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')
    expect(headers['x-care-signature']).toBe(mac)
    expect(headers.host).toMatch(/^alerts\.example:/)
  })

  test('is sent again until it is taken, in order, and not for ever', async () => {
    answers = [{ status: 503 }, { status: 500 }]
    const webhook = open()
    webhook.send({ alert: 1 })
    webhook.send({ alert: 2 })
    await untilPosts(4)
    expect(got.map(({ body }) => body)).toEqual(['1', '1', '1', '2'].map((at) => `{"alert":${at}}`))
    answers = Array.from({ length: 9 }, () => ({ status: 500 }))
    webhook.send({ alert: 3 })
    await untilPosts(9)
    await expect.poll(() => problems).toHaveLength(1)
    expect(got).toHaveLength(9)
    expect(problems[0]?.message).toBe('not delivered: it answered 500')
  })

  test('does not follow a redirect: it could lead anywhere', async () => {
    answers = [1, 2].map((at) => ({ status: 302, location: `http://127.0.0.1:${at}/` }))
    const webhook = open()
    webhook.send({})
    await expect.poll(() => got).toHaveLength(1)
    // Closing tries once more what was answered; what is under way it lets end.
    await roundTrip()
    await webhook.close()
    expect(got).toHaveLength(2)
    expect(problems[0]?.message).toBe('not delivered: it answered 302')
  })
})

describe('an attack by a name', () => {
  test('that leads to a private address is refused without a connection', async () => {
    const webhook = open({ isPrivate: false })
    webhook.send({})
    await webhook.close()
    expect(got).toEqual([])
    expect(problems[0]?.message).toContain('not public')
  })
})

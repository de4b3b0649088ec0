// C29: the operator's webhook. It is told once, signed, and nothing that a name resolves to lets it reach the operator's network.
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manualClock, Secret } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type AlertWebhookUnavailable,
  createAlertWebhook,
  isPublicAddress,
} from './alert-webhook.ts'

const SECRET = 'webhook-secret-for-tests-0123456789abcdef'
const clock = manualClock(Date.UTC(2026, 10, 21, 12))

let server: Server
let got: { readonly body: string; readonly headers: IncomingHttpHeaders }[]
let answers: { readonly status: number; readonly location?: string }[]
let problems: AlertWebhookUnavailable[]
beforeEach(async () => {
  ;[got, answers, problems] = [[], [], []]
  server = createServer((request, response) => {
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
    await expect.poll(() => got.length).toBe(1)
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(1_000)
    await expect.poll(() => got.length).toBe(2)
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(5_000)
    await expect.poll(() => got.length).toBe(4)
    expect(got.map(({ body }) => body)).toEqual(['1', '1', '1', '2'].map((at) => `{"alert":${at}}`))
    answers = Array.from({ length: 9 }, () => ({ status: 500 }))
    webhook.send({ alert: 3 })
    for (const [at, ms] of [1_000, 5_000, 30_000, 300_000].entries()) {
      await expect.poll(() => got.length).toBe(5 + at)
      await expect.poll(() => clock.pendingCount()).toBe(1)
      clock.advanceMs(ms)
    }
    await expect.poll(() => problems).toHaveLength(1)
    expect(got).toHaveLength(9)
    expect(problems[0]?.message).toBe('not delivered: it answered 500')
  })

  test('does not follow a redirect: it could lead anywhere', async () => {
    answers = [1, 2].map((at) => ({ status: 302, location: `http://127.0.0.1:${at}/` }))
    const webhook = open()
    webhook.send({})
    await expect.poll(() => got).toHaveLength(1)
    await webhook.close()
    expect(got).toHaveLength(2)
    expect(problems[0]?.message).toBe('not delivered: it answered 302')
  })
})

describe('an attack by a name', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'fd00::1',
    'fe80::1',
    'ff02::1',
    '2002:7f00:1::',
  ])('that leads to %s is refused without a connection', async (address) => {
    expect(isPublicAddress(address)).toBe(false)
    const family = address.includes(':') ? 6 : 4
    const webhook = open({ isPrivate: false, resolve: async () => [{ address, family }] })
    webhook.send({})
    await webhook.close()
    expect(got).toEqual([])
    expect(problems[0]?.message).toContain('not public')
  })

  test('that leads to a public address and to a private one is refused too', async () => {
    const both = ['8.8.8.8', '127.0.0.1'].map((address) => ({ address, family: 4 }))
    const webhook = open({ isPrivate: false, resolve: async () => both })
    webhook.send({})
    await webhook.close()
    expect(problems[0]?.message).toContain('not public')
  })

  test.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

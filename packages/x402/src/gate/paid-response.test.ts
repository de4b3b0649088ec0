/** The adapters of Express and Hono, over real sockets; Fastify's has tests of its own. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { paidRoute as paidExpress } from '../express/paid-route.ts'
import { paidRoute as paidHono } from '../hono/paid-route.ts'
import { gateFixture, type Job } from '../testing/gate.fixture.ts'
import type { JobOptions } from './paid-job.ts'

type Route = {
  readonly gate: ReturnType<typeof gateFixture>['gate']
  readonly terms: () => ReturnType<typeof gateFixture>['terms'] | undefined
  readonly job: () => JobOptions<string, unknown, string>
}

/** Each with a GET that is on sale, and the ways that its routers may match. */
const FRAMEWORKS: readonly (readonly [string, (route: Route) => RequestListener])[] = [
  ['Express', (route) => express().get('/report', paidExpress(route))],
  ['Hono', (route) => getRequestListener(new Hono().get('/report', paidHono(route)).fetch)],
]

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

describe.each(FRAMEWORKS)('%s', (_name, app) => {
  async function serve({ terms, ...changes }: Partial<Job> & Partial<Pick<Route, 'terms'>> = {}) {
    const fixture = gateFixture()
    const route = {
      gate: fixture.gate,
      terms: terms ?? (() => fixture.terms),
      job: () => fixture.job(changes),
    }
    const server = createServer(app(route)).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    closing.push(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/report`
    const buy = async () =>
      await fetch(url, {
        headers: { 'payment-signature': await fixture.ledger.pay(fixture.terms) },
      })
    return { ...fixture, url, buy }
  }

  test('X2: the challenge is body and header, byte for byte', async () => {
    const { url } = await serve()
    const response = await fetch(url)
    const body = await response.text()
    expect([response.status, JSON.parse(body)]).toMatchObject([402, { error: 'payment_required' }])
    const header = response.headers.get('payment-required') ?? ''
    expect(Buffer.from(header, 'base64').toString('utf8')).toBe(body)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('X6: a paid answer carries its settlement and is never stored', async () => {
    const { buy } = await serve()
    const response = await buy()
    expect([response.status, await response.json()]).toMatchObject([200, { granted: 'resource' }])
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('payment-response')).toMatch(/^ey/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('X1: HEAD buys nothing', async () => {
    const { ledger, runs, terms, url } = await serve()
    const headers = { 'payment-signature': await ledger.pay(terms) }
    const response = await fetch(url, { method: 'HEAD', headers })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
    expect([ledger.settlements, runs.prepared]).toEqual([0, 0])
  })

  test('X9: a refused settlement is 402 with it, a facilitator that is down 502 with Retry-After', async () => {
    const { buy, ledger } = await serve()
    ledger.fault = { refusal: 'insufficient_funds' }
    const refused = await buy()
    expect([refused.status, refused.headers.has('payment-response')]).toEqual([402, true])
    ledger.fault = 'not_reached'
    const down = await buy()
    expect([down.status, down.headers.get('retry-after')]).toEqual([502, '5'])
    expect(await down.json()).toEqual({ error: 'facilitator_unavailable' })
  })

  test('X11: unknown terms are 502, and what a job declines is 422, unsettled', async () => {
    const unknown = await serve({ terms: () => undefined })
    expect((await fetch(unknown.url)).status).toBe(502)
    const declining = await serve({ prepare: async () => ({ kind: 'declined', declined: 'gone' }) })
    const declined = await declining.buy()
    expect([declined.status, await declined.text()]).toEqual([422, 'gone'])
    expect(declining.ledger.settlements).toBe(0)
  })

  test('X9: an answer that left is delivered: the same thing is sold again', async () => {
    const { buy, ledger } = await serve({ keepsAnswer: true })
    expect((await buy()).status).toBe(200)
    const settlements = async () => (await buy()).arrayBuffer().then(() => ledger.settlements)
    await expect.poll(settlements).toBe(2)
  })
})

test('a job needs only what it sells: on Hedera no payment is honoured that this process did not settle', async () => {
  const { gate, ledger, terms } = gateFixture()
  const job = { fingerprint: 'GET /report', fulfil: async () => 42 }
  const header = await ledger.pay(terms)
  expect(await gate.pay({ paymentSignature: header }, terms, job)).toMatchObject({ answer: 42 })
  const restarted = gateFixture({ ledger })
  expect(await restarted.gate.pay({ paymentSignature: header }, terms, job)).toEqual({
    kind: 'challenged',
    error: 'payment_already_used',
  })
})

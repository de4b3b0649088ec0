import { connect } from 'node:net'
import fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { type Grant, gateFixture, type Job } from '../testing/gate.fixture.ts'
import { listen } from '../testing/scripted-server.fixture.ts'
import { type PaidRouteOptions, paidRoute } from './paid-route.ts'

type Options = Partial<PaidRouteOptions<string, Grant, string>>
const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A server with a paid GET and a paid POST route, over a real socket. */
async function serve(changes: Options & { job?: never; jobChanges?: Partial<Job> } = {}) {
  const fixture = gateFixture()
  const { gate, job, terms } = fixture
  let handled = 0
  const options: PaidRouteOptions<string, Grant, string> = {
    gate,
    terms: () => terms,
    job: (request) => {
      handled += 1
      return job({ fingerprint: `${request.method} ${request.url}`, ...changes.jobChanges })
    },
    decline: (reply, declined) => reply.code(409).send({ error: declined }),
    ...changes,
  }
  const app = fastify()
  app.get('/api/svc/access', paidRoute(options))
  app.route({ method: 'POST', url: '/api/grade', ...paidRoute(options) })
  const { port, url, close } = await listen(app)
  closing.push(close)
  return { ...fixture, handled: () => handled, port, url }
}

/** One request as raw bytes; returns the status line and everything after it. */
async function raw(port: number, head: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('end', () => resolve(text))
    socket.on('error', reject)
    socket.write(`${head}\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  })
}

const readStatus = (answer: string): number => Number(answer.split(' ')[1])

describe('402', () => {
  test.each([
    ['GET', '/api/svc/access'],
    ['POST', '/api/grade'],
  ])('%s %s unpaid: the challenge as body and header, byte for byte', async (method, path) => {
    const { url } = await serve()
    const response = await fetch(`${url}${path}`, { method })
    const body = await response.text()
    expect(response.status).toBe(402)
    const header = response.headers.get('payment-required') ?? ''
    expect(Buffer.from(header, 'base64').toString('utf8')).toBe(body)
    expect(JSON.parse(body)).toMatchObject({ x402Version: 2, error: 'payment_required' })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  test('X9: a refused settlement carries PAYMENT-RESPONSE with success false', async () => {
    const { ledger, terms, url } = await serve()
    ledger.fault = { refusal: 'insufficient_funds' }
    const headers = { 'payment-signature': await ledger.pay(terms) }
    const response = await fetch(`${url}/api/svc/access`, { headers })
    expect(response.status).toBe(402)
    expect(decode(response.headers.get('payment-response'))).toMatchObject({
      success: false,
      errorReason: 'insufficient_funds',
    })
    expect(await response.json()).toMatchObject({ error: 'insufficient_funds' })
  })

  test('a payment header sent twice in one request is undecodable', async () => {
    const { ledger, port, terms } = await serve()
    const header = await ledger.pay(terms)
    const line = `Payment-Signature: ${header}`
    const answer = await raw(port, `GET /api/svc/access HTTP/1.1\r\n${line}\r\n${line}`)
    expect(readStatus(answer)).toBe(402)
    expect(answer).toContain('payment_header_undecodable')
  })

  test('X22: two different payments, one in each header, are a conflict; the same one is one payment', async () => {
    const { ledger, terms, url } = await serve()
    const header = await ledger.pay(terms)
    const send = (xPayment: string) =>
      fetch(`${url}/api/svc/access`, {
        headers: { 'payment-signature': header, 'x-payment': xPayment },
      })
    const refused = await send(await ledger.pay(terms))
    expect(await refused.json()).toMatchObject({ error: 'payment_headers_conflict' })
    expect((await send(header)).status).toBe(200)
    expect(ledger.settlements).toBe(1)
  })
})

describe('200', () => {
  test.each(['payment-signature', 'x-payment'])(
    'X6: paid with %s, with PAYMENT-RESPONSE, never stored',
    async (name) => {
      const { ledger, terms, url } = await serve()
      const headers = { [name]: await ledger.pay(terms) }
      const response = await fetch(`${url}/api/svc/access`, { headers })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ granted: 'resource' })
      expect(decode(response.headers.get('payment-response'))).toMatchObject({ success: true })
      expect(response.headers.get('cache-control')).toBe('no-store')
    },
  )

  test('X7: 100 identical payments at once over HTTP: one settlement, one handler run, one answer', async () => {
    const { ledger, runs, terms, url } = await serve()
    const headers = { 'payment-signature': await ledger.pay(terms) }
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const response = await fetch(`${url}/api/svc/access`, { headers })
        return `${response.status} ${response.headers.get('payment-response')} ${await response.text()}`
      }),
    )
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toMatch(/^200 /)
    expect(ledger.settlements).toBe(1)
    expect(runs.fulfilled).toBe(1)
  })
})

describe('other answers', () => {
  test('a declined job is answered by the route, unsettled', async () => {
    const jobChanges = {
      prepare: async () => ({ kind: 'declined', declined: 'sold_out' }) as const,
    }
    const { ledger, terms, url } = await serve({ jobChanges })
    const headers = { 'payment-signature': await ledger.pay(terms) }
    const response = await fetch(`${url}/api/svc/access`, { headers })
    expect([response.status, await response.json()]).toEqual([409, { error: 'sold_out' }])
    expect(ledger.settlements).toBe(0)
  })

  test('X9: an unreachable facilitator is 502 with Retry-After, never 402', async () => {
    const { ledger, terms, url } = await serve()
    ledger.fault = 'not_reached'
    const headers = { 'payment-signature': await ledger.pay(terms) }
    const response = await fetch(`${url}/api/svc/access`, { headers })
    expect(response.status).toBe(502)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(await response.json()).toEqual({ error: 'facilitator_unavailable' })
  })

  test('X11: unknown terms are 502', async () => {
    const { url } = await serve({ terms: () => undefined })
    const response = await fetch(`${url}/api/svc/access`)
    expect([response.status, await response.json()]).toEqual([
      502,
      { error: 'payment_terms_unknown' },
    ])
  })
})

describe('X1: no unpaid path reaches a paid handler', () => {
  test('HEAD is not served', async () => {
    const { handled, port } = await serve()
    const answer = await raw(port, 'HEAD /api/svc/access HTTP/1.1')
    expect(readStatus(answer)).toBe(404)
    expect(handled()).toBe(0)
  })

  test('HEAD on a route that declares it is 405 with Allow', async () => {
    const fixture = gateFixture()
    const app = fastify()
    const route = paidRoute({
      gate: fixture.gate,
      terms: () => fixture.terms,
      job: () => fixture.job(),
      decline: (reply) => reply.send(),
    })
    app.route({ method: ['GET', 'HEAD'], url: '/paid', ...route })
    const { port, close } = await listen(app)
    closing.push(close)
    const answer = await raw(port, 'HEAD /paid HTTP/1.1')
    expect(readStatus(answer)).toBe(405)
    expect(answer.toLowerCase()).toContain('allow: get\r\n')
    expect(fixture.runs.prepared).toBe(0)
  })

  test.each([
    'GET http://x/api/svc/access HTTP/1.1',
    'GET http://evil.example/api/svc/access?agent=1 HTTP/1.1',
    'GET /%61pi/svc/access HTTP/1.1',
    'GET /api/svc/%61ccess HTTP/1.1',
    'GET /api/svc/access? HTTP/1.1',
    'GET //api/svc/access HTTP/1.1',
    'GET /api//svc/access HTTP/1.1',
    'GET /api%2Fsvc%2Faccess HTTP/1.1',
    'GET /api/svc/access/ HTTP/1.1',
    'GET /api/svc/../svc/access HTTP/1.1',
    'GET /API/svc/access HTTP/1.1',
    'GET /api/svc/access%0a HTTP/1.1',
    'GET /api/svc/access;x HTTP/1.1',
    'GET /%zz HTTP/1.1',
    'POST http://x/api/grade HTTP/1.1',
    'POST /api/gr%61de HTTP/1.1',
    'POST //api/grade HTTP/1.1',
    'POST /api/grade/ HTTP/1.1',
    'GET /api/grade HTTP/1.1',
    'OPTIONS /api/svc/access HTTP/1.1',
    'GET api/svc/access HTTP/1.1',
  ])('%s', async (head) => {
    const { ledger, port, runs } = await serve()
    const answer = await raw(port, head)
    expect([400, 402, 404]).toContain(readStatus(answer))
    expect(runs).toEqual({ prepared: 0, fulfilled: 0, mayHonourAsked: 0 })
    expect(ledger.settlements).toBe(0)
  })
})

function decode(header: string | null): unknown {
  return JSON.parse(Buffer.from(header ?? '', 'base64').toString('utf8'))
}

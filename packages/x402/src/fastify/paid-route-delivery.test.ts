/** Delivery of answers kept for their payer (X9), over real sockets. */
import { connect } from 'node:net'
import fastify from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import type { PaidJob } from '../gate/paid-job.ts'
import { type Grant, gateFixture } from '../testing/gate.fixture.ts'
import { listen } from '../testing/scripted-server.fixture.ts'
import { type PaidRouteOptions, paidRoute } from './paid-route.ts'

type Options = Partial<PaidRouteOptions<string, Grant, string>>
const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A server with a paid route whose job waits for `release` and grants `size` characters and a number. */
async function serve({ size = 0, ...changes }: Options & { readonly size?: number } = {}) {
  const fixture = gateFixture()
  const { gate, ledger, runs, terms } = fixture
  const work = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const job = (key: string | undefined, body: unknown): PaidJob<string, Grant, string> => ({
    ...fixture.job(),
    keepsAnswer: true,
    idempotencyKey: key,
    fingerprint: `POST /api/grade ${JSON.stringify(body)}`,
    async fulfil(prepared, { payment }) {
      runs.fulfilled += 1
      begun.resolve()
      await work.promise
      return { granted: `${prepared} ${runs.fulfilled} ${'x'.repeat(size)}`, payer: payment.payer }
    },
  })
  /** How exchanges ended, in order: whether the whole answer had left. */
  const ends: boolean[] = []
  const app = fastify()
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.once('close', () => ends.push(reply.raw.writableFinished))
  })
  app.route({
    method: 'POST',
    url: '/api/grade',
    ...paidRoute({
      gate,
      terms: () => terms,
      job: ({ body, headers }) => job(headers['idempotency-key']?.toString(), body),
      decline: (reply, declined) => reply.code(409).send({ error: declined }),
      ...changes,
    }),
  })
  const { close, port, url } = await listen(app)
  closing.push(close)
  const buy = async (options: { readonly key?: string; readonly body?: unknown } = {}) => {
    const { body = { pick: 1 }, key } = options
    return await fetch(`${url}/api/grade`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'payment-signature': await ledger.pay(terms),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    })
  }
  /** A client on a bare socket, which can disconnect at any time. */
  const buyRaw = async () => {
    const body = JSON.stringify({ pick: 1 })
    const header = await ledger.pay(terms)
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST /api/grade HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nPayment-Signature: ${header}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    return socket
  }
  const release = (): void => work.resolve()
  return { ...fixture, begun: begun.promise, buy, buyRaw, ends, release }
}

describe('X9: delivery', () => {
  test('a client that leaves before the answer got nothing: its next payment gets that answer and is itself left unsettled', async () => {
    const { begun, buy, buyRaw, ends, ledger, release, runs } = await serve()
    const socket = await buyRaw()
    await begun
    socket.destroy()
    await expect.poll(() => ends).toEqual([false])
    release()
    await expect.poll(async () => (await buy()).status).toBe(200)
    expect([ledger.settlements, runs.fulfilled]).toEqual([1, 1])
    const anew = await buy()
    expect(await anew.json()).toMatchObject({ granted: 'resource 2 ' })
    expect(ledger.settlements).toBe(2)
  })

  test('a client that leaves in the middle of the answer did not get it', async () => {
    const { buyRaw, buy, ends, ledger, release } = await serve({ size: 8 * 1_024 * 1_024 })
    release()
    const socket = await buyRaw()
    await new Promise((resolve) => socket.once('data', resolve))
    socket.destroy()
    await expect.poll(() => ends).toEqual([false])
    const again = await buy()
    expect(again.status).toBe(200)
    await again.arrayBuffer()
    expect(ledger.settlements).toBe(1)
  })

  test('an answer that left completely is delivered: an identical new payment buys again', async () => {
    const { buy, ledger, release } = await serve()
    release()
    for (const settlements of [1, 2]) {
      const response = await buy()
      expect(await response.json()).toMatchObject({ granted: `resource ${settlements} ` })
      expect(ledger.settlements).toBe(settlements)
    }
  })

  test('an error sent instead of an answer does not deliver the answer', async () => {
    let failures = 1
    const fixture = await serve()
    const { gate, ledger, terms } = fixture
    const app = fastify()
    const job: PaidJob<string, Grant, string> = { ...fixture.job(), keepsAnswer: true }
    app.route({
      method: 'POST',
      url: '/api/grade',
      serializerCompiler: () => (answer) => {
        failures -= 1
        if (failures >= 0) throw new Error('cannot be written')
        return JSON.stringify(answer)
      },
      schema: { response: { 200: {} } },
      ...paidRoute({
        gate,
        terms: () => terms,
        job: () => job,
        decline: (reply, declined) => reply.code(409).send({ error: declined }),
      }),
    })
    const { close, url } = await listen(app)
    closing.push(close)
    const statuses: number[] = []
    for (const _ of [1, 2]) {
      const headers = { 'payment-signature': await ledger.pay(terms) }
      const response = await fetch(`${url}/api/grade`, { method: 'POST', headers })
      statuses.push(response.status)
      await response.arrayBuffer()
    }
    expect(statuses).toEqual([500, 200])
    expect(ledger.settlements).toBe(1)
  })
})

describe('G4: Idempotency-Key', () => {
  test('same key and body, same card, one charge: the first payment’s PAYMENT-RESPONSE', async () => {
    const { buy, ledger, release } = await serve()
    release()
    const answers = new Set<string>()
    for (const _ of [1, 2, 3]) {
      const response = await buy({ key: 'k' })
      answers.add(
        `${response.status} ${response.headers.get('payment-response')} ${await response.text()}`,
      )
    }
    expect(answers.size).toBe(1)
    expect(ledger.settlements).toBe(1)
  })

  test('same key and another body: 409 idempotency_key_reused before settlement, never stored', async () => {
    const { buy, ledger, release } = await serve()
    release()
    await buy({ key: 'k' })
    const response = await buy({ key: 'k', body: { pick: 2 } })
    expect([response.status, await response.json()]).toEqual([
      409,
      { error: 'idempotency_key_reused' },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('payment-response')).toBeNull()
    expect(ledger.settlements).toBe(1)
  })

  test('409 in the service’s own form', async () => {
    const { buy, release } = await serve({
      sendProblem: (reply, { error }) => reply.code(409).send({ error, service: 'ours' }),
    })
    release()
    await buy({ key: 'k' })
    const response = await buy({ key: 'k', body: { pick: 2 } })
    expect(await response.json()).toEqual({ error: 'idempotency_key_reused', service: 'ours' })
  })

  test('two different payments with one key at once: one settlement, and the other is 502 payment_pending', async () => {
    const { begun, buy, ledger, release } = await serve()
    const first = buy({ key: 'k' })
    await begun
    const second = await buy({ key: 'k' })
    expect([second.status, await second.json()]).toEqual([502, { error: 'payment_pending' }])
    expect(second.headers.get('retry-after')).toBe('3')
    release()
    const card = await (await first).text()
    expect(await (await buy({ key: 'k' })).text()).toBe(card)
    expect(ledger.settlements).toBe(1)
  })
})

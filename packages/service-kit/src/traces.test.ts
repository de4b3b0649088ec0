import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Clock, systemClock } from './clock.ts'
import { exportSpans } from './export-spans.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { startOtlpReceiver } from './otlp-receiver.fixture.ts'
import { postChecked } from './post-checked.ts'
import { buildThing, closeThings, lines } from './thing-service.fixture.ts'
import { finishedSpans, type Span } from './traces.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${SPAN}-01`
const ends: (() => unknown)[] = []

/** A dependency that keeps the heads of its calls. */
async function startDependency() {
  const heads: NodeJS.Dict<string | string[]>[] = []
  const server = createServer((request, response) => {
    heads.push(request.headers)
    response.statusCode = request.url === '/broken' ? 503 : 200
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  return { heads, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

let dependency: Awaited<ReturnType<typeof startDependency>>
beforeEach(async () => {
  dependency = await startDependency()
})
afterEach(async () => {
  await closeThings()
  for (const end of ends.splice(0)) await end()
})

/** A service that asks the dependency by `fetch` and by Node's client, before and behind a body. */
const buildAsking = () =>
  buildThing({
    routes: (app) => {
      app.post('/ask/:patient', async (request) => {
        const url = new URL(dependency.url)
        await fetch(`${dependency.url}/records?patient=secret-patient`)
        await postChecked({
          url,
          body: '{}',
          headers: {},
          clock: systemClock,
          timeoutMs: 5_000,
          mayBePrivate: true,
        })
        request.log.info({}, 'asked')
        return {}
      })
      app.get('/broken', async (_request, reply) => {
        await fetch(`${dependency.url}/broken`)
        return reply.code(502).send({ error: 'broken' })
      })
      app.get('/confidential', { config: { isUncounted: true } }, async () => {
        await fetch(dependency.url)
        return {}
      })
    },
  })

const ask = async (headers: Record<string, string> = { traceparent }) => {
  const app = await buildAsking()
  const url = '/ask/secret-patient?token=secret-token'
  const payload = { who: 'secret-body' }
  return app.inject({
    method: 'POST',
    url,
    headers: { ...headers, authorization: 'secret-key' },
    payload,
  })
}

/** Exports to a collector until the test ends. */
function exportTo(endpoint: string, clock: Clock = systemClock) {
  const said: string[] = []
  const note = (_fields: object, message?: string) => void said.push(message ?? '')
  const logger = { info: note, warn: note } as never
  const headers = { 'x-api-key': 'k' }
  const spans = exportSpans({ endpoint, headers, serviceName: 'thing', clock, logger })
  ends.push(async () => {
    const ending = spans.end()
    if (clock !== systemClock) await (clock as ManualClock).advanceMsSettled(5_000)
    await ending
  })
  return { ...spans, said }
}

describe('S14: a trace', () => {
  test('is passed on with every call, by fetch and by Node’s client, each under a span of its own', async () => {
    await ask({ traceparent, tracestate: 'vendor=1' })
    const parents = dependency.heads.map((head) => String(head['traceparent']))
    expect(parents).toHaveLength(2)
    for (const parent of parents)
      expect(parent).toMatch(new RegExp(`^00-${TRACE}-[\\da-f]{16}-01$`))
    expect(new Set([...parents, traceparent]).size).toBe(3)
    expect(dependency.heads.map((head) => head['tracestate'])).toEqual(['vendor=1', 'vendor=1'])
  })

  test('begins where a request brings none, and belongs to that request alone', async () => {
    await ask({})
    await ask({ traceparent: 'nonsense' })
    const traces = dependency.heads.map((head) => String(head['traceparent']).split('-')[1])
    expect(traces).toHaveLength(4)
    expect(new Set(traces).size).toBe(2)
  })

  test('is on every line that the request logs, the last one included', async () => {
    await ask()
    expect(lines.map(({ msg, trace_id: id }) => [msg, id])).toEqual([
      ['asked', TRACE],
      ['request', TRACE],
    ])
    expect(new Set(lines.map(({ span_id: id }) => id)).size).toBe(1)
    expect(lines[0]?.['span_id']).toMatch(/^[\da-f]{16}$/)
  })

  test('calls of no request carry none', async () => {
    await buildAsking()
    await fetch(dependency.url)
    expect(dependency.heads[0]).not.toHaveProperty('traceparent')
  })
})

describe('S14: spans', () => {
  test('a collector gets the request’s and one of each call, with parents, names and results', async () => {
    const receiver = await startOtlpReceiver()
    ends.push(receiver.close)
    const { end } = exportTo(receiver.endpoint)
    await ask({ traceparent, tracestate: 'vendor=1' })
    await end()
    const { spans } = receiver
    const server = spans.find(({ kind }) => kind === 2)
    expect(server).toMatchObject({
      service: 'thing',
      name: 'POST /ask/:patient',
      traceId: TRACE,
      parentSpanId: SPAN,
      traceState: 'vendor=1',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/ask/:patient',
        'http.response.status_code': 200,
        'url.scheme': 'http',
      },
      status: { code: 0 },
    })
    const clients = spans.filter(({ kind }) => kind === 3)
    expect(clients.map(({ name }) => name)).toEqual(['GET', 'POST'])
    for (const [at, client] of clients.entries()) {
      expect(client).toMatchObject({ traceId: TRACE, parentSpanId: server?.spanId })
      expect(client.attributes).toMatchObject({
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(dependency.url).port),
        'http.response.status_code': 200,
      })
      expect(String(dependency.heads[at]?.['traceparent'])).toContain(client.spanId)
      expect(client.endTimeUnixNano).toBeGreaterThanOrEqual(client.startTimeUnixNano)
    }
    expect(receiver.heads[0]).toMatchObject({ 'x-api-key': 'k' })
    expect(receiver.heads[0]).not.toHaveProperty('traceparent')
  })

  test('a failure is an error, by its status', async () => {
    const receiver = await startOtlpReceiver()
    ends.push(receiver.close)
    const { end } = exportTo(receiver.endpoint)
    await (await buildAsking()).inject('/broken')
    await end()
    const errors = receiver.spans.map(
      ({ attributes, kind, status }) => `${kind} ${attributes['error.type']} ${status.code}`,
    )
    expect(errors.toSorted()).toEqual(['2 502 2', '3 503 2'])
  })

  test('hold no path, query, header or body, and none is made of what monitors poll or is confidential', async () => {
    const receiver = await startOtlpReceiver()
    ends.push(receiver.close)
    const { end } = exportTo(receiver.endpoint)
    await ask({ traceparent })
    const app = await buildAsking()
    for (const url of ['/health', '/ready', '/metrics', '/confidential', '/secret-patient/x'])
      await app.inject(url)
    await end()
    expect(receiver.spans.map(({ kind, name }) => `${kind} ${name}`).toSorted()).toEqual([
      '2 GET',
      '2 POST /ask/:patient',
      '3 GET',
      '3 POST',
    ])
    expect(String(dependency.heads.at(-1)?.['traceparent'])).toMatch(/-00$/)
    expect(receiver.texts.join()).not.toMatch(/secret|records/)
  })

  test('of a trace that nobody keeps are passed on and not exported', async () => {
    const receiver = await startOtlpReceiver()
    ends.push(receiver.close)
    const { end } = exportTo(receiver.endpoint)
    await ask({ traceparent: `00-${TRACE}-${SPAN}-00` })
    await end()
    expect(String(dependency.heads[0]?.['traceparent'])).toMatch(new RegExp(`^00-${TRACE}-.*-00$`))
    expect(receiver.texts).toEqual([])
  })
})

/** Enough for one message, which then leaves at once. */
const MESSAGE_SPANS = 512

function finishSpans(count: number): void {
  const trace = { traceId: TRACE, spanId: SPAN, isSampled: true }
  const span = { kind: 'server', name: 'GET', trace, endMs: 1, durationMs: 1 } as const
  for (let left = count; left > 0; left -= 1)
    finishedSpans.publish({ ...span, attributes: {}, isError: false } satisfies Span)
}

describe('S14: a collector', () => {
  test('that never answers holds up neither a request nor the end of the process', async () => {
    const requested = Promise.withResolvers<void>()
    const receiver = await startOtlpReceiver(() => requested.resolve())
    ends.push(receiver.close)
    const clock = manualClock(0)
    const { end } = exportTo(receiver.endpoint, clock)
    expect((await ask()).statusCode).toBe(200)
    const ending = end()
    await requested.promise
    clock.advanceMs(1_000)
    await ending
  })

  test('that begins an answer and never ends it is given up after 5 s', async () => {
    const requested = Promise.withResolvers<void>()
    const receiver = await startOtlpReceiver((_request, response) => {
      response.writeHead(200, { 'content-length': 2 })
      response.write('{', () => requested.resolve())
    })
    ends.push(receiver.close)
    const clock = manualClock(0)
    const { droppedCount, said } = exportTo(receiver.endpoint, clock)
    finishSpans(MESSAGE_SPANS)
    await requested.promise
    clock.advanceMs(4_999)
    expect([droppedCount(), said]).toEqual([0, []])
    clock.advanceMs(1)
    expect([droppedCount(), said]).toEqual([MESSAGE_SPANS, ['the collector takes no spans']])
  })

  test('that is slow makes 2,048 spans wait; more are dropped and counted', async () => {
    const answer = Promise.withResolvers<void>()
    const receiver = await startOtlpReceiver()
    ends.push(receiver.close)
    receiver.before = () => answer.promise
    const { droppedCount, end } = exportTo(receiver.endpoint)
    finishSpans(5_000)
    expect(droppedCount()).toBe(5_000 - 2_048)
    answer.resolve()
    await end()
    expect(receiver.spans).toHaveLength(2_048)
    expect(droppedCount()).toBe(5_000 - 2_048)
  })

  test('that refuses is named once in the log, as is that it takes spans again', async () => {
    let status = 400
    const receiver = await startOtlpReceiver(
      (_request, response) => void response.writeHead(status).end('{}'),
    )
    ends.push(receiver.close)
    const { droppedCount, said } = exportTo(receiver.endpoint)
    for (const [index, [next, sentence]] of [
      [400, 'the collector takes no spans'],
      [200, 'the collector takes spans again'],
    ].entries()) {
      status = Number(next)
      finishSpans(2 * MESSAGE_SPANS)
      expect((await ask()).statusCode).toBe(200)
      await vi.waitUntil(() => said.length > index, { timeout: 60_000, interval: 10 })
      expect(said[index]).toBe(sentence)
    }
    expect(droppedCount()).toBeGreaterThanOrEqual(MESSAGE_SPANS)
  })

  test('that is away costs no request anything', async () => {
    const receiver = await startOtlpReceiver()
    await receiver.close()
    const clock = manualClock(0)
    const { droppedCount, end, said } = exportTo(receiver.endpoint, clock)
    expect((await ask()).statusCode).toBe(200)
    const ending = end()
    await clock.advanceMsSettled(5_000)
    await ending
    expect([droppedCount(), said]).toEqual([3, ['the collector takes no spans']])
  })

  test('that lies, with a redirect, a success of too many bytes or nonsense, changes nothing', async () => {
    for (const [status, body] of [
      [302, ''],
      [200, 'x'.repeat(5_000_000)],
      [200, '<html>'],
    ] as const) {
      const receiver = await startOtlpReceiver(
        (_request, response) =>
          void response.writeHead(status, { location: dependency.url }).end(body),
      )
      ends.push(receiver.close)
      const { end } = exportTo(receiver.endpoint)
      dependency.heads.length = 0
      expect((await ask()).statusCode).toBe(200)
      await end()
      expect(dependency.heads).toHaveLength(2)
    }
  })
})

// Bytes that no HTTP client sends, sent to each running service: it answers only what was asked, nothing breaks, and
// nothing stays open. packages/service-kit/src/connections.test.ts tests when half a request is cut off.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isRunning } from '@tallystick/service-kit/stack-environment'
import { beforeAll, describe, expect, inject, it } from 'vitest'

import { eventually } from './eventually.ts'
import { exchangeBytes, openSocket, type RawAnswer } from './raw-exchange.ts'

const SERVICES = ['access', 'care', 'grading'] as const
type Service = (typeof SERVICES)[number]

/** A route of each service that takes a body, or would take one with the right method. */
const BODY_ROUTES: Readonly<Record<Service, string>> = {
  access: '/api/svc/access',
  care: '/write',
  grading: '/api/calibration',
}

/** What a service may answer to a body that it does not take (S5). */
const REFUSALS = [400, 401, 405, 408, 413, 415]

/** Connections that are held half open at once, per kind. */
const HELD = 50
/** File handles that a process may gain: a database file, or a connection to its ledger. */
const HANDLES_SLACK = 12

const stack = inject('stack')
const handlesBefore = new Map<Service, number>()

beforeAll(async () => {
  for (const service of SERVICES) handlesBefore.set(service, await openHandles(service))
})

const makeUrl = (service: Service): string => stack.description[service].baseUrl

async function metric(service: Service, name: string): Promise<number> {
  const text = await (await fetch(`${makeUrl(service)}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const openHandles = (service: Service): Promise<number> => metric(service, 'process_open_fds')

const get = (path: string, headers: readonly string[] = []): string =>
  [`GET ${path} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n')

const post = (service: Service, headers: readonly string[], body = ''): string =>
  [`POST ${BODY_ROUTES[service]} HTTP/1.1`, 'host: x', ...headers, '', body].join('\r\n')

const CLOSE = 'connection: close'
const JSON_TYPE = 'content-type: application/json'
const SMUGGLED = get('/smuggled', [CLOSE])

/** A refusal in the common error shape: JSON with a code, on a connection that ends. */
function expectRefusal(answer: RawAnswer | undefined, status: number | readonly number[]): void {
  expect([status].flat()).toContain(answer?.status)
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({
    error: expect.stringMatching(/^[a-z][a-z0-9_]*$/),
  })
}

/** Bytes that form one malformed request: one 400, then the end, whatever follows. */
const MALFORMED: Readonly<Record<string, (service: Service) => string>> = {
  'bytes of another protocol': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
  'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an unknown method': () => 'BREW /health HTTP/1.1\r\nhost: x\r\n\r\n',
  'an unknown version': () => 'GET /health HTTP/9.9\r\nhost: x\r\n\r\n',
  'HTTP/1.1 without Host': () => 'GET /health HTTP/1.1\r\n\r\n',
  'a space in the target': () => 'GET /health x HTTP/1.1\r\nhost: x\r\n\r\n',
  'a space before the colon': () => get('/health', ['x-a : b']),
  'a folded header line': () => get('/health', ['x-a: b', ' c: d']),
  'a NUL in a header': () => get('/health', ['x-a: b\0c']),
  'a bare CR in a header': () => get('/health', ['x-a: b\rset-cookie: c=d']),
  'a bare LF between headers': () => get('/health', ['x-a: b\nx-c: d']),
  'a header without a name': () => get('/health', [': b']),
  'two Content-Length that differ': (service) =>
    post(service, ['content-length: 2', 'content-length: 40'], `{}${SMUGGLED}`),
  'two Content-Length that agree': (service) =>
    post(service, ['content-length: 2', 'content-length: 2'], `{}${SMUGGLED}`),
  'a list as Content-Length': (service) => post(service, ['content-length: 2, 2'], `{}${SMUGGLED}`),
  'a signed Content-Length': (service) => post(service, ['content-length: +2'], `{}${SMUGGLED}`),
  'a negative Content-Length': (service) => post(service, ['content-length: -1'], SMUGGLED),
  'Content-Length and Transfer-Encoding': (service) =>
    post(service, ['content-length: 2', 'transfer-encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
  'Transfer-Encoding before Content-Length': (service) =>
    post(service, ['transfer-encoding: chunked', 'content-length: 5'], `0\r\n\r\n${SMUGGLED}`),
  'a Transfer-Encoding that does not end in chunked': (service) =>
    post(service, ['transfer-encoding: chunked, identity'], `0\r\n\r\n${SMUGGLED}`),
  'a Transfer-Encoding that is nearly chunked': (service) =>
    post(service, ['transfer-encoding: xchunked'], `0\r\n\r\n${SMUGGLED}`),
  'a Transfer-Encoding behind a space': (service) =>
    post(service, ['transfer-encoding : chunked'], `0\r\n\r\n${SMUGGLED}`),
}

/** Broken chunked bodies: refused, or cut off if the request was already refused. */
const BROKEN_CHUNKS: Readonly<Record<string, string>> = {
  'a malformed size': 'zz\r\n{}\r\n0\r\n\r\n',
  'a negative size': '-2\r\n{}\r\n0\r\n\r\n',
  'a size beyond any integer': 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n',
  'a chunk longer than its size': '1\r\n{}\r\n0\r\n\r\n',
  'a size that ends in a bare LF': '2\n{}\r\n0\r\n\r\n',
  'an extension of 20,000 characters': `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  'trailers of 20,000 characters': `2\r\n{}\r\n0\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
}

describe.each(SERVICES)('%s', (service) => {
  it.each(Object.entries(MALFORMED))(
    'S5: %s is one 400, and what follows it is not read',
    async (_title, bytesFor) => {
      const exchange = await exchangeBytes(makeUrl(service), { bytes: bytesFor(service) })
      expect(exchange.answers).toHaveLength(1)
      expectRefusal(exchange.answers[0], 400)
      expect(exchange.isClosedByService).toBe(true)
    },
  )

  it.each(Object.entries(BROKEN_CHUNKS))(
    'chunked, %s: refused and cut off',
    async (_title, body) => {
      const head = ['transfer-encoding: chunked', JSON_TYPE]
      const bytes = post(service, head, `${body}${SMUGGLED}`)
      const { answers, isClosedByService } = await exchangeBytes(makeUrl(service), { bytes })
      expectRefusal(answers[0], [...REFUSALS, 431])
      for (const { status } of answers) expect([...REFUSALS, 431]).toContain(status)
      expect(isClosedByService).toBe(true)
    },
  )

  it('a header cannot inject headers into the answer', async () => {
    for (const path of ['/health?x=%0d%0aset-cookie:%20a=b', '/%0d%0aset-cookie:%20a=b']) {
      const { answers } = await exchangeBytes(makeUrl(service), { bytes: get(path, [CLOSE]) })
      expect(answers).toHaveLength(1)
      expect(answers[0]?.head.toLowerCase()).not.toContain('set-cookie')
    }
    const named = ['origin: https://a.example\tset-cookie: a=b', 'x-request-id: chosen', CLOSE]
    const { answers } = await exchangeBytes(makeUrl(service), { bytes: get('/health', named) })
    expect(answers[0]?.status).toBe(200)
    expect(answers[0]?.head).not.toMatch(/^set-cookie|x-request-id: chosen/im)
  })

  it('HTTP/1.0 is answered, and the connection closed', async () => {
    const bytes = 'GET /health HTTP/1.0\r\n\r\n'
    const { answers, isClosedByService } = await exchangeBytes(makeUrl(service), { bytes })
    expect([answers.length, answers[0]?.status, isClosedByService]).toEqual([1, 200, true])
  })

  it('X1: an absolute target with user info reaches no paid handler and no other host', async () => {
    for (const target of ['http://user:secret@evil.example/health', 'http://user:secret@x/write'])
      for (const method of ['GET', 'POST']) {
        const bytes = `${method} ${target} HTTP/1.1\r\nhost: x\r\n${CLOSE}\r\n\r\n`
        const { answers } = await exchangeBytes(makeUrl(service), { bytes })
        expect(answers).toHaveLength(1)
        expect([200, 400, 401, 404, 405]).toContain(answers[0]?.status)
        expect(answers[0]?.body).not.toContain('secret')
      }
  })

  it('CONNECT gets no tunnel', async () => {
    const bytes = 'CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n'
    const { answers, isClosedByService } = await exchangeBytes(makeUrl(service), { bytes })
    for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(400)
    expect(isClosedByService).toBe(true)
  })

  it('Expect: 100-continue is answered in order; any other expectation is refused', async () => {
    const refused = await exchangeBytes(makeUrl(service), {
      bytes: post(service, ['expect: 100-continue', 'content-length: 1', JSON_TYPE, CLOSE], '{'),
    })
    expect(refused.answers).toHaveLength(1)
    expectRefusal(refused.answers[0], REFUSALS)
    const unknown = await exchangeBytes(makeUrl(service), {
      bytes: get('/health', ['expect: a-miracle', CLOSE]),
    })
    expect(unknown.answers.map(({ status }) => status)).toEqual([417])
  })

  it('200 pipelined requests are answered in order', async () => {
    const pair = get('/health') + get('/nowhere')
    const bytes = pair.repeat(99) + get('/health') + get('/nowhere', [CLOSE])
    const { answers, isClosedByService } = await exchangeBytes(makeUrl(service), { bytes })
    const statuses = answers.map(({ status }) => status)
    expect(statuses).toEqual(Array.from({ length: 100 }, () => [200, 404]).flat())
    expect(isClosedByService).toBe(true)
  })

  it('garbage after a request ends the connection, and nothing after it is answered', async () => {
    const bytes = `${get('/health').repeat(3)}\x00\x01garbage\r\n\r\n${SMUGGLED}`
    const { answers, isClosedByService } = await exchangeBytes(makeUrl(service), { bytes })
    // Node drops the answers that are still in the queue when it meets garbage in the same packet: 400 may come alone.
    const statuses = answers.map(({ status }) => status)
    expect(statuses.at(-1)).toBe(400)
    expect(statuses.slice(0, -1).every((status) => status === 200)).toBe(true)
    expect(isClosedByService).toBe(true)
  })

  it('headers over 16 KiB are 431, as is a target of that size', async () => {
    for (const bytes of [
      get('/health', [`x: ${'a'.repeat(64_000)}`]),
      get(`/${'a'.repeat(64_000)}`),
    ]) {
      const { answers } = await exchangeBytes(makeUrl(service), { bytes })
      expect(answers).toHaveLength(1)
      expectRefusal(answers[0], 431)
    }
  })

  it('a body announced or sent over the limit is refused before it is read', async () => {
    const announced = post(service, ['content-length: 99999999999', JSON_TYPE], '{')
    const whole = await exchangeBytes(makeUrl(service), { bytes: announced, answers: 1 })
    expect(REFUSALS).toContain(whole.answers[0]?.status)
    const sent = `900000\r\n${'a'.repeat(0x900000)}\r\n0\r\n\r\n`
    const chunked = post(service, ['transfer-encoding: chunked', JSON_TYPE, CLOSE], sent)
    const other = await exchangeBytes(makeUrl(service), { bytes: chunked, answers: 1 })
    // The service may cut the connection before a sender that does not read has seen why.
    const statuses = other.answers.map(({ status }) => status)
    expect(statuses.filter((status) => !REFUSALS.includes(status))).toEqual([])
  })

  it('requests that break off at any point leave nothing behind', async () => {
    const body = '{"filters":{"population":"all"}}'
    const whole = post(service, [`content-length: ${body.length}`, JSON_TYPE], body)
    const cuts = Array.from({ length: whole.length - 1 }, (_, index) => whole.slice(0, index + 1))
    for (let at = 0; at < cuts.length; at += HELD)
      await Promise.all(
        cuts
          .slice(at, at + HELD)
          .map((bytes) => exchangeBytes(makeUrl(service), { bytes, hangUp: true })),
      )
    expect(await becomesQuiet(service)).toBe(true)
  })

  it('half requests held open do not delay anyone else', async () => {
    const halves = [
      get('/health').slice(0, -2),
      post(service, ['content-length: 100', JSON_TYPE], '{"a"'),
      post(service, ['transfer-encoding: chunked', JSON_TYPE], '5\r\n{"a'),
    ]
    const sockets = await Promise.all(
      halves.flatMap((half) =>
        Array.from({ length: HELD }, async () => {
          const socket = await openSocket(makeUrl(service))
          socket.write(half)
          return socket
        }),
      ),
    )
    expect((await fetch(`${makeUrl(service)}/health`)).status).toBe(200)
    // Byte by byte, as slowly as it likes: the answer does not come yet.
    for (const socket of sockets) socket.write('x')
    expect((await fetch(`${makeUrl(service)}/health`)).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    expect(await becomesQuiet(service)).toBe(true)
  })

  it('afterwards it runs, has logged no error, and holds no connection or handle', async () => {
    const pid = stack.description.process.children[service]
    expect(pid !== undefined && isRunning(pid)).toBe(true)
    expect(await becomesQuiet(service)).toBe(true)
    expect((await fetch(`${makeUrl(service)}/health`)).status).toBe(200)
    const log = readFileSync(join(dirname(stack.stackFile), 'logs', `${service}.log`), 'utf8')
    expect(log.split('\n').filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([])
    expect(log).not.toContain('user:secret')
  })
})

/** Waits until only this request is in flight and the process has released its handles; fails if that never happens. */
async function becomesQuiet(service: Service): Promise<boolean> {
  const allowed = (handlesBefore.get(service) ?? 0) + HANDLES_SLACK
  await eventually(
    async () =>
      (await metric(service, 'http_requests_in_flight')) <= 1 &&
      (await openHandles(service)) <= allowed,
  )
  return true
}

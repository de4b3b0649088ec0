import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createServiceApp, type ServiceAppOptions } from './create-service-app.ts'
import { createLogger } from './logging.ts'
import { manualClock } from './manual-clock.ts'
import { paidServiceCors } from './request-hooks.ts'
import { listeningUrl } from './run-service.ts'
import type { ServiceApp } from './service-app.ts'

const open: ServiceApp[] = []
const lines: string[] = []

async function listen(options: Partial<ServiceAppOptions> = {}): Promise<number> {
  lines.length = 0
  const app = await createServiceApp({
    name: 'tallystick-thing',
    version: '1.2.3',
    description: 'Things.',
    clock: manualClock(0),
    cors: paidServiceCors,
    logger: createLogger({
      name: 'thing',
      level: 'debug',
      destination: { write: (line: string) => void lines.push(line) },
    }),
    routes: (scope) => {
      scope.post('/thing', async () => ({}))
    },
    ...options,
  })
  open.push(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return Number(new URL(listeningUrl(app)).port)
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()))
})

/** Everything received until the service closes the connection. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  await once(socket, 'close')
  return text
}

const POST = 'POST /thing HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'

describe('a client that stalls is answered 408 and cut off', () => {
  const connectionLimits = { headersMs: 50, requestMs: 100, checkEveryMs: 10 }

  test.each([
    { title: 'half a head', bytes: 'GET /health HTTP/1.1\r\nhost: x\r\n' },
    { title: 'half a line', bytes: 'GET /hea' },
    { title: 'half a body', bytes: `${POST}content-length: 100\r\n\r\n{"a"` },
    { title: 'half a chunk', bytes: `${POST}transfer-encoding: chunked\r\n\r\n5\r\n{"a` },
  ])('$title', async ({ bytes }) => {
    const answer = await answerTo(await listen({ connectionLimits }), bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('{"error":"request_timeout"}')
  })

  test('by default after 10 s for the headers and 30 s for the whole request', async () => {
    await listen()
    const { headersTimeout, requestTimeout } = open[0]?.server ?? {}
    expect([headersTimeout, requestTimeout]).toEqual([10_000, 30_000])
  })
})

describe('S5: what Node would refuse without a body gets a JSON answer', () => {
  test('HTTP/1.1 without Host', async () => {
    const answer = await answerTo(await listen(), 'GET /health HTTP/1.1\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('{"error":"host_required"}')
  })

  test('HTTP/1.0 needs none', async () => {
    const answer = await answerTo(await listen(), 'GET /health HTTP/1.0\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('an expectation that cannot be met', async () => {
    const bytes = 'GET /health HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\n\r\n'
    const answer = await answerTo(await listen(), bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 417 /)
    expect(answer).toContain('{"error":"expectation_failed"}')
  })
})

test('S6: for an absolute target, the log has only the path', async () => {
  const close = 'host: x\r\nconnection: close\r\n\r\n'
  await answerTo(await listen(), `GET http://user:secret@a.example/thing?q HTTP/1.1\r\n${close}`)
  await expect.poll(() => lines.join('')).toContain('"path":"/thing"')
  expect(lines.join('')).not.toContain('secret')
})

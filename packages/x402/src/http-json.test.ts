import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { fetchJson } from './http-json.ts'
import { type ManualClock, manualClock } from './testing/manual-clock.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume()
    answer(response)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const TIMEOUT_MS = 1_000
const post = (url: string, clock: ManualClock = manualClock(0)) =>
  fetchJson({ url, clock, timeoutMs: TIMEOUT_MS, bytesMax: 100, body: '{}' })

test('an answer is read whole, also on a kept connection', async () => {
  const url = await serve((response) => response.end('"₮ok"'))
  for (const _ of [1, 2])
    expect(await post(url)).toEqual({ kind: 'answered', status: 200, json: '₮ok' })
})

test('an answer that breaks off failed, and may have been acted on', async () => {
  const url = await serve((response) => {
    response.writeHead(200, { 'content-length': '50' })
    response.write('{', () => response.destroy())
  })
  expect(await post(url)).toMatchObject({ kind: 'unreachable', nothingSent: false })
})

test('an answer over the limit is cut off', async () => {
  const url = await serve((response) => response.end('x'.repeat(101)))
  expect(await post(url)).toMatchObject({ kind: 'nonsense', status: 200 })
})

test('a request given up after it was sent may have been acted on', async () => {
  const clock = manualClock(0)
  const heard = Promise.withResolvers<void>()
  const answer = post(await serve(() => heard.resolve()), clock)
  await heard.promise
  await clock.advanceMs(TIMEOUT_MS)
  const cause = new Error('no answer within 1000 ms')
  expect(await answer).toEqual({ kind: 'unreachable', nothingSent: false, cause })
  expect(clock.timers()).toBe(0)
})

test('a request given up before there was a connection has sent nothing', async () => {
  const url = await serve((response) => response.end())
  // A clock on which the time is up as soon as it is set.
  const clock = {
    unixMs: () => 0,
    after: (_ms: number, run: () => void) => (run(), () => undefined),
  }
  const call = { url, clock, timeoutMs: TIMEOUT_MS, bytesMax: 100 }
  expect(await fetchJson(call)).toMatchObject({ kind: 'unreachable', nothingSent: true })
})

test('nobody listens, or the address is none: nothing was sent', async () => {
  const server = createTcpServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  for (const url of [`http://127.0.0.1:${port}/`, 'no address'])
    expect(await post(url)).toMatchObject({ kind: 'unreachable', nothingSent: true })
})

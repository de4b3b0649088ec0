import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, globalAgent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { freePort, type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, expect, test } from 'vitest'
import { fetchJson } from './http-json.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    answer(response)
  })
  return `http://127.0.0.1:${await listen(server)}/`
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A self-signed certificate for localhost, from 2020 to 2120, and its key. */
const SELF_SIGNED = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmq+tReJRHxlsREBs
I0cc3ZsKp5fdSgWUcnpkqfGUM+ehRANCAASAx42KqnaZ3fvUyS2zPdhnGxFBDBLs
5T9Z3TxwKvJCgp1XPaybxqIBTHSV8q6MLznIVWKLPM3/GWCQuS90tAMB
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBYjCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIDHjYqqdpnd+9TJ
LbM92GcbEUEMEuzlP1ndPHAq8kKCnVc9rJvGogFMdJXyrowvOchVYos8zf8ZYJC5
L3S0AwGjSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBSseGYf+wCwe/dNpMfjPStuerDQ+zAKBggqhkjOPQQDAgNJADBG
AiEAo+kVkw7x96StOOE4TLBwJ8YHkYKSsBKiy0JM8LpFB08CIQCz7F60xhEAol63
8AF96MI5s1jXw0Xsq7fIjxpzosy9+w==
-----END CERTIFICATE-----`,
}

const TIMEOUT_MS = 1_000
const post = (url: string, clock: ManualClock = manualClock(0)) =>
  fetchJson({ url, clock, timeoutMs: TIMEOUT_MS, bytesMax: 100, body: '{}' })

test('an answer is read completely, even on a kept-alive connection', async () => {
  const url = await serve((response) => response.end('"₮ok"'))
  for (const _ of [1, 2])
    expect(await post(url)).toMatchObject({ kind: 'answered', status: 200, json: '₮ok' })
})

test('an answer that breaks off failed, and its request may have been acted on', async () => {
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

test('a request abandoned after it was sent may have been acted on', async () => {
  const clock = manualClock(0)
  const heard = Promise.withResolvers<void>()
  const answer = post(await serve(() => heard.resolve()), clock)
  await heard.promise
  await clock.advanceMsSettled(TIMEOUT_MS)
  const cause = new Error('no answer within 1000 ms')
  expect(await answer).toEqual({ kind: 'unreachable', nothingSent: false, isTimeout: true, cause })
  expect(clock.pendingCount()).toBe(0)
})

test('a request abandoned before there was a connection sent nothing', async () => {
  const url = await serve((response) => response.end())
  // A clock on which time runs out as soon as a timer is set.
  const clock = {
    unixMs: () => 0,
    after: (_ms: number, run: () => void) => (run(), () => undefined),
  }
  const call = { url, clock, timeoutMs: TIMEOUT_MS, bytesMax: 100 }
  expect(await fetchJson(call)).toMatchObject({ kind: 'unreachable', nothingSent: true })
})

test('a port without a listener, or an invalid address: nothing was sent', async () => {
  for (const url of [`http://127.0.0.1:${await freePort()}/`, 'no address'])
    expect(await post(url)).toMatchObject({ kind: 'unreachable', nothingSent: true })
})

test('X8: a server without TLS, or with an untrusted certificate, received nothing', async () => {
  let requests = 0
  const count = (response: ServerResponse): void => {
    requests += 1
    response.end('1')
  }
  const plainUrl = await serve(count)
  const port = await listen(createHttpsServer(SELF_SIGNED, (_request, response) => count(response)))
  for (const url of [plainUrl.replace('http:', 'https:'), `https://127.0.0.1:${port}/`])
    expect(await post(url)).toMatchObject({ kind: 'unreachable', nothingSent: true })
  expect(requests).toBe(0)
})

test('X8: data sent after a TLS handshake may have been acted on, even on a kept-alive connection', async () => {
  globalAgent.options.ca = SELF_SIGNED.cert
  closing.push(() => delete globalAgent.options.ca)
  let requests = 0
  const server = createHttpsServer(SELF_SIGNED, (request, response) => {
    requests += 1
    request.resume()
    if (requests === 2) response.destroy()
    else response.end('1')
  })
  const url = `https://localhost:${await listen(server)}/`
  expect(await post(url)).toMatchObject({ kind: 'answered', json: 1 })
  expect(await post(url)).toMatchObject({ kind: 'unreachable', nothingSent: false })
  requests = 1
  expect(await post(url)).toMatchObject({ kind: 'unreachable', nothingSent: false })
})

test('a call has the headers of its address, its body and its own', async () => {
  const seen: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    request.resume()
    response.end('1')
  })
  const host = `127.0.0.1:${await listen(server)}`
  const call = { clock: manualClock(0), timeoutMs: TIMEOUT_MS, bytesMax: 100 }
  await fetchJson({ ...call, url: `http://user:pass%20word@${host}/a`, body: '"₮"' })
  await fetchJson({ ...call, url: `http://${host}/b`, headers: { 'x-own': '1' } })
  const authorization = `Basic ${Buffer.from('user:pass word').toString('base64')}`
  const common = { host, accept: 'application/json', connection: 'keep-alive' }
  expect(seen).toEqual([
    { ...common, authorization, 'content-type': 'application/json', 'content-length': '5' },
    { ...common, 'x-own': '1' },
  ])
})

test('a header that would begin another one is refused before anything is sent', async () => {
  const headers = { 'x-own': '1\r\nx-other: 2' }
  const call = { clock: manualClock(0), timeoutMs: TIMEOUT_MS, bytesMax: 100, headers }
  const answer = await fetchJson({ ...call, url: await serve((response) => response.end('1')) })
  expect(answer).toMatchObject({ kind: 'unreachable', nothingSent: true })
})

test('behind a proxy with a password a call carries it', async () => {
  const seen: (string | undefined)[] = []
  const proxy = createServer((request, response) => {
    seen.push(request.url, request.headers['proxy-authorization'])
    request.resume()
    response.end('1')
  })
  const HTTP_PROXY = `http://user:pass@127.0.0.1:${await listen(proxy)}`
  const program = `import { fetchJson } from '${new URL('./http-json.ts', import.meta.url).href}'
    const clock = { unixMs: () => 0, after: () => () => {} }
    const call = { url: 'http://shop.test/a', clock, timeoutMs: 1, bytesMax: 100, body: '{}' }
    process.exit((await fetchJson(call)).kind === 'answered' ? 0 : 1)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY, NO_PROXY: '' },
  })
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(seen).toEqual([
    'http://shop.test/a',
    `Basic ${Buffer.from('user:pass').toString('base64')}`,
  ])
})

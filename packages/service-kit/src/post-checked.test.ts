import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { manualClock } from './manual-clock.ts'
import { postChecked } from './post-checked.ts'
import { isPublicAddress } from './public-address.ts'

const PRIVATE =
  `0.0.0.0 0.255.255.255 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 169.254.169.254 169.254.170.2
  172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.1.1 192.175.48.1
  198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::a00:1 100::1
  100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff::1
  2001:db8::1 2002:7f00:1:: 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0
  fec0::1 ff02::1 168.63.129.16 161.26.0.10 166.8.0.1 166.11.255.255 199.36.153.4 199.36.153.11 2600:2d00:2:1000::1 nonsense`.split(
    /\s+/,
  )
const PUBLIC =
  '1.1.1.1 8.8.8.8 168.63.129.15 168.63.129.17 161.27.0.1 166.12.0.0 199.36.153.3 199.36.153.12 9.255.255.255 100.63.255.255 100.128.0.1 172.32.0.1 192.0.1.1 192.88.98.1 198.17.255.255 198.20.0.1 223.255.255.255 2001:200::1 2001:4860:4860::8888 2606:4700::1111 2a00::1 3ffe::1'.split(
    ' ',
  )

let server: Server
let got: string[]
let answer: { readonly status: number; readonly text?: string; readonly location?: string }
let port = 0
beforeEach(async () => {
  got = []
  answer = { status: 204 }
  server = createServer((request, response) => {
    got.push(`${request.headers.host} ${request.url}`)
    const { status, text = '', ...headers } = answer
    if (status === 0) return
    response.writeHead(status, headers).end(text)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const post = (url: string, over: Partial<Parameters<typeof postChecked>[0]> = {}) =>
  postChecked({
    url: new URL(url),
    body: '{}',
    headers: {},
    clock: systemClock,
    timeoutMs: 60_000,
    mayBePrivate: false,
    ...over,
  })
const at = (...addresses: readonly string[]) => ({
  resolve: async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
})

const endless = () => new Promise<never>(() => undefined)
const unknownName = () => Promise.reject(new Error('ENOTFOUND'))

describe('C22: an attack on the network behind the service', () => {
  test.each(PRIVATE)('%s is an address of nobody on the internet', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
  test.each(PUBLIC)('%s may be posted to', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test.each([
    ['decimal', '2130706433'],
    ['octal', '0177.0.0.1'],
    ['hexadecimal', '0x7f000001'],
    ['mixed', '0x7f.1'],
    ['short', '127.1'],
    ['full-width', '１２７.０.０.１'],
    ['v4-mapped', '[::ffff:127.0.0.1]'],
    ['v4-mapped hexadecimal', '[::ffff:7f00:1]'],
    ['NAT64', '[64:ff9b::127.0.0.1]'],
    ['metadata', '169.254.169.254'],
    ['metadata, decimal', '2852039166'],
    ['metadata, IPv6', '[fd00:ec2::254]'],
    ['local name', 'localhost'],
    ['any', '0'],
  ])('by an address in %s notation ends before a connection', async (_, host) => {
    expect(await post(`http://${host}:${port}/`)).toEqual({ kind: 'failed', reason: 'not_public' })
    expect(got).toEqual([])
  })

  test('by a name that has a public address and a private one ends before a connection', async () => {
    const both = at('8.8.8.8', '127.0.0.1')
    expect(await post(`http://both.example:${port}/`, both)).toMatchObject({ reason: 'not_public' })
  })

  test('by a name that is resolved anew for the connection reaches the address that was checked', async () => {
    let questions = 0
    // What was checked is the second loopback address, where nobody listens; a second look-up would say the first.
    const resolve = async () => {
      questions += 1
      return [{ address: questions === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }]
    }
    const rebound = await post(`http://rebinding.example:${port}/`, { resolve, mayBePrivate: true })
    expect(rebound).toMatchObject({ kind: 'failed', reason: 'connection_refused' })
    expect(questions).toBe(1)
    expect(got).toEqual([])
  })

  test('by a redirect ends at the redirect', async () => {
    answer = { status: 307, location: `http://127.0.0.1:${port}/inside` }
    const own = { mayBePrivate: true, ...at('127.0.0.1') }
    expect(await post(`http://hook.example:${port}/outside`, own)).toMatchObject({ status: 307 })
    expect(got).toEqual([`hook.example:${port} /outside`])
  })
})

describe('a post', () => {
  const own = { mayBePrivate: true }
  test('reads no more of an answer than it asked for', async () => {
    answer = { status: 200, text: 'x'.repeat(100) }
    const url = `http://127.0.0.1:${port}/`
    expect(await post(url, { ...own, answerBytesMax: 100 })).toMatchObject({ text: answer.text })
    expect(await post(url, { ...own, answerBytesMax: 99 })).toMatchObject({ text: '', status: 200 })
    expect(await post(url, own)).toMatchObject({ text: '', status: 200 })
  })
  test('ends when its time is up or its caller gives up, also while the name is resolved', async () => {
    answer = { status: 0 }
    const clock = manualClock(0)
    const hanging = post(`http://127.0.0.1:${port}/`, { ...own, clock })
    await expect.poll(() => got).toHaveLength(1)
    clock.advanceMs(60_000)
    expect(await hanging).toEqual({ kind: 'failed', reason: 'timeout' })
    const caller = new AbortController()
    const unresolved = post('http://slow.example/', {
      ...own,
      clock,
      resolve: endless,
      signal: caller.signal,
    })
    caller.abort()
    expect(await unresolved).toEqual({ kind: 'failed', reason: 'aborted' })
    expect(clock.pendingCount()).toBe(0)
  })
  test('says why there is no answer', async () => {
    expect(await post(`https://127.0.0.1:${port}/`, own)).toMatchObject({ reason: 'tls_error' })
    const answered = post('https://nowhere.example/', { ...own, resolve: unknownName })
    expect(await answered).toMatchObject({ reason: 'connection_refused' })
  })
})

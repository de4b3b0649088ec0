/** The service on its real stores behind a real socket: what an in-memory route test cannot show. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinSignature } from './testing/care.fixture.ts'
import { openHost } from './testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from './testing/running-care.fixture.ts'

const body = { patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' }

let care: RunningCare
beforeAll(async () => {
  care = await startRunningCare()
})
afterAll(() => care.remove())

/** Sends bytes and returns everything received until the other side closes. */
function exchange(bytes: string | readonly Buffer[]): Promise<string> {
  const { port, hostname } = new URL(care.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => (answer += String(text)))
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
    for (const part of [bytes].flat()) socket.write(part)
  })
}
const head = (lines: readonly string[]) =>
  `POST /write HTTP/1.1\r\nhost: care.test\r\nconnection: close\r\n${lines.join('\r\n')}\r\n\r\n`
const readStatus = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])

const listNames = async (payload: string, headers = {}) => {
  const answer = await fetch(`${care.url}/write`, { method: 'POST', body: payload, headers })
  return [answer.status, await answer.text(), [...answer.headers.keys()].toSorted()]
}

describe('POST /write over a socket', () => {
  test('a signed body in chunks, split inside a character, is judged by its bytes', async () => {
    const payload = Buffer.from(JSON.stringify({ ...body, value: 'Früh 💊' }))
    const timestamp = new Date().toISOString()
    const lines = [
      `x-care-timestamp: ${timestamp}`,
      `x-care-signature: ${joinSignature({ timestamp, body: payload })}`,
      'transfer-encoding: chunked',
    ]
    const chunks = [...payload].map((byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]))
    const answer = await exchange([Buffer.from(head(lines)), ...chunks, Buffer.from('0\r\n\r\n')])
    expect(readStatus(answer)).toBe(200)
  })

  test('an oversized body is refused at its limit, before its end has arrived', async () => {
    const lines = ['content-length: 10000000', 'x-care-signature: 00']
    const answer = await exchange([Buffer.from(head(lines)), Buffer.alloc(262_145, 0x20)])
    expect(readStatus(answer)).toBe(401)
    expect(answer).toContain('{"error":"unauthorized"}')
  })

  test('its refusal has the same headers as any other', async () => {
    const unsigned = await listNames('{}')
    expect(await listNames('x'.repeat(300_000))).toEqual(unsigned)
    expect(await listNames('x'.repeat(300_000), { 'x-care-signature': '00' })).toEqual(unsigned)
    expect(await listNames('{}', { authorization: 'Bearer nonsense' })).toEqual(unsigned)
  })

  test('a sender that never stops is cut off', async () => {
    const { port, hostname } = new URL(care.url)
    const socket = connect(Number(port), hostname)
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
    socket.on('error', () => undefined)
    // Kept alive: without the cut, the rest of the body would be read to its end.
    socket.write('POST /write HTTP/1.1\r\nhost: care.test\r\ncontent-length: 200000000\r\n\r\n')
    let sentMegabytes = 0
    const part = Buffer.alloc(1_000_000, 0x20)
    while (!socket.destroyed && sentMegabytes < 200) {
      const taken = new Promise<void>((resolve) => void socket.write(part, () => resolve()))
      await Promise.race([taken, closed])
      sentMegabytes += 1
    }
    // What is discarded, plus what fits into the buffers between the two sides.
    expect(sentMegabytes).toBeLessThan(50)
  })

  test('a sender that leaves in the middle does not harm the service', async () => {
    const { port, hostname } = new URL(care.url)
    const socket = connect(Number(port), hostname)
    socket.write(head(['content-length: 100']))
    await new Promise((resolve) => void socket.write('{"patient"', resolve))
    socket.destroy()
    expect((await fetch(`${care.url}/health`)).status).toBe(200)
  })

  test('a repeated signature header is not a signature', async () => {
    const payload = JSON.stringify(body)
    const timestamp = new Date().toISOString()
    const signature = `x-care-signature: ${joinSignature({ timestamp, body: payload })}`
    const lines = [
      `x-care-timestamp: ${timestamp}`,
      signature,
      signature,
      `content-length: ${payload.length}`,
    ]
    expect(readStatus(await exchange(head(lines) + payload))).toBe(401)
  })
})

describe('Events', () => {
  test('an accepted write: a subscribed session holds the new value; subscribers counts it, notified is true', async () => {
    const host = await openHost(care, 'care.read.user')
    await care.write({ ...body, domain: 'dose', value: 'One tablet.' })
    await host.request('resources/subscribe', { uri: 'care://ann/dose' })
    const updated = host.nextNotification('notifications/resources/updated')
    const answer = await care.write({ ...body, domain: 'dose', value: 'Two tablets.' })
    expect(await answer.json()).toMatchObject({
      uri: 'care://ann/dose',
      version: 2,
      subscribers: 1,
      notified: true,
    })
    expect((await updated).params).toEqual({ uri: 'care://ann/dose' })
    const read = await host.request('resources/read', { uri: 'care://ann/dose' })
    expect(JSON.stringify(read)).toContain('Two tablets.')
    expect(await (await fetch(`${care.url}/health`)).json()).toEqual({ ok: true, sessions: 1 })
    await host.close()
  })

  test('the subscriber holds an internal record only with its scope', async () => {
    const host = await openHost(care, 'care.read.user')
    await care.write({ ...body, domain: 'note', audience: 'assistant' })
    const refused = await host.request('resources/subscribe', { uri: 'care-internal://ann/note' })
    expect(refused).toMatchObject({ error: { code: -32_002 } })
    const answer = await care.write({ ...body, domain: 'note', audience: 'assistant', value: 'B.' })
    expect(await answer.json()).toMatchObject({ subscribers: 0, notified: false })
    await host.close()
  })
})

describe('C14: what was answered is kept', () => {
  test('100 concurrent writers; after a restart the chains, the repeated answer and the audit rows are there', async () => {
    const first = await startRunningCare()
    try {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          first.write({ ...body, patient: `p${index % 7}`, value: `Sentence ${index}` }),
        ),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      const timestamp = new Date().toISOString()
      const payload = JSON.stringify({ ...body, patient: 'again' })
      const send = (url: string) =>
        fetch(`${url}/write`, {
          method: 'POST',
          body: payload,
          headers: {
            'x-care-timestamp': timestamp,
            'x-care-signature': joinSignature({ timestamp, body: payload }),
          },
        })
      const answered = await (await send(first.url)).text()
      await first.stop()
      const second = await startRunningCare({ place: first.place })
      expect(await (await send(second.url)).text()).toBe(answered)
      const verdict = await (await fetch(`${second.url}/verify`)).json()
      expect(verdict).toMatchObject({ versions: 101, intact: true })
      await second.stop()
    } finally {
      await first.remove()
    }
  })

  test('values sealed at rest: the line and every receipt say so', async () => {
    const sealed = await startRunningCare({
      environment: { SEAL_KEYS: `k1:${Buffer.alloc(32, 5).toString('base64')}` },
    })
    try {
      await sealed.write(body)
      const all = await (await fetch(`${sealed.url}/verify`)).json()
      expect(all).toMatchObject({
        atRest: expect.stringContaining('AES-256-GCM'),
        receipts: [
          { uri: 'care://ann/tea', encrypted: true, algorithm: 'AES-256-GCM', keyId: 'k1' },
        ],
      })
      const each = await (await fetch(`${sealed.url}/verify?uri=care://ann/tea`)).json()
      expect(each).toMatchObject({ intact: true, atRest: { encrypted: true, keyId: 'k1' } })
      const text = await (
        await fetch(`${sealed.url}/verify`, { headers: { accept: 'text/plain' } })
      ).text()
      expect(text).toContain('\n1/1 latest version(s) sealed at rest\n')
    } finally {
      await sealed.remove()
    }
  })
})

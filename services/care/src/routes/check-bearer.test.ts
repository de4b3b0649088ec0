// One reading of `Authorization` on the three paths that use it, byte for byte over a socket: HTTP itself drops the space
// around a header's value.
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CARE_SCOPES } from '../domain/scopes.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'

let care: RunningCare
beforeAll(async () => {
  care = await startRunningCare()
})
afterAll(() => care.remove())

const WRITE = JSON.stringify({ patient: 'ann', domain: 'tea', value: 'No sugar.' })

type Answer = { readonly status: number; readonly challenge: string; readonly body: unknown }

/** Sends one request with the header line unchanged. */
function ask(request: string, headerLine: string, body = ''): Promise<Answer> {
  const { port, hostname } = new URL(care.url)
  const lines = [
    `${request} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    `content-length: ${body.length}`,
    headerLine,
  ]
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (part) => (text += String(part)))
    socket.on('error', reject)
    socket.on('close', () => {
      const [head = '', json = ''] = text.split('\r\n\r\n')
      resolve({
        status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]),
        challenge: /^www-authenticate: (.+)$/im.exec(head)?.[1] ?? '',
        body: JSON.parse(json),
      })
    })
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  })
}
const onMcp = (headerLine: string) => ask('GET /mcp', headerLine)
const onVerify = (headerLine: string) => ask('GET /verify', headerLine)
const onWrite = (headerLine: string) => ask('POST /write', headerLine, WRITE)

describe('a valid token is read on /mcp, /verify and /write', () => {
  test.each([
    'authorization: Bearer TOKEN',
    'AUTHORIZATION: bearer TOKEN',
    'authorization: bEARER   TOKEN',
    'authorization:Bearer TOKEN',
    'authorization: \t Bearer TOKEN \t ',
  ])('from %j', async (form) => {
    const line = form.replace('TOKEN', care.token(CARE_SCOPES.join(' ')))
    const session = await onMcp(line)
    // Past the token check: what is missing now is the session.
    expect(session).toMatchObject({ status: 400, body: { error: { code: -32_000 } } })
    expect((await onVerify(line)).status).toBe(200)
    expect((await onWrite(line)).status).toBe(200)
  })
})

describe('no token is read on /mcp and /verify, and /write accepts nothing', () => {
  test.each([
    'authorization:',
    'authorization: TOKEN',
    'authorization: BearerTOKEN',
    'authorization: Bearer\tTOKEN',
    'authorization: Bearer',
    'authorization: Bearer ',
    'authorization: Bearer TOKEN TOKEN',
    'authorization: Bearer TOKEN\tx',
    'authorization: Basic TOKEN',
    'authorization: Basic x, Bearer TOKEN',
  ])('from %j', async (form) => {
    const line = form.replaceAll('TOKEN', care.token(CARE_SCOPES.join(' ')))
    for (const answer of [await onMcp(line), await onVerify(line)]) {
      expect(answer.status).toBe(401)
      expect(answer.body).toEqual({
        error: 'invalid_token',
        error_description: 'bearer token required',
      })
      expect(answer.challenge).toMatch(/^Bearer realm="care", resource_metadata="[^"]+"$/)
    }
    expect(await onWrite(line)).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
  })
})

describe('why one word after Bearer fails is said on /mcp and /verify, but not on /write', () => {
  test.each([
    ['authorization: Bearer nonsense', 'malformed'],
    ['authorization: Bearer TOKEN,', 'bad_signature'],
    ['authorization: Bearer "TOKEN"', 'malformed'],
  ])('from %j: %s', async (form, failure) => {
    const line = form.replace('TOKEN', care.token(CARE_SCOPES.join(' ')))
    for (const answer of [await onMcp(line), await onVerify(line)]) {
      expect(answer.status).toBe(401)
      expect(answer.body).toEqual({ error: 'invalid_token', error_description: failure })
      expect(answer.challenge).toContain('error="invalid_token"')
    }
    expect(await onWrite(line)).toMatchObject({ status: 401, body: { error: 'unauthorized' } })
  })
})

// C50: what strangers can do to the sign-in server.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createLogger, freePort } from '@tallystick/service-kit'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from './testing/browser.fixture.ts'
import {
  authorizationUrl,
  CALLBACK,
  type IssuerFixture,
  openIssuer,
  PASSWORD,
  RESOURCE,
  registerClient,
  signIn,
} from './testing/issuer.fixture.ts'

let issuer: IssuerFixture
/** Addresses that the server asked for, whatever it was told. */
const fetched: string[] = []
const remember: typeof fetch = async (input) => {
  fetched.push(input instanceof Request ? input.url : input.toString())
  return Response.json([CALLBACK])
}
beforeAll(async () => {
  const host = { client_id: 'host', redirect_uris: [CALLBACK] }
  issuer = await openIssuer(
    { REGISTRATION: 'any', TRUST_PROXY_HOPS: '1', CLIENTS: JSON.stringify([host]) },
    { fetch: remember },
  )
})
afterAll(() => issuer.remove())

/** A registration from an address, as a proxy passes it on. */
const register = (metadata: object, address = '203.0.113.7') =>
  fetch(`${issuer.url}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
    body: JSON.stringify({
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'none',
      ...metadata,
    }),
  })
let hosts = 0
/** From an address that nobody else uses. */
const registerAlone = (metadata: object) => {
  hosts += 1
  return register(metadata, `198.51.100.${hosts}`)
}

const registrationFrom = async (origin: string, method: string) => {
  const answer = await fetch(`${issuer.url}/reg`, {
    method,
    headers: { origin, 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.99' },
    ...(method === 'POST' && { body: JSON.stringify({ redirect_uris: [CALLBACK] }) }),
  })
  return [answer.status, answer.headers.get('access-control-allow-origin')]
}

describe('C50: pages', () => {
  it('may register from the origins that tokens are for, and from no other', async () => {
    const { origin } = new URL(RESOURCE)
    expect(await registrationFrom(origin, 'OPTIONS')).toEqual([204, origin])
    expect(await registrationFrom(origin, 'POST')).toEqual([201, origin])
    for (const method of ['OPTIONS', 'POST'])
      expect((await registrationFrom('https://evil.test', method))[1]).toBe(null)
  })
})

describe('C50: registration', () => {
  it('a thousand registrations from fifty addresses of one /64 are twenty, and the honest program lives on', async () => {
    const client = await registerClient(issuer.url)
    const { redeem } = await signIn(client)
    const tokens = await redeem()
    const statuses: number[] = []
    for (let index = 0; index < 1_000; index += 50) {
      const some = Array.from({ length: 50 }, (_, at) => register({}, `2001:db8:1:2::${at + 1}`))
      statuses.push(...(await Promise.all(some)).map(({ status }) => status))
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(20)
    const again = await openid.refreshTokenGrant(client, tokens.refresh_token ?? '', {
      resource: RESOURCE,
    })
    expect(again.access_token).toBeDefined()
    expect((await register({}, '2001:db8:1:3::1')).status).toBe(201)
  })

  it.each([
    { sector_identifier_uri: 'https://inner.test:8443/endless' },
    { sector_identifier_uri: 'https://inner.test/', subject_type: 'public' },
    { jwks_uri: 'https://inner.test/keys', token_endpoint_auth_method: 'private_key_jwt' },
    { request_uris: ['https://inner.test/request'] },
    { backchannel_logout_uri: 'https://inner.test/out' },
  ])('nothing is fetched because a registrant says so: %j', async (metadata) => {
    fetched.length = 0
    const answer = await registerAlone(metadata)
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_client_metadata' }),
    ])
    expect(fetched).toEqual([])
  })

  it.each([
    'http://evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'ftp://evil.example/cb',
    'javascript:alert(1)',
    'mailto:me@evil.example',
    'https://clinic.example@evil.example/cb',
    'https://evil.example/c\u202eb',
    'ms-msdt:/id',
    'search-ms:query=x',
    'shell:startup',
    'ms-appinstaller:?source=x',
    'smb://evil.example/share',
    'chrome-extension://abc/x',
    'x-apple.systempreferences:x',
    'urn:ietf:wg:oauth:2.0:oob',
  ])('a redirect to %j is refused', async (uri) => {
    const answer = await registerAlone({ redirect_uris: [uri] })
    expect(answer.status).toBe(400)
  })

  it.each([
    'https://host.example/cb',
    'http://localhost:1234/cb',
    'http://[::1]/cb',
    'com.example.app:/cb',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ])('a redirect to %s is taken', async (uri) => {
    const answer = await registerAlone({ redirect_uris: [uri] })
    expect(answer.status).toBe(201)
  })

  it.each([
    ['65 characters', 'x'.repeat(65)],
    ['turned text', 'Claude\u202etxt'],
    ['an isolate that does not end', '\u2066Claude'],
    ['a line break', 'Claude\nSigned by the clinic'],
    ['nothing to see', '\u200b\u200b'],
    ['a space alone', ' '],
    ['letters that are not seen', '\u3164\uffa0'],
    ['a blank Braille cell', '\u2800'],
    ['marks that cover other lines', `e${'\u0301'.repeat(60)}`],
    ['no text', 7],
  ])('a name of %s is refused', async (_, name) => {
    const answer = await registerAlone({ client_name: name })
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_client_metadata' }),
    ])
  })

  it('metadata of 42,000 characters is refused', async () => {
    const answer = await registerAlone({ client_name: 'x'.repeat(42_000) })
    expect(answer.status).toBe(413)
  })

  it.each(['Claude', '診療所', 'کلینیک‌ها', 'क्‍ष', 'x'.repeat(64)])(
    'the name %s is taken',
    async (name) => {
      const answer = await registerAlone({ client_name: name })
      expect(answer.status).toBe(201)
    },
  )
})

const begin = (parameters: Record<string, string> = {}): string =>
  new URLSearchParams({
    client_id: 'host',
    redirect_uri: CALLBACK,
    response_type: 'code',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
    ...parameters,
  }).toString()

describe('C50: sign-ins that are begun', () => {
  it('a state of 14 kB is refused, in the address and in a form, and nothing is stored', async () => {
    const query = begin({ state: 'x'.repeat(14_000) })
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    const before = statSync(join(issuer.folder, 'issuer.db-wal')).size
    for (let times = 0; times < 20; times += 1) {
      const get = await fetch(`${issuer.url}/auth?${query}`, { headers, redirect: 'manual' })
      const body = new URLSearchParams(query)
      const post = await fetch(`${issuer.url}/auth`, { method: 'POST', headers, body })
      expect([get.status, post.status]).toEqual([414, 413])
    }
    expect(statSync(join(issuer.folder, 'issuer.db-wal')).size).toBe(before)
  })

  it('three hundred in a quarter of an hour from one network, and others go on', async () => {
    const query = begin()
    const from = async (address: string) => {
      const headers = { 'x-forwarded-for': address }
      return (await fetch(`${issuer.url}/auth?${query}`, { headers, redirect: 'manual' })).status
    }
    const statuses: number[] = []
    for (let times = 0; times < 301; times += 1)
      statuses.push(await from(`2001:db8:9:9::${times.toString(16)}`))
    expect(statuses.indexOf(429)).toBe(300)
    expect(await from('2001:db8:9:a::1')).toBe(303)
  })
})

describe('C50: behind a proxy without TRUST_PROXY_HOPS', () => {
  it('the server says so at start, and thirty wrong passwords of one do not keep the others out', async () => {
    const port = await freePort()
    const lines: string[] = []
    const write = (line: string): void => void lines.push(line)
    const clinic = await openIssuer(
      {
        PORT: String(port),
        BASE_URL: 'https://login.test',
        CLIENTS: JSON.stringify([{ client_id: 'host', redirect_uris: [CALLBACK] }]),
      },
      { logger: createLogger({ name: 'issuer', level: 'warn', destination: { write } }) },
    )
    expect(lines).toEqual([expect.stringContaining('TRUST_PROXY_HOPS')])
    const browser = openBrowser({ 'https://login.test': `http://127.0.0.1:${port}` })
    const query = new URLSearchParams({
      client_id: 'host',
      redirect_uri: CALLBACK,
      response_type: 'code',
      resource: RESOURCE,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const page = await browser.go(`https://login.test/auth?${query.toString()}`, {
      until: CALLBACK,
    })
    const login = (name: string, password: string) =>
      browser.go(`${page.url}/login`, { form: { name, password }, until: CALLBACK })
    for (let times = 0; times < 31; times += 1)
      expect((await login('carer', 'wrong')).status).toBe(401)
    expect((await login('ada', PASSWORD)).text).toContain('signed in as')
    await clinic.remove()
  })
})

describe('C50: a server that is busy', () => {
  it('says so, and does not count it as a wrong password', async () => {
    const clinic = await openIssuer()
    const { url } = await authorizationUrl(await registerClient(clinic.url))
    const browser = openBrowser()
    const page = await browser.go(url, { until: CALLBACK })
    const login = (name: string, password: string) =>
      browser.go(`${page.url}/login`, { form: { name, password }, until: CALLBACK })
    // Unknown names, whose check is as slow as a real one.
    const crowd = await Promise.all(Array.from({ length: 29 }, (_, at) => login(`n${at}`, 'wrong')))
    const statuses = crowd.map(({ status }) => status)
    expect(statuses).toContain(503)
    expect(statuses.filter((status) => status === 503 || status === 401)).toHaveLength(29)
    expect((await login('carer', 'wrong')).status).toBe(401)
    expect((await login('ada', PASSWORD)).text).toContain('signed in as')
    await clinic.remove()
  })
})

describe('C50: the consent page', () => {
  it('shows a scope that cannot be decoded as it stands', async () => {
    const scope = 'care.read.user:%E0%A4%A'
    const clinic = await openIssuer()
    await clinic.user('odd', [scope])
    const { url } = await authorizationUrl(await registerClient(clinic.url), {
      scope: 'care.read.user',
    })
    const browser = openBrowser()
    const page = await browser.go(url, { until: CALLBACK })
    const form = { name: 'odd', password: PASSWORD }
    const consent = await browser.go(`${page.url}/login`, { form, until: CALLBACK })
    expect([consent.status, consent.text]).toEqual([200, expect.stringContaining('%E0%A4%A')])
    await clinic.remove()
  })

  it('names of people and patients cannot turn the text around them', async () => {
    const clinic = await openIssuer()
    const patient = encodeURIComponent('maria\u202e\u2069')
    await clinic.user('odd', [`care.read.user:${patient}`], 'Ada\u202e\u2069')
    const { url } = await authorizationUrl(await registerClient(clinic.url), {
      scope: 'care.read.user',
    })
    const browser = openBrowser()
    const page = await browser.go(url, { until: CALLBACK })
    const form = { name: 'odd', password: PASSWORD }
    const consent = await browser.go(`${page.url}/login`, { form, until: CALLBACK })
    expect(consent.text).toContain('\u2068Ada\u2069')
    expect(consent.text).toContain('\u2068maria\u2069')
    expect(consent.text).not.toContain('\u202e')
    await clinic.remove()
  })
})

// C27: programs that bring a metadata document, and people of an operator's own OpenID provider, which a second server plays.
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isListedDocument } from './provider.ts'
import { openBrowser } from './testing/browser.fixture.ts'
import { runIssuerCommand } from './testing/command.fixture.ts'
import {
  authorizationUrl,
  CALLBACK,
  type IssuerFixture,
  openIssuer,
  PASSWORD,
  RESOURCE,
  registerClient,
} from './testing/issuer.fixture.ts'
import { startProvider } from './testing/provider.fixture.ts'

const DOCUMENT = 'https://chatgpt.com/oauth/abc/client.json'
const SECRET = 'a-secret-between-two-servers-0123456789'

/** What programs publish, by address; a fetch of anything else is remembered. */
const fetched: string[] = []
const documents: Record<string, object> = {
  [DOCUMENT]: { client_id: DOCUMENT, client_name: 'ChatGPT', redirect_uris: [CALLBACK] },
  'https://chatgpt.com/oauth/liar/client.json': {
    client_id: DOCUMENT,
    redirect_uris: ['https://evil.test/'],
  },
}
const fetchDocument: typeof fetch = async (input) => {
  const url = input instanceof Request ? input.url : input.toString()
  fetched.push(url)
  const found = documents[url]
  return found === undefined ? new Response('', { status: 404 }) : Response.json(found)
}

let clinic: IssuerFixture
let issuer: IssuerFixture
beforeAll(async () => {
  const client = {
    client_id: 'tallystick',
    redirect_uris: ['http://127.0.0.1:3004/upstream/callback'],
    client_secret: SECRET,
  }
  // Ports of native clients on loopback are free, as RFC 8252 has it.
  clinic = await openIssuer({ CLIENTS: JSON.stringify([client]) })
  issuer = await openIssuer(
    {
      REGISTRATION: 'off',
      UPSTREAM_ISSUER: clinic.url,
      UPSTREAM_CLIENT_ID: 'tallystick',
      UPSTREAM_CLIENT_SECRET: SECRET,
      UPSTREAM_GRANTS: JSON.stringify([
        { claim: 'roles', value: 'nurse', scopes: ['care.read.user'] },
        { claim: 'sub', scopes: ['care.write:{value}'] },
      ]),
    },
    { fetch: fetchDocument },
  )
})
afterAll(async () => {
  await issuer.remove()
  await clinic.remove()
})

const discover = (clientId: string) =>
  openid.discovery(new URL(issuer.url), clientId, undefined, openid.None(), {
    execute: [openid.allowInsecureRequests],
  })

/** An authorization request of a program, and what redeems its answer. */
async function request(clientId: string) {
  const config = await discover(clientId)
  const verifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    resource: RESOURCE,
    scope: 'care.read.user care.write',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).href
  const checks = { pkceCodeVerifier: verifier }
  const redeem = (answer: string) =>
    openid.authorizationCodeGrant(config, new URL(answer), checks, { resource: RESOURCE })
  return { url, redeem, config }
}
const who = { name: 'ada', password: PASSWORD, until: CALLBACK }

describe('C27: client metadata documents', () => {
  it('a listed document is the program: no registration, a public client, the host that names it on the page', async () => {
    const { url, redeem } = await request(DOCUMENT)
    const browser = openBrowser()
    const page = await browser.go(url, { until: CALLBACK })
    expect(page.text).toContain('\u2068ChatGPT\u2069 asks to act for you')
    const end = await browser.allow(url, who)
    expect(decodeJwt((await redeem(end.url)).access_token)).toMatchObject({
      aud: RESOURCE,
      client_id: DOCUMENT,
    })
    expect(fetched).toEqual([DOCUMENT])
  })

  it.each([
    'https://evil.test/client.json',
    'https://chatgpt.com.evil.test/oauth/client.json',
    'https://chatgpt.com/client.json',
    'https://chatgpt.com/oauth/../client.json',
    'https://chatgpt.com@evil.test/oauth/client.json',
    'http://chatgpt.com/oauth/client.json',
    'https://169.254.169.254/latest/meta-data/',
  ])('attack: %s is not fetched', async (id) => {
    fetched.length = 0
    const parameters = new URLSearchParams({
      client_id: id,
      redirect_uri: CALLBACK,
      response_type: 'code',
    })
    const page = await openBrowser().go(`${issuer.url}/auth?${parameters.toString()}`, {
      until: CALLBACK,
    })
    expect(page.status).toBe(400)
    expect(page.text).toContain('invalid_client')
    expect(fetched).toEqual([])
  })

  it('attack: a document that says it is another program', async () => {
    const { url } = await request('https://chatgpt.com/oauth/liar/client.json')
    const page = await openBrowser().go(url, { until: CALLBACK })
    expect(page.status).toBe(400)
    expect(page.text).toContain('invalid_client_metadata')
  })

  it('the list: an address, or all below one that ends in a slash', () => {
    const listed = ['https://a.test/x/', 'https://b.test/one']
    const answers = ['https://a.test/x/y', 'https://b.test/one'].map((id) =>
      isListedDocument(listed, id),
    )
    const others = [
      'https://a.test/x/',
      'https://a.test/xy',
      'https://b.test/one/',
      'https://b.test/',
    ]
    expect(answers).toEqual([true, true])
    expect(others.map((id) => isListedDocument(listed, id))).toEqual([false, false, false, false])
  })

  it('REGISTRATION=off: nobody registers', async () => {
    expect((await discover('x')).serverMetadata().registration_endpoint).toBeUndefined()
    const answer = await fetch(`${issuer.url}/reg`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(404)
  })
})

/** From the sign-in page over the clinic’s pages to the consent page here. */
async function throughClinic(url: string, name = 'ada') {
  const browser = openBrowser()
  const page = await browser.go(url, { until: CALLBACK })
  const back = `${issuer.url}/upstream/callback`
  const allowed = await browser.allow(`${page.url}/upstream/begin`, {
    name,
    password: PASSWORD,
    until: back,
  })
  return { browser, page, answer: allowed.url }
}

describe('C27: sign-in at the operator’s own OpenID provider', () => {
  it('its claims give the scopes, its people have names of their own, and no right is invented', async () => {
    const { url, redeem } = await request(DOCUMENT)
    const { browser, answer } = await throughClinic(url)
    const end = await browser.allow(answer, who)
    const first = await redeem(end.url)
    expect(decodeJwt(first.access_token)).toMatchObject({
      sub: 'up:ada',
      scope: 'care.read.user care.write:ada',
    })
    // A renewal needs no visit there.
    const { config } = await request(DOCUMENT)
    const second = await openid.refreshTokenGrant(config, first.refresh_token ?? '', {
      resource: RESOURCE,
    })
    expect(decodeJwt(second.access_token).sub).toBe('up:ada')
  })

  it('attack: an answer of the provider is brought to another browser, twice, or with another state', async () => {
    const { url } = await request(DOCUMENT)
    const { browser, page, answer } = await throughClinic(url)
    const other = await openBrowser().go(answer, { until: CALLBACK })
    expect(other.status).toBe(400)
    const uid = page.url.split('/').at(-1) ?? ''
    const forged = new URLSearchParams({ code: 'x', state: `${uid}.forged`, iss: clinic.url })
    const wrong = await browser.go(`${issuer.url}/upstream/callback?${forged.toString()}`, {
      until: CALLBACK,
    })
    expect(wrong.status).toBe(502)
    // The forged answer used the one try up.
    expect((await browser.go(answer, { until: CALLBACK })).status).toBe(502)
  })

  it('C49: sign-out up:… ends a person’s sign-ins, fails for nobody, and lets the person come back', async () => {
    const { url, redeem, config } = await request(DOCUMENT)
    const { browser, answer } = await throughClinic(url)
    const first = await redeem((await browser.allow(answer, who)).url)
    const file = `--file ${join(issuer.folder, 'issuer.db')}`
    expect((await runIssuerCommand(`sign-out up:ada ${file}`)).code).toBe(0)
    const renewed = openid.refreshTokenGrant(config, first.refresh_token ?? '', {
      resource: RESOURCE,
    })
    await expect(renewed).rejects.toMatchObject({ error: 'invalid_grant' })
    expect((await runIssuerCommand(`sign-out up:ada ${file}`)).code).toBe(1)
    const again = await request(DOCUMENT)
    const back = await throughClinic(again.url)
    const second = await again.redeem((await back.browser.allow(back.answer, who)).url)
    expect(decodeJwt(second.access_token).sub).toBe('up:ada')
  })

  it('C49: “Not you?” goes past the provider’s own session, too', async () => {
    const { url } = await request(DOCUMENT)
    const { browser, answer } = await throughClinic(url)
    const consent = await browser.go(answer, { until: CALLBACK })
    const form = { choice: 'other' }
    const page = await browser.go(`${consent.url}/consent`, { form, until: CALLBACK })
    const there = await browser.go(`${page.url}/upstream/begin`, { until: CALLBACK })
    expect(there.url).toContain(clinic.url)
    expect(there.text).toContain('name="password"')
    const back = `${issuer.url}/upstream/callback`
    const second = { name: 'carer', password: PASSWORD, until: back }
    const end = await browser.allow(there.url, second)
    expect((await browser.go(end.url, { until: CALLBACK })).text).toContain(
      'signed in as \u2068carer\u2069',
    )
  })

  it('the provider is away: the page says so, and its own people still sign in', async () => {
    const lonely = await openIssuer({
      UPSTREAM_ISSUER: 'http://127.0.0.1:9',
      UPSTREAM_CLIENT_ID: 'tallystick',
      CLIENTS: JSON.stringify([{ client_id: 'host', redirect_uris: [CALLBACK] }]),
    })
    const parameters = new URLSearchParams({
      client_id: 'host',
      redirect_uri: CALLBACK,
      response_type: 'code',
      resource: RESOURCE,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const url = `${lonely.url}/auth?${parameters.toString()}`
    const browser = openBrowser()
    const page = await browser.go(url, { until: CALLBACK })
    const away = await browser.go(`${page.url}/upstream/begin`, { until: CALLBACK })
    expect(away.status).toBe(502)
    expect(away.text).toContain('cannot be used at the moment')
    expect((await browser.allow(url, who)).url).toContain('code=')
    await lonely.remove()
  })
})

describe('C50: what the provider says is believed only as far as it proves it', () => {
  let provider: Awaited<ReturnType<typeof startProvider>>
  let server: IssuerFixture
  beforeAll(async () => {
    provider = await startProvider()
    server = await openIssuer({
      UPSTREAM_ISSUER: provider.issuer,
      UPSTREAM_CLIENT_ID: 'tallystick',
      UPSTREAM_GRANTS: JSON.stringify([{ claim: 'iss', scopes: ['care.read.user'] }]),
    })
  })
  afterAll(async () => {
    await server.remove()
    await provider.close()
  })
  const comeBack = async () => {
    const { url } = await authorizationUrl(await registerClient(server.url))
    const browser = openBrowser()
    const page = await browser.go(url, { until: CALLBACK })
    return browser.go(`${page.url}/upstream/begin`, { until: CALLBACK })
  }

  it('its own key signs a person in, and a foreign key nobody', async () => {
    expect((await comeBack()).text).toContain('signed in as')
    const { key, foreign } = provider
    provider.key = foreign
    const page = await comeBack()
    provider.key = key
    expect([page.status, page.text]).toEqual([502, expect.stringContaining('cannot be used')])
  })

  it.each([
    ['no letter', ''],
    ['a line break', 'ada\nroot'],
    ['256 characters', 'x'.repeat(256)],
  ])('a subject of %s is nobody', async (_, sub) => {
    provider.sub = sub
    const page = await comeBack()
    expect([page.status, page.text]).toEqual([502, expect.stringContaining('cannot be used')])
  })
})

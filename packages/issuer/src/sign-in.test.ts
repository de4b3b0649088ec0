// C27: the whole way of a host through this server, by discovery alone, with `openid-client` as the judge.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from './testing/browser.fixture.ts'
import {
  ALL,
  CALLBACK,
  type IssuerFixture,
  openIssuer,
  PASSWORD,
  RESOURCE,
  registerClient,
  signIn,
} from './testing/issuer.fixture.ts'

let issuer: IssuerFixture
let client: openid.Configuration
beforeAll(async () => {
  issuer = await openIssuer()
  client = await registerClient(issuer.url)
})
afterAll(() => issuer.remove())

const readTokens = async (request?: Parameters<typeof signIn>[1]) =>
  (await signIn(client, request)).redeem()

describe('C27: a host signs a person in', () => {
  it('discovery: S256 alone, code alone, iss in answers, no registration of strangers from elsewhere', async () => {
    for (const name of ['openid-configuration', 'oauth-authorization-server']) {
      const answer = await fetch(`${issuer.url}/.well-known/${name}`, {
        headers: { 'x-forwarded-host': 'evil.test' },
      })
      expect(await answer.json()).toMatchObject({
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/auth`,
        token_endpoint: `${issuer.url}/token`,
        code_challenge_methods_supported: ['S256'],
        response_types_supported: ['code'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      })
    }
  })

  it('code, PKCE and resource give an ES256 access token for that resource, which its published keys verify', async () => {
    const tokens = await readTokens()
    const keys = createRemoteJWKSet(new URL(`${issuer.url}/jwks`))
    const { payload, protectedHeader } = await jwtVerify(tokens.access_token, keys, {
      issuer: issuer.url,
      audience: RESOURCE,
      typ: 'at+jwt',
    })
    expect(protectedHeader.alg).toBe('ES256')
    expect(payload).toMatchObject({ sub: 'ada', name: 'ada', scope: 'care.read.user care.write' })
    expect(tokens).toMatchObject({
      token_type: 'bearer',
      expires_in: 3_600,
      scope: payload['scope'],
    })
    expect(tokens.refresh_token).toBeDefined()
  })

  it('the second resource has a token of its own, and a foreign one none', async () => {
    const second = `${RESOURCE}/2026-07-28`
    const { access_token: token } = await readTokens({ resource: second })
    expect(decodeJwt(token).aud).toBe(second)
    const foreign = await signIn(client, { resource: 'https://evil.test/mcp' })
    expect(foreign.answer.searchParams.get('error')).toBe('invalid_target')
  })

  it('nobody gets more than he has: a carer of one patient asks for everything (C24)', async () => {
    const request = { name: 'carer', scope: ALL.join(' ') }
    const tokens = await readTokens(request)
    expect(decodeJwt(tokens.access_token)['scope']).toBe('care.read.user:maria')
    expect(tokens.scope).toBe('care.read.user:maria')
    // Allowed all the same, by a form that the page does not have.
    const { answer } = await signIn(client, { name: 'carer', scope: 'care.write' })
    expect(answer.searchParams.get('error')).toBe('access_denied')
  })

  it('a program that registered for less may ask for more later: its person decides', async () => {
    const config = await registerClient(issuer.url, { scope: 'care.read.user offline_access' })
    const { redeem } = await signIn(config, { scope: 'care.read.user care.write offline_access' })
    expect((await redeem()).scope).toBe('care.read.user care.write')
  })

  it('a request without a scope gets the configured one', async () => {
    expect((await readTokens({ scope: '' })).scope).toBe('care.read.user')
  })

  it('the person says no', async () => {
    const { answer } = await signIn(client, { choice: 'deny' })
    expect(answer.searchParams.get('error')).toBe('access_denied')
    expect(answer.searchParams.get('iss')).toBe(issuer.url)
  })

  it('the consent page names the program as text, and where the browser goes', async () => {
    const config = await registerClient(issuer.url, { client_name: '<script>alert(1)</script>' })
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'care.read.user',
      resource: RESOURCE,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const page = await openBrowser().allow(url.href, {
      name: 'ada',
      password: PASSWORD,
      until: CALLBACK,
      choice: 'stay',
    })
    expect(page.url).toContain('error=access_denied')
    const shown = await openBrowser().go(url.href, { until: CALLBACK })
    expect(shown.text).not.toContain('<script>alert')
    expect(shown.text).toContain('&lt;script&gt;')
    const policy = shown.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("form-action 'self' http://127.0.0.1:9")
    expect(policy).toContain("default-src 'none'")
  })
})

const refresh = (token = '') => openid.refreshTokenGrant(client, token, { resource: RESOURCE })

describe('refresh tokens', () => {
  it('each is used once; the new one goes on', async () => {
    const first = await readTokens()
    const second = await refresh(first.refresh_token)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(decodeJwt(second.access_token)).toMatchObject({ sub: 'ada', aud: RESOURCE })
  })

  it('an answer that was lost is repeated: the same next token, once more', async () => {
    const first = await readTokens()
    const lost = await refresh(first.refresh_token)
    const repeated = await refresh(first.refresh_token)
    expect(repeated.refresh_token).toBe(lost.refresh_token)
    expect((await refresh(repeated.refresh_token)).access_token).toBeDefined()
  })

  it('attack: another program repeats it', async () => {
    const first = await readTokens()
    const second = await refresh(first.refresh_token)
    const other = await registerClient(issuer.url)
    const stolen = openid.refreshTokenGrant(other, first.refresh_token ?? '', {
      resource: RESOURCE,
    })
    await expect(stolen).rejects.toMatchObject({ error: 'invalid_grant' })
    expect((await refresh(second.refresh_token)).access_token).toBeDefined()
  })

  it('attack: a refresh token is used again after the next one was, which ends the whole family', async () => {
    const first = await readTokens()
    const second = await refresh(first.refresh_token)
    const third = await refresh(second.refresh_token)
    await expect(refresh(first.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
    await expect(refresh(third.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('attack: a refresh token is used many times at once: one token comes after it', async () => {
    const first = await readTokens()
    const answers = await Promise.allSettled([1, 2, 3].map(() => refresh(first.refresh_token)))
    const next = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? [answer.value.refresh_token] : [],
    )
    expect(new Set(next).size).toBe(1)
    expect((await refresh(next[0])).access_token).toBeDefined()
  })

  it.each([`${RESOURCE}/`, `${RESOURCE}/2026-07-28`, 'https://evil.test/mcp'])(
    'a refresh for %s is an error and not the end of the sign-in',
    async (resource) => {
      const { refresh_token: token = '' } = await readTokens()
      await expect(openid.refreshTokenGrant(client, token, { resource })).rejects.toMatchObject({
        error: 'invalid_target',
      })
      expect((await refresh(token)).access_token).toBeDefined()
    },
  )

  it('they outlive a restart, and so do the keys', async () => {
    const first = await readTokens()
    await issuer.restart()
    // A connection that the first process closed may still be in the pool.
    const again = () => refresh(first.refresh_token)
    const second = await again().catch((error: Error) =>
      error.name === 'TypeError' ? again() : Promise.reject(error),
    )
    expect(decodeProtectedHeader(second.access_token)).toEqual(
      decodeProtectedHeader(first.access_token),
    )
  })

  it('a right that was taken away is gone from the next token, and with the last right the sign-in ends', async () => {
    await issuer.user('eve', ALL)
    const first = await readTokens({ name: 'eve' })
    issuer.setRights('eve', ['care.read.user'])
    const second = await refresh(first.refresh_token)
    expect(second.scope).toBe('care.read.user')
    issuer.setRights('eve', ['care.read.assistant'])
    await expect(refresh(second.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('a program revokes its token', async () => {
    const first = await readTokens()
    await openid.tokenRevocation(client, first.refresh_token ?? '')
    await expect(refresh(first.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})

describe('attacks', () => {
  it.each([
    ['no challenge', {}],
    ['plain', { code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }],
  ])('PKCE: %s', async (_, parameters) => {
    const url = openid.buildAuthorizationUrl(client, {
      redirect_uri: CALLBACK,
      scope: 'care.read.user',
      resource: RESOURCE,
      ...parameters,
    })
    const end = await openBrowser().go(url.href, { until: CALLBACK })
    expect(new URL(end.url).searchParams.get('error')).toBe('invalid_request')
  })

  it('a code is redeemed with another verifier, and twice', async () => {
    const { answer, redeem } = await signIn(client)
    const state = answer.searchParams.get('state') ?? ''
    const wrong = { pkceCodeVerifier: 'b'.repeat(43), expectedState: state }
    await expect(openid.authorizationCodeGrant(client, answer, wrong)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const first = await redeem()
    await expect(redeem()).rejects.toMatchObject({ error: 'invalid_grant' })
    // The tokens of a code that was stolen end with it.
    await expect(
      openid.refreshTokenGrant(client, first.refresh_token ?? '', { resource: RESOURCE }),
    ).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('a redirect to an address that was not registered', async () => {
    const url = openid.buildAuthorizationUrl(client, {
      redirect_uri: 'https://evil.test/callback',
      scope: 'care.read.user',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const page = await openBrowser().go(url.href, { until: 'https://evil.test' })
    expect(page.status).toBe(400)
    expect(page.text).toContain('invalid_redirect_uri')
    expect(page.text).toContain('This sign-in cannot go on')
  })

  it.each([
    [['https://evil.test/callback']],
    [[CALLBACK, 'https://evil.test/callback']],
    [['http://127.0.0.1.evil.test/']],
    [['cursor://callback']],
  ])('a stranger registers %j', async (redirectUris) => {
    await expect(registerClient(issuer.url, { redirect_uris: redirectUris })).rejects.toMatchObject(
      {
        cause: { error: expect.stringMatching(/invalid_(client_metadata|redirect_uri)/) },
      },
    )
  })

  it('a sign-in is finished in another browser, which lacks its cookie', async () => {
    const url = openid.buildAuthorizationUrl(client, {
      redirect_uri: CALLBACK,
      scope: 'care.read.user',
      resource: RESOURCE,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const page = await openBrowser().go(url.href, { until: CALLBACK })
    const form = { name: 'ada', password: PASSWORD }
    const other = await openBrowser().go(`${page.url}/login`, { form, until: CALLBACK })
    expect(other.status).toBe(400)
    expect(other.text).toContain('began in another browser')
    const foreign = await fetch(`${page.url}/login`, {
      method: 'POST',
      headers: { origin: 'https://evil.test' },
      body: new URLSearchParams(form),
    })
    expect(foreign.status).toBe(403)
  })

  it('passwords are guessed: after five, the right one is refused as well', async () => {
    await issuer.user('mallory', ALL)
    const browser = openBrowser()
    const url = openid.buildAuthorizationUrl(client, {
      redirect_uri: CALLBACK,
      scope: 'care.read.user',
      resource: RESOURCE,
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
    })
    const page = await browser.go(url.href, { until: CALLBACK })
    const guess = (password: string) =>
      browser.go(`${page.url}/login`, { form: { name: 'mallory', password }, until: CALLBACK })
    for (let times = 0; times < 5; times += 1) expect((await guess('wrong')).status).toBe(401)
    expect((await guess(PASSWORD)).status).toBe(429)
  })

  it('another user of the machine looks for keys, tokens and hashes', () => {
    for (const name of ['keys.json', 'issuer.db', 'users.json'])
      expect(statSync(join(issuer.folder, name)).mode & 0o777).toBe(0o600)
  })
})

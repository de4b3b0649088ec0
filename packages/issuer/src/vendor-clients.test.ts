// C41: programs as their makers ship them register themselves and sign a person in: what they send, to the letter.
import { decodeJwt } from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from './testing/browser.fixture.ts'
import { type IssuerFixture, openIssuer, PASSWORD, RESOURCE } from './testing/issuer.fixture.ts'

/** VS Code's registration, as its issue 278512 has it. */
const VS_CODE = {
  client_name: 'Visual Studio Code',
  client_uri: 'https://code.visualstudio.com',
  grant_types: [
    'authorization_code',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:device_code',
  ],
  response_types: ['code'],
  redirect_uris: [
    'https://insiders.vscode.dev/redirect',
    'https://vscode.dev/redirect',
    'http://127.0.0.1/',
    'http://127.0.0.1:33418/',
  ],
  token_endpoint_auth_method: 'none',
  application_type: 'native',
}
/** Cursor's desktop program registers these three at once. */
const CURSOR = {
  client_name: 'Cursor',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ],
  token_endpoint_auth_method: 'none',
}
const NATIVE = { ...CURSOR, redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] }

const servers: Record<string, IssuerFixture> = {}
beforeAll(async () => {
  const CLIENTS = JSON.stringify([
    { client_id: 'host', redirect_uris: ['http://127.0.0.1:33418/'] },
  ])
  for (const REGISTRATION of ['loopback', 'any', 'off'])
    servers[REGISTRATION] = await openIssuer({ REGISTRATION, CLIENTS, TRUST_PROXY_HOPS: '1' })
})
afterAll(async () => {
  for (const server of Object.values(servers)) await server.remove()
})
const at = (registration: string): string => servers[registration]?.url ?? ''

let programs = 0
/** Nobody else's: an address may register twenty an hour. */
const nextAddress = (): string => `198.51.100.${(programs += 1)}`

const register = (metadata: object, registration = 'loopback') =>
  fetch(`${at(registration)}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': nextAddress() },
    body: JSON.stringify(metadata),
  })

describe.each(['loopback', 'any'])('C41: REGISTRATION=%s', (registration) => {
  it.each([
    ['VS Code, its four redirects', VS_CODE],
    ['VS Code, called a web application', { ...VS_CODE, application_type: 'web' }],
    [
      'VS Code, six redirects of earlier releases',
      {
        ...VS_CODE,
        redirect_uris: [...VS_CODE.redirect_uris, 'http://localhost/', 'http://localhost:33418/'],
      },
    ],
    ['Cursor, its three redirects', CURSOR],
    ['Cursor, its own scheme alone', NATIVE],
    [
      'Cursor, as earlier releases were',
      {
        ...CURSOR,
        redirect_uris: ['cursor://anysphere.cursor-retrieval/oauth/user-care/callback'],
      },
    ],
    ['Cursor, its hosted callback alone', { ...CURSOR, redirect_uris: [CURSOR.redirect_uris[1]] }],
  ])('%s: registered', async (_name, metadata) => {
    const answer = await register(metadata, registration)
    const { redirect_uris: uris } = (await answer.json()) as { redirect_uris?: string[] }
    expect([answer.status, uris]).toEqual([201, metadata.redirect_uris])
  })

  it.each([
    ['VS Code, on whatever port it finds', VS_CODE, 'http://127.0.0.1:59656/'],
    ['VS Code in a browser', VS_CODE, 'https://vscode.dev/redirect'],
    ['Cursor', CURSOR, 'cursor://anysphere.cursor-mcp/oauth/callback'],
    ['Cursor in a terminal', CURSOR, 'http://localhost:8787/callback'],
  ])('%s signs a person in', async (_name, metadata, redirect) => {
    const { client_id: id } = (await (await register(metadata, registration)).json()) as {
      client_id: string
    }
    const config = await openid.discovery(new URL(at(registration)), id, undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })
    const verifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirect,
      resource: RESOURCE,
      scope: 'care.read.user offline_access',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const who = { name: 'ada', password: PASSWORD, until: redirect }
    const answer = await openBrowser().allow(url.href, who)
    const tokens = await openid.authorizationCodeGrant(
      config,
      new URL(answer.url),
      { pkceCodeVerifier: verifier },
      { resource: RESOURCE },
    )
    expect(decodeJwt(tokens.access_token)).toMatchObject({ sub: 'ada', aud: RESOURCE })
  })
})

describe('C41, C50: what stays refused, in one line that says why', () => {
  it.each([
    [
      'a web page of a stranger',
      { redirect_uris: ['https://host.example/cb'] },
      'loopback',
      /https:\/\/host\.example.*REGISTRATION/,
    ],
    [
      'VS Code’s with one of a stranger',
      { redirect_uris: [...VS_CODE.redirect_uris, 'https://evil.example/redirect'] },
      'loopback',
      /https:\/\/evil\.example/,
    ],
    [
      'another page of the same host',
      { redirect_uris: ['https://vscode.dev/other'] },
      'loopback',
      /https:\/\/vscode\.dev\/other/,
    ],
    [
      'a name that only begins like it',
      { redirect_uris: ['https://vscode.dev.evil.example/redirect'] },
      'loopback',
      /evil\.example/,
    ],
    [
      'another program’s scheme',
      { redirect_uris: ['com.example.app:/cb'] },
      'loopback',
      /com\.example\.app/,
    ],
    [
      'plain http elsewhere',
      { redirect_uris: ['http://evil.example/cb'] },
      'any',
      /http:\/\/evil\.example\/cb/,
    ],
    ['a scheme of the system', { redirect_uris: ['search-ms:query=x'] }, 'any', /search-ms/],
    [
      'a redirect with a fragment',
      { redirect_uris: ['http://127.0.0.1/#x'] },
      'loopback',
      /fragment/,
    ],
    [
      'an address that it would fetch',
      { ...VS_CODE, jwks_uri: 'https://inner.example/' },
      'loopback',
      /jwks_uri/,
    ],
    ['no redirect', { redirect_uris: [] }, 'loopback', /redirect_uris/],
    ['no list of redirects', { redirect_uris: 'http://127.0.0.1/' }, 'loopback', /redirect_uris/],
    ['a name that hides', { ...VS_CODE, client_name: 'a\u202eb' }, 'loopback', /client_name/],
  ])('%s', async (...[, metadata, registration, why]) => {
    const answer = await register({ token_endpoint_auth_method: 'none', ...metadata }, registration)
    const body = (await answer.json()) as { error: string; error_description: string }
    expect([answer.status, body.error]).toEqual([
      400,
      expect.stringMatching(/^invalid_(client_metadata|redirect_uri)$/),
    ])
    expect(body.error_description).toMatch(why)
    expect(body.error_description).toMatch(/^[^\n\r\u202a-\u202e]{10,400}$/)
  })

  it('where registration is off: that it is, and what to do', async () => {
    const answer = await register(VS_CODE, 'off')
    const body = (await answer.json()) as { error: string; error_description: string }
    expect([answer.status, body.error]).toEqual([404, 'registration_off'])
    expect(body.error_description).toMatch(/REGISTRATION|CLIENTS/)
  })
})

/** What a request is granted, or the error that it ends with. */
const ask = async (scope: string, resource = RESOURCE, redeemedFor = resource) => {
  const config = await openid.discovery(new URL(at('off')), 'host', undefined, openid.None(), {
    execute: [openid.allowInsecureRequests],
  })
  const verifier = openid.randomPKCECodeVerifier()
  const redirect = 'http://127.0.0.1:33418/'
  const challenge = await openid.calculatePKCECodeChallenge(verifier)
  const query = [
    'client_id=host',
    'response_type=code',
    `redirect_uri=${encodeURIComponent(redirect)}`,
    `resource=${encodeURIComponent(resource)}`,
    `code_challenge=${challenge}`,
    'code_challenge_method=S256',
    // As it stands on the wire.
    `scope=${scope}`,
  ].join('&')
  const who = { name: 'ada', password: PASSWORD, until: redirect }
  const answer = new URL((await openBrowser().allow(`${at('off')}/auth?${query}`, who)).url)
  if (answer.searchParams.has('error')) return answer.searchParams.get('error')
  const tokens = await openid.authorizationCodeGrant(
    config,
    answer,
    { pkceCodeVerifier: verifier },
    { resource: redeemedFor },
  )
  const again = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', { resource })
  for (const { access_token: token } of [tokens, again])
    expect(decodeJwt(token).aud).toBe(resource.replace(/\/$/, ''))
  return tokens.scope
}

describe('C41: scopes', () => {
  it.each([
    ['+care.read.user+offline_access', 'care.read.user'],
    ['care.read.user++care.write', 'care.read.user care.write'],
    ['care.read.user+', 'care.read.user'],
    ['%20care.read.user%20%20offline_access%20', 'care.read.user'],
    ['care.read.user%0Acare.write%09offline_access', 'care.read.user care.write'],
    ['openid+profile+email+care.read.user', 'care.read.user'],
    ['care.read.user+mcp:tools+%22quoted%22', 'care.read.user'],
    // Nothing known beside it: what a host gets that asks for no scope.
    ['', 'care.read.user'],
    ['+', 'care.read.user'],
    ['profile+email', 'care.read.user'],
    ['offline_access', 'care.read.user'],
    ['care.read.user+care.read.user', 'care.read.user'],
  ])('scope=%s gives %s', async (scope, granted) => {
    expect(await ask(scope)).toBe(granted)
  })

  it('attack: an unknown scope beside a known one widens nothing, and one that only looks known is unknown', async () => {
    expect(await ask('care.read.user+care.admin+CARE.WRITE+xcare.write')).toBe('care.read.user')
    // Somebody who asks for one person's records is not offered everybody's.
    expect(await ask('care.read.user:maria')).toBe('access_denied')
  })
})

describe('C41: the address of care with a slash behind it', () => {
  it.each([RESOURCE, `${RESOURCE}/2026-07-28`])(
    'resource=%s/ gives tokens for the address without it',
    async (resource) => {
      expect(await ask('care.read.user', `${resource}/`)).toBe('care.read.user')
    },
  )

  it.each([
    [RESOURCE, `${RESOURCE}/`],
    [`${RESOURCE}/`, RESOURCE],
  ])(
    'a sign-in for %s gives no token for %s, and the refusal says why',
    async (resource, redeemedFor) => {
      await expect(ask('care.read.user', resource, redeemedFor)).rejects.toMatchObject({
        error: 'invalid_target',
        error_description: expect.stringContaining('to the letter'),
      })
    },
  )

  it('attack: another address gets nothing', async () => {
    for (const other of ['//', '/x/', '?', '/2026-07-28/x'])
      expect([other, await ask('care.read.user', RESOURCE + other)]).toEqual([
        other,
        'invalid_target',
      ])
  })
})

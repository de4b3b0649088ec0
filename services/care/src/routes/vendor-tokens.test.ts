// C41: access tokens in the shapes that Entra (v1 and v2), Keycloak, Auth0 and Okta document, each as its vendor writes header and
// claims, through the routes; and what a 401 and the metadata ask a host to ask for.
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { initializeBody } from '../mcp/mcp.fixture.ts'
import { type CareFixture, startCareFixture } from '../testing/care.fixture.ts'
import {
  type IssuerFixture,
  type IssuerKey,
  issuerKey,
  startIssuer,
} from '../testing/issuer.fixture.ts'

const API = '6e74172b-be56-4843-9ff4-e66a39bb12e3'
const CLIENT = 'aebc6443-996d-45c2-90f0-388ff96faa56'
const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'

type Vendor = {
  readonly name: string
  /** Besides its address. */
  readonly trust: object
  /** Whether its `iss` ends in a slash. */
  readonly hasSlash?: boolean
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  /** The token’s subject. */
  readonly sub: string
  readonly scopes: readonly string[]
  /** What the metadata says. */
  readonly advertised: readonly string[]
}

const CARE = ['care.read.user', 'care.read.assistant', 'care.write']

const VENDORS: readonly Vendor[] = [
  {
    name: 'Entra v2.0',
    trust: {
      audience: [API],
      scopes: [`api://${API}/care.read.user`, `api://${API}/care.write`, 'offline_access'],
    },
    header: { typ: 'JWT', alg: 'RS256', kid: 'entra' },
    claims: {
      aud: API,
      jti: undefined,
      aio: 'AUQAu/8TAAAAopaque',
      azp: CLIENT,
      azpacr: '0',
      name: 'Ada Nurse',
      oid: '00000000-0000-0000-66f3-3332eca7ea81',
      preferred_username: 'ada@clinic.example',
      rh: '0.opaque',
      scp: 'care.read.user care.write',
      scope: undefined,
      tid: TENANT,
      uti: 'fqiBqXLPj0eQa82S-IYFAA',
      ver: '2.0',
    },
    sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
    scopes: ['care.read.user', 'care.write'],
    advertised: [`api://${API}/care.read.user`, `api://${API}/care.write`, 'offline_access'],
  },
  {
    name: 'Entra v1.0',
    trust: { audience: [`api://${API}`], scope_claim: 'scp' },
    hasSlash: true,
    header: { typ: 'JWT', alg: 'RS256', x5t: 'entra', kid: 'entra' },
    claims: {
      aud: `api://${API}`,
      jti: undefined,
      acr: '1',
      amr: ['pwd', 'mfa'],
      appid: CLIENT,
      appidacr: '0',
      family_name: 'Nurse',
      ipaddr: '203.0.113.4',
      name: 'Ada Nurse',
      oid: '00000000-0000-0000-66f3-3332eca7ea81',
      scp: 'care.read.user',
      scope: undefined,
      tid: TENANT,
      unique_name: 'ada@clinic.example',
      upn: 'ada@clinic.example',
      uti: 'fqiBqXLPj0eQa82S-IYFAA',
      ver: '1.0',
    },
    sub: 'l3_roISQU222bULS9yi2k0XpqpOiMz5H3ZACo1GeXA',
    scopes: ['care.read.user'],
    advertised: CARE,
  },
  {
    name: 'Entra, a program without a person, by app roles',
    trust: {
      audience: [API],
      grants: [{ claim: 'roles', value: 'Care.Read', scopes: ['care.read.user'] }],
    },
    header: { typ: 'JWT', alg: 'RS256', kid: 'entra' },
    claims: {
      aud: API,
      jti: undefined,
      azp: CLIENT,
      azpacr: '1',
      idtyp: 'app',
      oid: CLIENT,
      roles: ['Care.Read'],
      scope: undefined,
      tid: TENANT,
      uti: 'fqiBqXLPj0eQa82S-IYFAA',
      ver: '2.0',
    },
    sub: CLIENT,
    scopes: ['care.read.user'],
    advertised: CARE,
  },
  {
    name: 'Keycloak, with an audience mapper',
    trust: {
      audience: ['care-api'],
      grants: [
        { claim: 'realm_access.roles', value: 'nurse', scopes: ['care.read.user', 'care.write'] },
      ],
    },
    header: { alg: 'RS256', typ: 'JWT', kid: 'entra' },
    claims: {
      jti: 'onrtac:5ff8a6a4-1d3e-4f0b-8f0a-0b9f0e6f9a11',
      aud: ['care-api', 'account'],
      typ: 'Bearer',
      azp: 'mcp-host',
      sid: '7d2c1b6e-5b4d-4f2f-9a39-6a1f30b1a0a2',
      acr: '1',
      'allowed-origins': ['https://host.example'],
      realm_access: { roles: ['offline_access', 'nurse', 'default-roles-care'] },
      resource_access: { account: { roles: ['manage-account'] } },
      // Releases before 24 put it into access tokens, too.
      nonce: 'n-0S6_WzA2Mj',
      scope: 'openid email profile',
      email_verified: false,
      name: 'Ada Nurse',
      preferred_username: 'ada',
    },
    sub: 'f6e2a7c5-2b5c-4b8b-8f0e-6d9d3c2b1a00',
    scopes: ['care.read.user', 'care.write'],
    advertised: CARE,
  },
  {
    name: 'Auth0, with an API of its own',
    trust: { audience: ['https://care.clinic.example/api'] },
    hasSlash: true,
    header: { alg: 'RS256', typ: 'JWT', kid: 'entra' },
    claims: {
      aud: ['https://care.clinic.example/api', 'https://clinic.eu.auth0.com/userinfo'],
      jti: undefined,
      azp: CLIENT,
      scope: 'openid profile care.read.user offline_access',
      permissions: ['care.read.user'],
    },
    sub: 'auth0|507f1f77bcf86cd799439020',
    scopes: ['care.read.user'],
    advertised: CARE,
  },
  {
    name: 'Okta, a custom authorization server',
    trust: { audience: ['api://care'] },
    header: { kid: 'entra', alg: 'RS256', typ: undefined },
    claims: {
      ver: 1,
      jti: 'AT.MNAoEQ_jbKqoinrQo1D0XKjMX28U5d7ZszBceot7-Ts',
      aud: 'api://care',
      cid: '0oa1gjh63g214q0Hq0g4',
      uid: '00u1gichbsF0oBSNr0g4',
      scp: ['openid', 'offline_access', 'care.read.user'],
      scope: undefined,
      auth_time: 1_795_000_000,
    },
    sub: 'ada@clinic.example',
    scopes: ['care.read.user'],
    advertised: CARE,
  },
  {
    name: 'a provider whose tokens hold the whole name of a scope',
    trust: {
      audience: ['care'],
      scopes: [
        'https://care.clinic.example/care.read.user',
        'https://care.clinic.example/care.write',
      ],
    },
    header: { typ: 'at+jwt', alg: 'RS256', kid: 'entra' },
    claims: {
      aud: 'care',
      client_id: CLIENT,
      scope:
        'openid https://care.clinic.example/care.read.user https://care.clinic.example/care.write:maria',
    },
    sub: 'ada',
    scopes: ['care.read.user', 'care.write:maria'],
    advertised: [
      'https://care.clinic.example/care.read.user',
      'https://care.clinic.example/care.write',
    ],
  },
]

const initialize = (url: string, authorization?: string): InjectOptions => ({
  method: 'POST',
  url,
  headers: {
    ...(authorization && { authorization }),
    host: 'care.test',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  payload: initializeBody(),
})

let key: IssuerKey
beforeAll(async () => {
  const made = await issuerKey('RS256', 'entra')
  key = made
})

describe.each(VENDORS)(
  'C41: $name',
  ({ advertised, claims, hasSlash, header, scopes, sub, trust }) => {
    let issuer: IssuerFixture
    let iss: string
    let care: CareFixture
    beforeAll(async () => {
      issuer = await startIssuer([key])
      iss = hasSlash === true ? `${issuer.issuer}/` : issuer.issuer
      issuer.discovery = { issuer: iss }
      care = await startCareFixture({
        environment: {
          TRUSTED_ISSUERS: JSON.stringify([{ issuer: iss, ...trust }]),
          AUTHORIZATION_SERVERS: '[]',
        },
      })
    })
    afterAll(async () => {
      await care.close()
      await issuer.close()
    })
    const token = (changes: object = {}) =>
      issuer.token(care.clock.unixMs(), { header, claims: { iss, sub, ...claims, ...changes } })
    const principal = (text: string) => care.get('/principal', { authorization: `Bearer ${text}` })
    it('its access token is accepted, with its scopes and nobody else’s', async () => {
      const answer = await principal(await token())
      expect(answer.json()).toMatchObject({ sub: `${iss}|${sub}`, scopes })
      const opened = await care.app.inject(initialize('/mcp', `Bearer ${await token()}`))
      expect(opened.statusCode).toBe(200)
    })

    it('one for another audience is not, nor an ID or refresh token for this one', async () => {
      const refusals = [
        [{ aud: '00000003-0000-0000-c000-000000000000' }, 'wrong_audience'],
        [{ aud: [] }, 'wrong_audience'],
        [{ aud: undefined }, 'wrong_audience'],
        [{ at_hash: 'fPlsvVszI29LU2UhDyJ9vg' }, 'malformed'],
        [{ c_hash: 'fPlsvVszI29LU2UhDyJ9vg' }, 'malformed'],
        [{ typ: 'ID' }, 'malformed'],
        [{ typ: 'Refresh' }, 'malformed'],
        [{ scp: undefined, scope: undefined, typ: undefined, nonce: 'n' }, 'malformed'],
      ] as const
      for (const [changes, failure] of refusals) {
        const answer = await principal(await token(changes))
        expect([changes, answer.statusCode, answer.json().error_description]).toEqual([
          changes,
          401,
          failure,
        ])
      }
    })

    it('the metadata advertises its scopes, and a 401 asks for them', async () => {
      for (const path of ['', '/mcp', '/mcp/']) {
        const metadata = await care.get(`/.well-known/oauth-protected-resource${path}`)
        expect(metadata.json()).toMatchObject({
          resource: 'https://care.test/mcp',
          authorization_servers: [iss],
          scopes_supported: advertised,
        })
      }
      const refused = await care.app.inject(initialize('/mcp', 'Bearer x'))
      expect(refused.headers['www-authenticate']).toContain(`scope="${advertised.join(' ')}"`)
      const modern = await care.get('/.well-known/oauth-protected-resource/mcp/2026-07-28')
      const reads = advertised.filter((scope) => !scope.endsWith('care.write'))
      expect(modern.json()).toMatchObject({ scopes_supported: reads })
      const requested = await care.app.inject(initialize('/mcp/2026-07-28'))
      expect(requested.headers['www-authenticate']).toContain(`scope="${reads.join(' ')}"`)
    })
  },
)

describe('C41: a claim that is there and empty says nothing beside another', () => {
  let issuer: IssuerFixture
  let care: CareFixture
  beforeAll(async () => {
    issuer = await startIssuer([key])
    care = await startCareFixture({
      environment: {
        TRUSTED_ISSUERS: JSON.stringify([{ issuer: issuer.issuer, audience: ['api://care'] }]),
        AUTHORIZATION_SERVERS: '[]',
      },
    })
  })
  afterAll(async () => {
    await care.close()
    await issuer.close()
  })
  it.each([
    ['Entra’s text', { scope: '', scp: 'care.read.user' }, 200],
    ['Okta’s list', { scope: '', scp: ['openid', 'care.read.user'] }, 200],
    ['spaces alone', { scope: '  ', scp: ['care.read.user'] }, 200],
    ['an empty list', { scope: [], scp: 'care.read.user' }, 200],
    ['null', { scope: null, scp: 'care.read.user' }, 200],
    ['the other way', { scope: 'care.read.user', scp: '' }, 200],
    ['Keycloak’s with a nonce', { scope: '', scp: ['care.read.user'], nonce: 'n' }, 200],
    ['both empty', { scope: '', scp: '' }, 401],
    ['none of ours first', { scope: 'openid', scp: 'care.write' }, 401],
  ])('%s', async (_name, claims, status) => {
    const token = await issuer.token(care.clock.unixMs(), {
      claims: { aud: 'api://care', ...claims },
    })
    const answer = await care.get('/principal', { authorization: `Bearer ${token}` })
    expect(answer.statusCode).toBe(status)
  })
})

describe('C41: several issuers', () => {
  let first: IssuerFixture
  let second: IssuerFixture
  let care: CareFixture
  beforeAll(async () => {
    first = await startIssuer([key])
    second = await startIssuer([key])
    const trusted = [
      { issuer: first.issuer, audience: ['one'], scopes: ['api://one/care.read.user'] },
      { issuer: second.issuer, audience: ['two'] },
    ]
    care = await startCareFixture({
      environment: { TRUSTED_ISSUERS: JSON.stringify(trusted), AUTHORIZATION_SERVERS: '[]' },
    })
  })
  afterAll(async () => {
    await care.close()
    await first.close()
    await second.close()
  })
  const status = async (by: IssuerFixture, claims: object, url = '/principal') =>
    (
      await care.get(url, {
        authorization: `Bearer ${await by.token(care.clock.unixMs(), { claims: { ...claims } })}`,
      })
    ).statusCode

  it('attack: one’s audience and names of scopes are nothing in the token of another', async () => {
    expect(await status(first, { aud: 'one' })).toBe(200)
    expect(await status(first, { aud: 'two' })).toBe(401)
    expect(await status(second, { aud: 'one' })).toBe(401)
    expect(await status(second, { aud: 'two', scope: 'api://one/care.read.user' })).toBe(401)
    expect(await status(first, { aud: 'one', scope: 'api://one/care.read.user' })).toBe(200)
    expect(await status(first, { aud: 'one', scope: 'api://two/care.read.user' })).toBe(401)
  })

  it('the MCP address stays an audience of each', async () => {
    expect(await status(first, {})).toBe(200)
    expect(await status(second, { aud: ['account', 'https://care.test/mcp'] })).toBe(200)
  })

  it('the metadata advertises what any of them may be asked for, each once', async () => {
    const metadata = await care.get('/.well-known/oauth-protected-resource')
    expect(metadata.json().scopes_supported).toEqual(['api://one/care.read.user', ...CARE])
  })
})

describe('C41: the configuration', () => {
  it.each([
    ['an audience that is no list', { audience: 'care' }],
    ['an empty list', { audience: [] }],
    ['an empty audience', { audience: [''] }],
    ['scopes of which none is ours', { scopes: ['openid', 'api://x/read'] }],
    ['a scope with a space', { scopes: ['care.read.user openid'] }],
    ['no scopes', { scopes: [] }],
  ])('%s is refused at the start', async (_name, trust) => {
    const environment = {
      TRUSTED_ISSUERS: JSON.stringify([{ issuer: 'https://a.test', ...trust }]),
    }
    await expect(startCareFixture({ environment })).rejects.toThrow('TRUSTED_ISSUERS')
  })
})

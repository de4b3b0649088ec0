// C23 over real keys and a real issuer on loopback: what of its tokens is believed, what an attacker tries, and what happens
// while it is away.
import { createHmac } from 'node:crypto'
import { createTokenKeys, createTokenVerifier, mintToken } from '@tallystick/jwt-lite'
import { manualClock } from '@tallystick/service-kit'
import { exportSPKI, importJWK } from 'jose'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { trustedIssuers } from '../domain/trusted-issuer.ts'
import type { TokenCheck } from '../routes/bearer.ts'
import {
  ISSUER_AUDIENCE as AUDIENCE,
  type IssuerFixture,
  type IssuerKey,
  issuerKey,
  startIssuer,
} from '../testing/issuer.fixture.ts'
import type { IssuerUnavailable } from './issuer-keys.ts'
import { createTrustedIssuers } from './trusted-issuers.ts'

const START_MS = Date.UTC(2026, 10, 21, 12)
const MINUTE_MS = 60_000
const SECRET = Buffer.from('token-secret-for-tests-0123456789abcdef')

const keys: Record<string, IssuerKey> = {}
const keyOf = (name: string): IssuerKey => {
  const key = keys[name]
  if (key === undefined) throw new Error(name)
  return key
}
beforeAll(async () => {
  for (const alg of ['RS256', 'ES256', 'EdDSA', 'ES384']) keys[alg] = await issuerKey(alg, alg)
  keys['next'] = await issuerKey('ES256', 'next')
})

let issuer: IssuerFixture
let clock: ReturnType<typeof manualClock>
let problems: IssuerUnavailable[]
let revoked: Set<string>
let check: TokenCheck
const opened: IssuerFixture[] = []

async function open(names: readonly string[] = ['ES256']): Promise<IssuerFixture> {
  const one = await startIssuer(names.map(keyOf))
  opened.push(one)
  return one
}

const trust = (entries: readonly object[], audience = AUDIENCE): TokenCheck => {
  const withIssuers = createTrustedIssuers({
    issuers: trustedIssuers.parse(entries),
    clock,
    isRevoked: (jti) => revoked.has(jti),
    onProblem: (error) => problems.push(error),
  })
  const ring = createTokenVerifier({ keys: createTokenKeys([SECRET]), audience, clock })
  return withIssuers(ring, audience)
}

beforeEach(async () => {
  clock = manualClock(START_MS)
  problems = []
  revoked = new Set()
  issuer = await open()
  check = trust([{ issuer: issuer.issuer }])
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

type Changes = NonNullable<Parameters<IssuerFixture['token']>[1]>
const token = (changes?: Changes): Promise<string> => issuer.token(clock.unixMs(), changes)
const claimed = async (claims: Changes['claims']) => check.verify(await token({ claims }))
const headed = async (header: Changes['header']) => check.verify(await token({ header }))
const refused = (failure: string) => ({ kind: 'invalid', failure })

/** A token of arbitrary parts; its signature is what is given. */
const forged = (header: object, claims: object, sign: (input: string) => string): string => {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${input}.${sign(input)}`
}
const goodClaims = () => ({
  iss: issuer.issuer,
  sub: 'ada',
  aud: AUDIENCE,
  iat: START_MS / 1_000,
  exp: START_MS / 1_000 + 600,
  scope: 'care.read.user',
})

describe('C23: tokens of a trusted issuer', () => {
  it.each(['RS256', 'ES256', 'EdDSA'])('%s is accepted by the keys of discovery', async (alg) => {
    issuer = await open([alg])
    check = trust([{ issuer: issuer.issuer }])
    expect(await check.verify(await token())).toEqual({
      kind: 'valid',
      claims: expect.objectContaining({
        sub: `${issuer.issuer}|ada`,
        scopes: ['care.read.user'],
        expiresAtSeconds: START_MS / 1_000 + 600,
        jti: `${issuer.issuer}|one`,
      }),
    })
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/jwks'])
  })

  it('a token that was verified once is judged at once after that, without a promise', async () => {
    const text = await token()
    await check.verify(text)
    expect(check.verify(text)).toMatchObject({ kind: 'valid' })
    clock.advanceMs(600_000)
    expect(await check.verify(text)).toEqual(refused('expired'))
  })

  it('HS256 tokens are judged at once by the ring, which no issuer can slow down or replace', () => {
    const minted = mintToken({
      sub: 'ada',
      scope: 'care.read.user',
      audience: AUDIENCE,
      typ: 'care+jwt',
      key: SECRET,
      nowSeconds: START_MS / 1_000,
      jti: 'one',
    })
    expect(check.verify(minted)).toMatchObject({
      kind: 'valid',
      claims: { sub: 'ada', jti: 'one' },
    })
    expect(issuer.asked).toEqual([])
  })

  it('without an issuer every other alg is bad_alg, at once', async () => {
    expect(trust([]).verify(await token())).toEqual(refused('bad_alg'))
    expect(issuer.asked).toEqual([])
  })

  it('a keys address of its own needs no discovery', async () => {
    check = trust([{ issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/jwks` }])
    expect(await check.verify(await token())).toMatchObject({ kind: 'valid' })
    expect(issuer.asked).toEqual(['/jwks'])
  })

  it.each([
    ['expired', { exp: START_MS / 1_000 }],
    ['expired', { exp: undefined }],
    ['expired', { exp: '9999999999' }],
    ['not_yet_valid', { nbf: START_MS / 1_000 + 6 }],
    ['not_yet_valid', { iat: START_MS / 1_000 + 6 }],
    ['malformed', { iat: undefined }],
    ['wrong_audience', { aud: 'https://care.test/mcp/' }],
    ['wrong_audience', { aud: ['https://other.test'] }],
    ['wrong_audience', { aud: undefined }],
    ['no_scopes', { scope: 'openid profile' }],
    ['no_scopes', { scope: 'care.read.users care.read.user:a/b' }],
    ['no_scopes', { sub: '' }],
    ['no_scopes', { sub: 7 }],
  ])('%s: %j', async (failure, claims) => {
    expect(await claimed(claims)).toEqual(refused(failure))
  })

  it('aud may be a list that holds the audience, and clocks may differ by five seconds', async () => {
    const later = START_MS / 1_000 + 5
    for (const claims of [{ aud: ['https://other.test', AUDIENCE] }, { iat: later, nbf: later }])
      expect(await claimed(claims)).toMatchObject({ kind: 'valid' })
  })

  it('one token of an issuer is revoked by iss|jti, and no other issuer’s with that jti', async () => {
    const text = await token()
    revoked.add('one')
    expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
    revoked.add(`${issuer.issuer}|one`)
    expect(check.verify(text)).toEqual(refused('revoked'))
  })

  it('a list of scopes is read where the issuer keeps it', async () => {
    check = trust([{ issuer: issuer.issuer, scope_claim: 'scp' }])
    const claims = { scope: undefined, scp: ['care.write:maria', 'care.write x', 'openid', 3] }
    expect(await claimed(claims)).toMatchObject({ claims: { scopes: ['care.write:maria'] } })
  })
})

describe('C23: grants turn roles and groups into scopes, patients included (C24)', () => {
  const grants = [
    { claim: 'realm_access.roles', value: 'nurse', scopes: ['care.read.user', 'care.write'] },
    { claim: 'patients', scopes: ['care.read.user:{value}'] },
  ]
  it.each([
    [{ realm_access: { roles: ['nurse'] }, scope: 'openid' }, ['care.read.user', 'care.write']],
    [{ realm_access: { roles: ['nurse'] }, scope: 'care.read.user' }, ['care.read.user']],
    [{ patients: ['ann lee'], scope: 'care.read.user care.write' }, ['care.read.user:ann%20lee']],
  ])('%j has %j', async (claims, scopes) => {
    check = trust([{ issuer: issuer.issuer, grants }])
    expect(await claimed(claims)).toMatchObject({ claims: { scopes } })
  })

  it('attack: a client asks for more than its user may, and a value that is no name grants nothing', async () => {
    check = trust([{ issuer: issuer.issuer, grants }])
    for (const claims of [
      { scope: 'care.write care.read.assistant' },
      { patients: ['maria'], scope: 'care.write' },
      { patients: ['a/b', ''], scope: 'openid' },
    ])
      expect(await claimed(claims)).toEqual(refused('no_scopes'))
  })
})

describe('attacks', () => {
  it('alg none, with and without a signature', () => {
    for (const alg of ['none', 'None', 'NONE', ''])
      for (const signature of ['', 'AAAA'])
        expect(check.verify(forged({ alg, typ: 'JWT' }, goodClaims(), () => signature))).toEqual(
          refused('bad_alg'),
        )
  })

  it('algorithm confusion: an HMAC under the issuer’s public key', async () => {
    issuer = await open(['RS256'])
    check = trust([{ issuer: issuer.issuer }])
    const { jwk } = keyOf('RS256')
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as CryptoKey)
    for (const key of [pem, pem.trim(), JSON.stringify(jwk), jwk.n ?? ''])
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        const hash = `sha${alg.slice(2)}`
        const header = { alg, kid: 'RS256', typ: 'JWT' }
        const text = forged(header, goodClaims(), (input) =>
          createHmac(hash, key).update(input).digest('base64url'),
        )
        const failure = alg === 'HS256' ? 'bad_signature' : 'bad_alg'
        expect(check.verify(text)).toEqual(refused(failure))
      }
    expect(issuer.asked).toEqual([])
  })

  it('a symmetric key in the issuer’s own key set', async () => {
    issuer.keys = [
      { ...keyOf('ES256'), jwk: { kty: 'oct', k: SECRET.toString('base64url'), kid: 'x' } },
    ]
    expect(await headed({ kid: 'x' })).toEqual(refused('bad_signature'))
  })

  it('an algorithm that is not configured for the issuer, or for nobody', async () => {
    check = trust([{ issuer: issuer.issuer, algorithms: ['RS256'] }])
    expect(check.verify(await token())).toEqual(refused('bad_alg'))
    expect(check.verify(await token({ key: keyOf('ES384') }))).toEqual(refused('bad_alg'))
    expect(issuer.asked).toEqual([])
  })

  it('a key of one issuer signs for another', async () => {
    const other = await open(['next'])
    check = trust([{ issuer: issuer.issuer }, { issuer: other.issuer }])
    const text = await token({ key: keyOf('next') })
    expect(await check.verify(text)).toEqual(refused('bad_signature'))
    // Even under a key id that both have.
    const named = await token({ key: { ...keyOf('next'), kid: 'ES256' } })
    expect(await check.verify(named)).toEqual(refused('bad_signature'))
  })

  it.each(['', '/', '#', '?', '.evil.test'])(
    'an iss that is nearly the issuer’s: %j',
    async (end) => {
      const iss = end === '' ? undefined : `${issuer.issuer}${end}`
      expect(await claimed({ iss })).toEqual(refused(end === '' ? 'malformed' : 'bad_signature'))
      expect(issuer.asked).toEqual([])
    },
  )

  it('a key in the token’s own header', async () => {
    const key = keyOf('next')
    for (const header of [
      { jwk: key.jwk },
      { jku: `${issuer.issuer}/jwks`, x5u: 'https://evil.test', x5c: ['AAAA'] },
      { jwk: key.jwk, kid: undefined },
    ])
      expect(await check.verify(await token({ header, key }))).toEqual(refused('bad_signature'))
  })

  it('another kind of token of the same issuer: its typ is not an access token’s', async () => {
    for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'care+jwt', ''])
      expect(await headed({ typ })).toEqual(refused('malformed'))
    for (const typ of ['JWT', 'application/at+jwt', undefined])
      expect(await headed({ typ })).toMatchObject({ kind: 'valid' })
    check = trust([{ issuer: issuer.issuer, typ: 'at+jwt' }])
    for (const typ of ['JWT', undefined])
      expect(await headed({ typ })).toEqual(refused('malformed'))
  })

  it('a token that lists the audience but comes from the HS256 ring', () => {
    const ring = createTokenKeys([SECRET])
    const claims = { ...goodClaims(), aud: [AUDIENCE] }
    const text = forged({ alg: 'HS256', typ: 'care+jwt' }, claims, (input) => ring.sign(input))
    expect(check.verify(text)).toEqual(refused('wrong_audience'))
  })

  it('one byte of the claims changed', async () => {
    const [header = '', claims = '', signature = ''] = (await token()).split('.')
    const raised = Buffer.from(claims, 'base64url')
      .toString()
      .replace('care.read.user', 'care.write')
    const changed = Buffer.from(raised).toString('base64url')
    expect(await check.verify(`${header}.${changed}.${signature}`)).toEqual(
      refused('bad_signature'),
    )
  })

  it('a signature that was kept for one audience is not for another', async () => {
    const withIssuers = createTrustedIssuers({
      issuers: trustedIssuers.parse([{ issuer: issuer.issuer }]),
      clock,
      onProblem: () => undefined,
    })
    const second = `${AUDIENCE}/2026-07-28`
    const [here, there] = [AUDIENCE, second].map((audience) =>
      withIssuers(
        createTokenVerifier({ keys: createTokenKeys([SECRET]), audience, clock }),
        audience,
      ),
    )
    const text = await token()
    expect(await here?.verify(text)).toMatchObject({ kind: 'valid' })
    expect(await there?.verify(text)).toEqual(refused('wrong_audience'))
  })

  it('issuers and subjects that spell the same principal are refused at the start', () => {
    for (const issuers of [
      [{ issuer: 'https://a.test/x|b' }],
      [{ issuer: 'https://a.test' }, { issuer: 'https://a.test' }],
      [{ issuer: 'http://a.test' }],
      [{ issuer: 'https://a.test', jwks_uri: 'http://a.test/jwks' }],
      [{ issuer: 'https://a.test', algorithms: ['HS256'] }],
      [{ issuer: 'https://a.test', grants: [{ claim: 'x', scopes: ['admin'] }] }],
      [{ issuer: 'https://a.test', algorithm: ['RS256'] }],
    ])
      expect(trustedIssuers.safeParse(issuers).success).toBe(false)
  })
})

const kid = (name: string) => token({ key: keyOf(name) })

describe('C23: keys change, and issuers go away', () => {
  it('a new key is found by one fetch, and strangers’ key ids cause no more than two a minute', async () => {
    await check.verify(await token())
    issuer.keys = [keyOf('ES256'), keyOf('next')]
    clock.advanceMs(30_000)
    issuer.asked.length = 0
    expect(await check.verify(await kid('next'))).toMatchObject({ kind: 'valid' })
    expect(issuer.asked).toHaveLength(2)
    for (let index = 0; index < 60; index += 1) {
      clock.advanceMs(1_000)
      expect(await headed({ kid: `x${index}` })).toEqual(refused('bad_signature'))
    }
    expect(issuer.asked).toHaveLength(2 + 2 * 2)
  })

  it('a key that was withdrawn holds for ten minutes at most, also for tokens that were verified', async () => {
    const text = await token({ claims: { exp: START_MS / 1_000 + 7_200 } })
    await check.verify(text)
    issuer.keys = [keyOf('next')]
    clock.advanceMs(10 * MINUTE_MS - 1)
    expect(check.verify(text)).toMatchObject({ kind: 'valid' })
    clock.advanceMs(1)
    expect(await check.verify(text)).toEqual(refused('bad_signature'))
  })

  it('stale keys serve for an hour of outage, and then the answer is that the issuer is away', async () => {
    const text = await token({ claims: { exp: START_MS / 1_000 + 7_200 } })
    await check.verify(text)
    issuer.fault = 500
    clock.advanceMs(60 * MINUTE_MS - 1)
    expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
    clock.advanceMs(1)
    await expect(check.verify(text)).rejects.toMatchObject({ name: 'IssuerUnavailable' })
    issuer.fault = undefined
    clock.advanceMs(MINUTE_MS)
    expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
  })

  it('an unknown key id during an outage is the outage, not a bad token', async () => {
    await check.verify(await token())
    clock.advanceMs(30_000)
    issuer.fault = 503
    await expect(check.verify(await kid('next'))).rejects.toMatchObject({
      name: 'IssuerUnavailable',
    })
    // What is known goes on.
    expect(await check.verify(await token())).toMatchObject({ kind: 'valid' })
  })

  it('backs off: in the first minute of an outage, six fetches', async () => {
    issuer.fault = 500
    for (let second = 0; second < 60; second += 1) {
      await expect(check.verify(await token())).rejects.toMatchObject({ name: 'IssuerUnavailable' })
      clock.advanceMs(1_000)
    }
    // At 0, 1, 3, 7, 15 and 31 seconds.
    expect(problems).toHaveLength(6)
  })

  it('all who wait share one fetch', async () => {
    const texts = await Promise.all([1, 2, 3].map((jti) => token({ claims: { jti: `${jti}` } })))
    await Promise.all(texts.map(async (text) => check.verify(text)))
    expect(issuer.asked).toHaveLength(2)
  })

  it.each([
    ['a redirect', () => (issuer.fault = 302)],
    ['no JSON', () => (issuer.fault = '<html>')],
    ['no keys', () => (issuer.fault = '{"issuer":1}')],
    ['too much', () => (issuer.fault = `"${'x'.repeat(600_000)}"`)],
    ['another issuer’s document', () => (issuer.discovery = { issuer: 'https://evil.test' })],
    [
      'keys over plain http elsewhere',
      () => (issuer.discovery = { jwks_uri: 'http://192.0.2.1/' }),
    ],
  ])('an answer that is %s is no key', async (_, spoil) => {
    spoil()
    await expect(check.verify(await token())).rejects.toMatchObject({ name: 'IssuerUnavailable' })
    expect(problems).toHaveLength(1)
  })
})

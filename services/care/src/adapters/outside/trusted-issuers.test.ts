// C23 over real keys and a real issuer on loopback: what of its tokens is believed, and what an attacker tries. Keys that change
// and issuers that are away are issuer-keys.test.ts.
import { createHmac } from 'node:crypto'
import { createTokenKeys, createTokenVerifier, mintToken } from '@tallystick/jwt-lite'
import { exportSPKI, importJWK } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { trustedIssuers } from '../../domain/trusted-issuer.ts'
import type { TokenCheck } from '../../routes/bearer.ts'
import { ISSUER_AUDIENCE as AUDIENCE, type IssuerFixture } from '../../testing/issuer.fixture.ts'
import { findKey, SECRET, START_MS, useTrustedIssuers } from './trusted-issuers.fixture.ts'
import { createTrustedIssuers } from './trusted-issuers.ts'

const on = useTrustedIssuers()
let issuer: IssuerFixture
let check: TokenCheck
beforeEach(async () => {
  issuer = await on.open()
  check = on.trust([{ issuer: issuer.issuer }])
})

type Changes = NonNullable<Parameters<IssuerFixture['token']>[1]>
const token = (changes?: Changes): Promise<string> => issuer.token(on.clock.unixMs(), changes)
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
    issuer = await on.open([alg])
    check = on.trust([{ issuer: issuer.issuer }])
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
    on.clock.advanceMs(600_000)
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
    expect(on.trust([]).verify(await token())).toEqual(refused('bad_alg'))
    expect(issuer.asked).toEqual([])
  })

  it('a keys address of its own needs no discovery', async () => {
    check = on.trust([{ issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/jwks` }])
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
    on.revoked.add('one')
    expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
    on.revoked.add(`${issuer.issuer}|one`)
    expect(check.verify(text)).toEqual(refused('revoked'))
  })

  it('a list of scopes is read where the issuer keeps it', async () => {
    check = on.trust([{ issuer: issuer.issuer, scope_claim: 'scp' }])
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
    check = on.trust([{ issuer: issuer.issuer, grants }])
    expect(await claimed(claims)).toMatchObject({ claims: { scopes } })
  })

  it('attack: a client asks for more than its user may, and a value that is no name grants nothing', async () => {
    check = on.trust([{ issuer: issuer.issuer, grants }])
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
    issuer = await on.open(['RS256'])
    check = on.trust([{ issuer: issuer.issuer }])
    const { jwk } = findKey('RS256')
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
      { ...findKey('ES256'), jwk: { kty: 'oct', k: SECRET.toString('base64url'), kid: 'x' } },
    ]
    expect(await headed({ kid: 'x' })).toEqual(refused('bad_signature'))
  })

  it('an algorithm that is not configured for the issuer, or for nobody', async () => {
    check = on.trust([{ issuer: issuer.issuer, algorithms: ['RS256'] }])
    expect(check.verify(await token())).toEqual(refused('bad_alg'))
    expect(check.verify(await token({ key: findKey('ES384') }))).toEqual(refused('bad_alg'))
    expect(issuer.asked).toEqual([])
  })

  it('a key of one issuer signs for another', async () => {
    const other = await on.open(['next'])
    check = on.trust([{ issuer: issuer.issuer }, { issuer: other.issuer }])
    const text = await token({ key: findKey('next') })
    expect(await check.verify(text)).toEqual(refused('bad_signature'))
    // Even under a key id that both have.
    const named = await token({ key: { ...findKey('next'), kid: 'ES256' } })
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
    const key = findKey('next')
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
    check = on.trust([{ issuer: issuer.issuer, typ: 'at+jwt' }])
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

  it.each(['=', '==', ' ', '.'])(
    'another spelling of a good token: %j after it (C23)',
    async (end) => {
      const text = await token()
      expect(await check.verify(`${text}${end}`)).toMatchObject({ kind: 'invalid' })
      expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
    },
  )

  it('another spelling of a good token: a bit that its signature does not use (C23)', async () => {
    const text = await token()
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const other = last[last.indexOf(text.at(-1) ?? '') + 1] ?? ''
    expect(await check.verify(`${text.slice(0, -1)}${other}`)).toEqual(refused('bad_signature'))
  })

  it('a signature that was kept for one audience is not for another', async () => {
    const withIssuers = createTrustedIssuers({
      issuers: trustedIssuers.parse([{ issuer: issuer.issuer }]),
      clock: on.clock,
      onProblem: () => undefined,
    })
    const second = `${AUDIENCE}/2026-07-28`
    const [here, there] = [AUDIENCE, second].map((audience) =>
      withIssuers(
        createTokenVerifier({ keys: createTokenKeys([SECRET]), audience, clock: on.clock }),
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

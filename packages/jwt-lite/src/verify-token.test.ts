import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/tokens.json' with { type: 'json' }
import { mintToken } from './mint-token.ts'
import { createTokenKeys } from './token-keys.ts'
import { type IsRevoked, verifyToken } from './verify-token.ts'

const secret = Buffer.from('correct horse battery staple, thirty-two')
const keys = createTokenKeys([secret])
const audience = 'http://localhost:3002/mcp'
const nowSeconds = 1_800_000_000
const request = {
  sub: 'nurse-ada',
  scope: 'care.read.user care.write',
  audience,
  typ: 'care+jwt',
  key: secret,
  nowSeconds,
  jti: '5b0c0c0e',
} as const
const expected = { keys, audience, nowSeconds }
const token = mintToken(request)

/** A token with arbitrary header and claims, signed by the trusted secret. */
const signed = (header: unknown, claims: unknown): string => {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${input}.${keys.sign(input)}`
}

const base64url = (text: string) => Buffer.from(text, 'latin1').toString('base64url')
const signedText = (headerText: string, claimsText: string) => {
  const input = `${headerText}.${claimsText}`
  return `${input}.${keys.sign(input)}`
}

const at = (seconds: number) => verifyToken(token, { ...expected, nowSeconds: seconds }).kind

const isRevoked: IsRevoked = ({ jti }) => jti === 'lost'

/** The verdict on a signed token whose `exp` is that text. */
const verdictOfExpiry = (exp: string) => {
  const claims = `{"sub":"a","scope":"s","aud":${JSON.stringify(audience)},"exp":${exp}}`
  return verifyToken(signedText(base64url('{"alg":"HS256"}'), base64url(claims)), expected)
}

const padded = (length: number) => mintToken({ ...request, jti: 'x'.repeat(length) })

const makeLifetime = (text: string) => {
  const [, claims = ''] = text.split('.')
  const { iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  return exp - iat
}

describe('Authentication 3: verification order and failure names', () => {
  const trusted = createTokenKeys(vectors.secrets.map((text) => Buffer.from(text, 'base64url')))
  test.each(vectors.tokens)('golden vector: $title gives $verdict', ({ token: text, verdict }) => {
    const found = verifyToken(text, { ...vectors, keys: trusted })
    expect(found.kind === 'valid' ? 'valid' : found.failure).toBe(verdict)
  })

  test('each failure hides those after it', () => {
    const flaws = [
      ['no_scopes', { scope: '' }],
      ['wrong_audience', { aud: 'elsewhere' }],
      ['revoked', { jti: 'lost' }],
      ['not_yet_valid', { nbf: nowSeconds + 1 }],
      ['expired', { exp: nowSeconds }],
    ] as const
    let claims: Record<string, unknown> = {
      sub: 'a',
      scope: 's',
      aud: audience,
      exp: nowSeconds + 1,
    }
    expect(verifyToken(signed({ alg: 'HS256' }, claims), expected).kind).toBe('valid')
    for (const [failure, flaw] of flaws) {
      claims = { ...claims, ...flaw }
      const found = verifyToken(signed({ alg: 'HS256' }, claims), { ...expected, isRevoked })
      expect(found).toEqual({ kind: 'invalid', failure })
    }
    const badSignature = signed({ alg: 'HS256' }, claims).slice(0, -1)
    expect(verifyToken(badSignature, expected)).toMatchObject({ failure: 'bad_signature' })
    const badAlg = signed({ alg: 'none' }, claims).slice(0, -1)
    expect(verifyToken(badAlg, expected)).toMatchObject({ failure: 'bad_alg' })
    expect(verifyToken(`${badAlg}.`, expected)).toMatchObject({ failure: 'malformed' })
  })

  test('a valid token gives its claims', () => {
    expect(verifyToken(token, expected)).toEqual({
      kind: 'valid',
      claims: {
        sub: 'nurse-ada',
        scopes: ['care.read.user', 'care.write'],
        expiresAtSeconds: nowSeconds + 3600,
        issuedAtSeconds: nowSeconds,
        jti: '5b0c0c0e',
      },
    })
  })

  test('exp is any number, with a fraction or however large; nothing else is one', () => {
    expect(verdictOfExpiry(`${nowSeconds}.5`)).toMatchObject({
      claims: { expiresAtSeconds: nowSeconds + 0.5 },
    })
    for (const late of ['9007199254740993', '1e300'])
      expect(verdictOfExpiry(late)).toMatchObject({
        claims: { expiresAtSeconds: 8_640_000_000_000 },
      })
    for (const no of [`"${nowSeconds + 9}"`, 'null', '[]', `${nowSeconds - 0.5}`, '1e999'])
      expect(verdictOfExpiry(no)).toMatchObject({ failure: 'expired' })
  })

  test('attack: a token is used before its nbf', () => {
    const readVerdict = (nbf: unknown) => {
      const claims = { sub: 'a', scope: 's', aud: audience, exp: nowSeconds + 9, nbf }
      return verifyToken(signed({ alg: 'HS256' }, claims), expected)
    }
    expect(readVerdict(nowSeconds)).toMatchObject({ claims: { notBeforeSeconds: nowSeconds } })
    for (const no of [nowSeconds + 0.001, nowSeconds + 60, '0', null, {}])
      expect(readVerdict(no)).toEqual({ kind: 'invalid', failure: 'not_yet_valid' })
  })

  test('exp must be in the future: valid until just before it, expired at it', () => {
    expect(at(nowSeconds + 3599.999)).toBe('valid')
    expect(at(nowSeconds + 3600)).toBe('invalid')
  })

  test('typ is not checked', () => {
    const other = mintToken({ ...request, typ: 'grading+jwt' })
    expect(verifyToken(other, expected).kind).toBe('valid')
  })

  test('a token without iat and jti is valid, and a repeated scope counts once', () => {
    const claims = { sub: 'a', scope: ' s t  s ', aud: audience, exp: nowSeconds + 1 }
    expect(verifyToken(signed({ alg: 'HS256' }, claims), expected)).toEqual({
      kind: 'valid',
      claims: { sub: 'a', scopes: ['s', 't'], expiresAtSeconds: nowSeconds + 1 },
    })
  })

  test('every secret of the ring is trusted, and none outside it', () => {
    const other = createTokenKeys([Buffer.from('a secret that signed the older tokens')])
    expect(verifyToken(token, { ...expected, keys: other })).toMatchObject({
      failure: 'bad_signature',
    })
    const ring = createTokenKeys([Buffer.from('a secret that signed the older tokens'), secret])
    expect(verifyToken(token, { ...expected, keys: ring }).kind).toBe('valid')
    const newer = mintToken({ ...request, key: ring })
    expect(verifyToken(newer, expected)).toMatchObject({ failure: 'bad_signature' })
    expect(verifyToken(newer, { ...expected, keys: other }).kind).toBe('valid')
  })

  test('a token over the size limit is malformed however well it is signed', () => {
    const fitting = Math.floor(((8_192 - token.length) * 3) / 4)
    expect(verifyToken(padded(fitting), expected).kind).toBe('valid')
    expect(verifyToken(padded(fitting + 12), expected)).toMatchObject({ failure: 'malformed' })
  })

  const claims = JSON.stringify({ sub: 'a', scope: 's', aud: audience, exp: nowSeconds + 1 })
  const header = '{"alg":"HS256"}'
  test.each([
    ['padding in the header', `${base64url(header)}=`, base64url(claims)],
    ['padding in the claims', base64url(header), `${base64url(claims)}=`],
    ['a foreign character in the header', ` ${base64url(header)}`, base64url(claims)],
    [
      'an equivalent last character',
      base64url('{"alg":"HS256"} ').replace(/A$/, 'B'),
      base64url(claims),
    ],
    ['a byte order mark', base64url(`\u00ef\u00bb\u00bf${header}`), base64url(claims)],
    ['bytes that are not UTF-8', base64url(header), base64url(claims.replace('"a"', '"\u00ff"'))],
  ])('even a correctly signed token is malformed with %s', (_, headerText, claimsText) => {
    expect(verifyToken(signedText(base64url(header), base64url(claims)), expected).kind).toBe(
      'valid',
    )
    expect(verifyToken(signedText(headerText, claimsText), expected)).toEqual({
      kind: 'invalid',
      failure: 'malformed',
    })
  })
})

describe('a token cannot be changed', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ é'

  test('every single-character change of a valid token fails', () => {
    for (let index = 0; index < token.length; index += 1)
      for (const character of alphabet) {
        const altered = token.slice(0, index) + character + token.slice(index + 1)
        const kind = verifyToken(altered, expected).kind
        expect(kind).toBe(altered === token ? 'valid' : 'invalid')
      }
  })

  test('every removal or insertion of a character fails', () => {
    for (let index = 0; index <= token.length; index += 1) {
      const rest = token.slice(index)
      const shorter = token.slice(0, index) + rest.slice(1)
      expect(verifyToken(shorter, expected).kind).toBe(rest === '' ? 'valid' : 'invalid')
      for (const character of 'A=. \n')
        expect(verifyToken(token.slice(0, index) + character + rest, expected).kind).toBe('invalid')
    }
  })

  test('a segment of one token in another fails', () => {
    const other = mintToken({ ...request, sub: 'mallory', jti: 'other', typ: 'JWT' })
    const parts = token.split('.')
    for (const [index, part] of other.split('.').entries())
      expect(verifyToken(parts.with(index, part).join('.'), expected).kind).toBe('invalid')
  })

  test('random texts never throw and never verify', () => {
    const segment = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.base64String().map((text) => text.replaceAll('=', '')),
      fc.json().map((text) => Buffer.from(text).toString('base64url')),
      fc.constant(Buffer.from('{"alg":"HS256"}').toString('base64url')),
    )
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), (segments) => {
        expect(verifyToken(segments.join('.'), expected).kind).toBe('invalid')
      }),
      { numRuns: 2000 },
    )
  })

  test('random signed claims never throw, and verify only if they are as the document requires', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constant(audience),
      fc.constant('care.write'),
      fc.constant(nowSeconds + 10),
    )
    const member = fc.option(value, { nil: undefined })
    const anyClaims = fc.record({ sub: member, scope: member, aud: member, exp: member })
    fc.assert(
      fc.property(anyClaims, (claims) => {
        const { sub, scope, aud, exp } = claims
        const isGood =
          typeof exp === 'number' &&
          Number.isFinite(exp) &&
          exp > nowSeconds &&
          aud === audience &&
          typeof scope === 'string' &&
          scope.replaceAll(' ', '') !== '' &&
          typeof sub === 'string' &&
          sub !== ''
        const verdict = verifyToken(signed({ alg: 'HS256' }, claims), expected)
        expect(verdict.kind).toBe(isGood ? 'valid' : 'invalid')
      }),
      { numRuns: 2000 },
    )
  })
})

describe('mintToken', () => {
  test('golden vector: byte for byte', () => {
    const { minted } = vectors
    const [text = ''] = vectors.secrets
    const again = mintToken({
      ...minted,
      audience: vectors.audience,
      key: Buffer.from(text, 'base64url'),
      nowSeconds: minted.iat,
    })
    expect(again).toBe(minted.token)
  })

  test('Limits: a token lives 3,600 seconds by default', () => {
    expect(makeLifetime(token)).toBe(3600)
    expect(makeLifetime(mintToken({ ...request, lifetimeSeconds: 60 }))).toBe(60)
  })

  test('whatever is minted verifies, if its sub and scope are valid', () => {
    const text = fc.string({ minLength: 1, unit: anyCharacter, maxLength: 40 })
    fc.assert(
      fc.property(text, text, text, (sub, jti, url) => {
        const minted = mintToken({ ...request, sub, jti, audience: url })
        expect(verifyToken(minted, { ...expected, audience: url })).toMatchObject({
          kind: 'valid',
          claims: { sub },
        })
      }),
    )
  })

  test('times are whole seconds, and a fractional lifetime is refused', () => {
    expect(mintToken({ ...request, nowSeconds: nowSeconds + 0.9 })).toBe(token)
    expect(() => mintToken({ ...request, lifetimeSeconds: 1.5 })).toThrow(RangeError)
    expect(() => mintToken({ ...request, key: Buffer.from('short') })).toThrow(RangeError)
  })
})

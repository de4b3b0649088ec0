import { describe, expect, it } from 'vitest'
import { isBearer, presentedToken } from './bearer-token.ts'
import { Secret } from './secret.ts'

describe('an Authorization header', () => {
  it.each([
    [undefined, { kind: 'none' }],
    ['', { kind: 'other' }],
    ['Basic YTpi', { kind: 'other' }],
    ['Bearertoken', { kind: 'other' }],
    ['Bearer', { kind: 'bearer', token: '' }],
    ['Bearer ', { kind: 'bearer', token: '' }],
    ['Bearer token', { kind: 'bearer', token: 'token' }],
    ['bEARER  token', { kind: 'bearer', token: 'token' }],
    ['Bearer two words', { kind: 'bearer', token: 'two words' }],
  ] as const)('%j is read as %j', (header, read) => {
    expect(presentedToken(header)).toEqual(read)
  })

  it('carries the token only if every character matches', () => {
    const token = new Secret('a-token')
    expect(isBearer('Bearer a-token', token)).toBe(true)
    expect(isBearer('bearer a-token', token)).toBe(true)
    for (const other of [
      undefined,
      'a-token',
      'Basic a-token',
      'Bearer a-toke',
      'Bearer a-token ',
      'Bearer',
    ])
      expect(isBearer(other, token), other).toBe(false)
  })
})

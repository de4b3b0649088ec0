import { describe, expect, test } from 'vitest'
import { createSessionKeys, deriveSessionKey } from './session-keys.ts'

const agent = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const expiresAtSeconds = 1_795_435_800
const nowSeconds = expiresAtSeconds - 1
const keys = createSessionKeys(new Uint8Array(32))
const token = keys.makeToken(agent, expiresAtSeconds)
const issuedAt = '2026-11-22T12:00:00.000Z'

describe('golden vectors: a key of 32 zero bytes', () => {
  test('token', () => {
    expect(token).toBe(`v1.${agent}.1795435800.7U59rwNDCKSOdGRGMTM-bgPs_awev6zl2hAVXwuPeRs`)
  })

  test('nonce', () => {
    expect(keys.makeNonce(agent, issuedAt)).toBe('12890f7062346d9686c7d3f23bbcea78')
  })
})

test('A17: a nonce is known again by any process with the key, for its agent and time alone', () => {
  const nonce = keys.makeNonce(agent, issuedAt)
  const replica = createSessionKeys(new Uint8Array(32))
  const other = `0x${'ab'.repeat(20)}` as const
  expect(replica.isNonce({ agent, issuedAt, nonce })).toBe(true)
  expect(keys.isNonce({ agent: other, issuedAt, nonce })).toBe(false)
  expect(keys.isNonce({ agent, issuedAt: '2026-11-22T12:00:00.001Z', nonce })).toBe(false)
  expect(keys.isNonce({ agent, issuedAt, nonce: nonce.slice(1) })).toBe(false)
  expect(keys.isNonce({ agent, issuedAt, nonce: 'é'.repeat(32) })).toBe(false)
})

describe('A17: a token', () => {
  test('is valid until its second, then expired', () => {
    expect(keys.judgeToken({ agent, token, nowSeconds })).toBe('valid')
    expect(keys.judgeToken({ agent, token, nowSeconds: expiresAtSeconds })).toBe('expired')
  })

  test('of another agent is invalid, also with its own name changed', () => {
    const other = `0x${'ab'.repeat(20)}` as const
    expect(keys.judgeToken({ agent: other, token, nowSeconds })).toBe('invalid')
    const renamed = token.replace(agent, other)
    expect(keys.judgeToken({ agent: other, token: renamed, nowSeconds })).toBe('invalid')
  })

  test('of another deployment is invalid, whoever shares the secret', () => {
    const secret = new Uint8Array(32)
    const own = createSessionKeys(deriveSessionKey(secret, 'https://access.example'))
    const theirs = createSessionKeys(deriveSessionKey(secret, 'https://other.example'))
    const foreign = theirs.makeToken(agent, expiresAtSeconds)
    expect(theirs.judgeToken({ agent, token: foreign, nowSeconds })).toBe('valid')
    expect(own.judgeToken({ agent, token: foreign, nowSeconds })).toBe('invalid')
  })

  test.each([
    ['a later end', token.replace('1795435800', '1795435801')],
    ['an end with a leading zero', token.replace('.1795435800', '.01795435800')],
    ['an end as a fraction', token.replace('1795435800', '1795435800.0')],
    ['another version', token.replace('v1', 'v2')],
    ['one character of its HMAC changed', `${token.slice(0, -1)}t`],
    ['no HMAC', token.slice(0, -43)],
    ['more after it', `${token}a`],
    ['nothing', ''],
    ['a bomb', 'v1.'.repeat(5_000)],
  ])('with %s is invalid', (_what, changed) => {
    expect(keys.judgeToken({ agent, token: changed, nowSeconds })).toBe('invalid')
  })
})

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mintToken } from './mint-token.ts'
import { createTokenKeys, type TokenKeys } from './token-keys.ts'
import { createTokenVerifier, verifyToken } from './verify-token.ts'

const secret = Buffer.from('correct horse battery staple, thirty-two')
const audience = 'http://localhost:3002/mcp'
const startSeconds = 1_800_000_000

/** A clock that stays where it is set. */
const settableClock = () => {
  let nowMs = startSeconds * 1000
  return { unixMs: () => nowMs, setMs: (ms: number) => (nowMs = ms) }
}

/** A ring that counts how often it is used. */
const countingKeys = () => {
  const keys = createTokenKeys([secret])
  const calls = { count: 0 }
  const counting: TokenKeys = {
    ...keys,
    matches: (key) => {
      calls.count += 1
      return keys.matches(key)
    },
  }
  return { keys: counting, calls }
}

const makeToken = (jti: string, lifetimeSeconds = 60): string =>
  mintToken({
    sub: 'a',
    scope: 's',
    audience,
    typ: 'care+jwt',
    key: secret,
    nowSeconds: startSeconds,
    jti,
    lifetimeSeconds,
  })

describe('the cache of verified tokens', () => {
  test('a token is verified once and remembered', () => {
    const { keys, calls } = countingKeys()
    const verifier = createTokenVerifier({ keys, audience, clock: settableClock() })
    const [first, second] = [verifier.verify(makeToken('1')), verifier.verify(makeToken('1'))]
    expect(first).toMatchObject({ kind: 'valid', claims: { sub: 'a' } })
    expect(second).toEqual(first)
    expect(calls.count).toBe(1)
  })

  test('a remembered token never outlives its exp', () => {
    const clock = settableClock()
    const { keys, calls } = countingKeys()
    const verifier = createTokenVerifier({ keys, audience, clock })
    verifier.verify(makeToken('1'))
    clock.setMs((startSeconds + 60) * 1000 - 1)
    expect(verifier.verify(makeToken('1')).kind).toBe('valid')
    clock.setMs((startSeconds + 60) * 1000)
    expect(verifier.verify(makeToken('1'))).toEqual({ kind: 'invalid', failure: 'expired' })
    expect(calls.count).toBe(1)
    // Forgotten too, so the next check verifies it again.
    expect(verifier.verify(makeToken('1'))).toEqual({ kind: 'invalid', failure: 'expired' })
    expect(calls.count).toBe(2)
  })

  test('it is bounded: the least recently used token is forgotten first', () => {
    const { keys, calls } = countingKeys()
    const clock = settableClock()
    const verifier = createTokenVerifier({ keys, audience, clock, cacheSize: 3 })
    for (const jti of ['1', '2', '3', '1', '4']) verifier.verify(makeToken(jti))
    expect(calls.count).toBe(4)
    for (const jti of ['1', '3', '4']) verifier.verify(makeToken(jti))
    expect(calls.count).toBe(4)
    verifier.verify(makeToken('2'))
    expect(calls.count).toBe(5)
  })

  test('attack: a revoked token is presented again; other tokens of the same principal hold', () => {
    const revoked = new Set<string>()
    const verifier = createTokenVerifier({
      keys: createTokenKeys([secret]),
      audience,
      clock: settableClock(),
      isRevoked: ({ jti }) => jti !== undefined && revoked.has(jti),
    })
    expect(verifier.verify(makeToken('1')).kind).toBe('valid')
    revoked.add('1')
    for (let times = 0; times < 2; times += 1)
      expect(verifier.verify(makeToken('1'))).toEqual({ kind: 'invalid', failure: 'revoked' })
    expect(verifier.verify(makeToken('2')).kind).toBe('valid')
  })

  test('refused tokens are not remembered', () => {
    const { keys, calls } = countingKeys()
    const verifier = createTokenVerifier({ keys, audience, clock: settableClock() })
    for (const text of [`${makeToken('1')}x`, makeToken('1', -1)]) {
      expect(verifier.verify(text).kind).toBe('invalid')
      const before = calls.count
      expect(verifier.verify(text).kind).toBe('invalid')
      expect(calls.count).toBe(before + 1)
    }
  })

  test('it remembers 4,096 tokens by default', () => {
    const { keys, calls } = countingKeys()
    const verifier = createTokenVerifier({ keys, audience, clock: settableClock() })
    const count = 4_097
    for (let index = 0; index < count; index += 1) verifier.verify(makeToken(String(index)))
    verifier.verify(makeToken('1'))
    expect(calls.count).toBe(count)
    verifier.verify(makeToken('0'))
    expect(calls.count).toBe(count + 1)
  })

  test('it answers as verifyToken does, whatever arrives in whatever order, even if the clock jumps both ways', () => {
    const tokens = [...['1', '2', '3', '4'].map((jti) => makeToken(jti, Number(jti) * 10)), 'a.b.c']
    const step = fc.record({
      place: fc.nat({ max: 4 }),
      offsetMs: fc.integer({ min: -9e4, max: 9e4 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const clock = settableClock()
        const keys = createTokenKeys([secret])
        const verifier = createTokenVerifier({ keys, audience, clock, cacheSize: 2 })
        for (const { place, offsetMs } of steps) {
          clock.setMs(startSeconds * 1000 + offsetMs)
          const token = tokens[place] ?? ''
          const nowSeconds = clock.unixMs() / 1000
          expect(verifier.verify(token)).toEqual(verifyToken(token, { keys, audience, nowSeconds }))
        }
      }),
    )
  })
})

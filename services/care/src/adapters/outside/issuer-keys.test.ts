// C23 over real keys and a real issuer on loopback: what happens when its keys change, and while it is away.
import { beforeEach, describe, expect, it } from 'vitest'
import type { TokenCheck } from '../../routes/bearer.ts'
import type { IssuerFixture, IssuerKey } from '../../testing/issuer.fixture.ts'
import { findKey, START_MS, useTrustedIssuers } from './trusted-issuers.fixture.ts'

const MINUTE_MS = 60_000

const on = useTrustedIssuers()
let issuer: IssuerFixture
let check: TokenCheck
beforeEach(async () => {
  issuer = await on.open()
  check = on.trust([{ issuer: issuer.issuer }])
})

type Changes = NonNullable<Parameters<IssuerFixture['token']>[1]>
const token = (changes?: Changes): Promise<string> => issuer.token(on.clock.unixMs(), changes)
const headed = async (header: Changes['header']) => check.verify(await token({ header }))
const refused = (failure: string) => ({ kind: 'invalid', failure })
const nameless = (name: string): IssuerKey => {
  const { jwk, ...key } = findKey(name)
  const { kid: _, ...rest } = jwk
  return { ...key, jwk: rest }
}
const signed = async (name: string) =>
  check.verify(await token({ key: nameless(name), header: { kid: undefined } }))
const kid = (name: string) => token({ key: findKey(name) })

describe('C23: keys change, and issuers go away', () => {
  it('a new key is found by one fetch, and strangers’ key ids cause no more than two a minute', async () => {
    await check.verify(await token())
    issuer.keys = [findKey('ES256'), findKey('next')]
    on.clock.advanceMs(30_000)
    issuer.asked.length = 0
    expect(await check.verify(await kid('next'))).toMatchObject({ kind: 'valid' })
    expect(issuer.asked).toHaveLength(2)
    for (let index = 0; index < 60; index += 1) {
      on.clock.advanceMs(1_000)
      expect(await headed({ kid: `x${index}` })).toEqual(refused('bad_signature'))
    }
    expect(issuer.asked).toHaveLength(2 + 2 * 2)
  })

  it('strangers’ key ids cause no more fetches where several processes serve', async () => {
    on.processes = 2
    await check.verify(await token())
    issuer.asked.length = 0
    for (let index = 0; index < 120; index += 1) {
      on.clock.advanceMs(1_000)
      expect(await headed({ kid: `x${index}` })).toEqual(refused('bad_signature'))
    }
    // Half of four.
    expect(issuer.asked).toHaveLength(2 * 2)
  })

  describe('keys without a kid (C23)', () => {
    it('one that was replaced is found by one fetch, and strangers cause no more than two a minute', async () => {
      issuer.keys = [nameless('ES256')]
      expect(await signed('ES256')).toMatchObject({ kind: 'valid' })
      issuer.keys = [nameless('next')]
      on.clock.advanceMs(30_000)
      issuer.asked.length = 0
      expect(await signed('next')).toMatchObject({ kind: 'valid' })
      for (let second = 0; second < 60; second += 1) {
        on.clock.advanceMs(1_000)
        expect(await signed('ES256')).toEqual(refused('bad_signature'))
      }
      expect(issuer.asked).toHaveLength(2 + 2 * 2)
    })

    it('each of several is tried', async () => {
      issuer.keys = [nameless('ES256'), nameless('next')]
      expect(await signed('ES256')).toMatchObject({ kind: 'valid' })
      expect(await signed('next')).toMatchObject({ kind: 'valid' })
    })
  })

  it('a key that was withdrawn holds for ten minutes at most, also for tokens that were verified', async () => {
    const text = await token({ claims: { exp: START_MS / 1_000 + 7_200 } })
    await check.verify(text)
    issuer.keys = [findKey('next')]
    on.clock.advanceMs(10 * MINUTE_MS - 1)
    expect(check.verify(text)).toMatchObject({ kind: 'valid' })
    on.clock.advanceMs(1)
    expect(await check.verify(text)).toEqual(refused('bad_signature'))
  })

  it('stale keys serve for an hour of outage, and then the answer is that the issuer is away', async () => {
    const text = await token({ claims: { exp: START_MS / 1_000 + 7_200 } })
    await check.verify(text)
    issuer.fault = 500
    on.clock.advanceMs(60 * MINUTE_MS - 1)
    expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
    on.clock.advanceMs(1)
    await expect(check.verify(text)).rejects.toMatchObject({ name: 'IssuerUnavailable' })
    issuer.fault = undefined
    on.clock.advanceMs(MINUTE_MS)
    expect(await check.verify(text)).toMatchObject({ kind: 'valid' })
  })

  it('an unknown key id during an outage is the outage, not a bad token', async () => {
    await check.verify(await token())
    on.clock.advanceMs(30_000)
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
      on.clock.advanceMs(1_000)
    }
    // At 0, 1, 3, 7, 15 and 31 seconds.
    expect(on.problems).toHaveLength(6)
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
    expect(on.problems).toHaveLength(1)
  })
})

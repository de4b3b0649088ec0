// C51: `care revoke` refuses what it names at once, and fails when that is nothing.
import { mintToken } from '@tallystick/jwt-lite'
import { systemClock } from '@tallystick/service-kit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { withSideRows } from '../adapters/open-stores.ts'
import { readRevocations } from '../adapters/rows/revoked-tokens.ts'
import { RESOURCE, testConfig, testEnvironment } from '../testing/care.fixture.ts'
import { type IssuerFixture, issuerKey, startIssuer } from '../testing/issuer.fixture.ts'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { readStoreConfig } from '../testing/store-place.fixture.ts'
import { runCare } from './run-care.ts'

const SCOPE = 'care.read.user'

let issuer: IssuerFixture
let care: RunningCare
let trusted: string
beforeAll(async () => {
  issuer = await startIssuer([await issuerKey('ES256', 'one')])
  trusted = JSON.stringify([{ issuer: issuer.issuer }])
})
afterAll(() => issuer.close())
afterEach(() => care.remove())

const start = async (TRUSTED_ISSUERS = '[]') => {
  care = await startRunningCare({ environment: { TRUSTED_ISSUERS } })
  const run = async (line: readonly string[], typed = '') => {
    const printed: string[] = []
    const print = (text: string): void => void printed.push(text)
    async function* stdin() {
      yield Buffer.from(typed)
    }
    const code = await runCare({
      arguments: ['revoke', ...line, '--by', 'it', '--reason', 'lost'],
      environment: { ...testEnvironment, TRUSTED_ISSUERS, ...care.place.environment },
      clock: systemClock,
      stdin: stdin(),
      print,
      printError: print,
    })
    return { code, text: printed.join('\n') }
  }
  return run
}
const readStatus = async (token: string): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${care.url}/principal`, { headers })).status
}
const refused = async (token: string) => {
  await expect.poll(() => readStatus(token)).toBe(401)
}
const rows = () => withSideRows(readStoreConfig(care.place), readRevocations)

describe('a token', () => {
  it('is revoked by itself, from standard input, so that no process list shows it', async () => {
    const revoke = await start()
    const [lost, other] = [care.token(SCOPE), care.token(SCOPE)]
    expect(await readStatus(lost)).toBe(200)
    expect((await revoke(['-'], `${lost}\n`)).code).toBe(0)
    await refused(lost)
    expect(await readStatus(other)).toBe(200)
  })

  it('of an issuer is revoked by itself, and by ISSUER|JTI', async () => {
    const revoke = await start(trusted)
    const issueToken = (jti: string) =>
      issuer.token(systemClock.unixMs(), { claims: { jti, scope: SCOPE } })
    const [first, second] = await Promise.all([issueToken('first'), issueToken('second')])
    expect((await revoke([first])).code).toBe(0)
    expect((await revoke([`${issuer.issuer}|second`])).code).toBe(0)
    await refused(first)
    await refused(second)
  })

  it('that no key has signed, that has ended, or that has no jti fails, and is not repeated', async () => {
    const revoke = await start(trusted)
    const minted = {
      sub: 'ada',
      scope: SCOPE,
      audience: RESOURCE,
      typ: 'care+jwt',
      key: testConfig().TOKEN_SECRET,
      nowSeconds: systemClock.unixMs() / 1_000,
      jti: 'x',
    }
    const foreign = mintToken({ ...minted, key: Buffer.alloc(32, 1) })
    const ended = mintToken({ ...minted, nowSeconds: 1_000 })
    const nameless = await issuer.token(systemClock.unixMs(), { claims: { jti: undefined } })
    for (const [token, words] of [
      [foreign, 'bad_signature'],
      [ended, 'expired'],
      [nameless, '--sub'],
    ] as const) {
      const { code, text } = await revoke([token])
      expect([code, text]).toEqual([1, expect.stringContaining(words)])
      expect(text).not.toContain(token)
    }
    expect(await rows()).toEqual([])
  })
})

describe('C51: a name that matches nothing', () => {
  it('a bare JTI, where issuers are trusted, and an issuer that is not fail; --unseen insists', async () => {
    const revoke = await start(trusted)
    const token = await issuer.token(systemClock.unixMs(), { claims: { scope: SCOPE } })
    const bare = await revoke(['one'])
    expect([bare.code, bare.text]).toEqual([1, expect.stringContaining('ISSUER|JTI')])
    const foreign = await revoke(['https://other.test|one'])
    expect([foreign.code, foreign.text]).toEqual([1, expect.stringContaining(issuer.issuer)])
    expect(await rows()).toEqual([])
    expect(await readStatus(token)).toBe(200)
    expect((await revoke(['one', '--unseen'])).code).toBe(0)
    expect(await rows()).toHaveLength(1)
  })

  it('without issuers a bare JTI is one of TOKEN_SECRET', async () => {
    const revoke = await start()
    const token = care.token(SCOPE, { jti: 'a-known-one' })
    expect((await revoke(['a-known-one'])).code).toBe(0)
    await refused(token)
  })

  it('a sub that was never here fails; --unseen insists', async () => {
    const revoke = await start()
    const token = care.token(SCOPE, { sub: 'never-here' })
    const unseen = await revoke(['--sub', 'never-here'])
    expect([unseen.code, unseen.text]).toEqual([1, expect.stringContaining('--unseen')])
    expect(unseen.text).toContain('A token may exist all the same.')
    expect(await readStatus(token)).toBe(200)
    expect((await revoke(['--sub', 'never-here', '--unseen'])).code).toBe(0)
    await refused(token)
  })
})

describe('a sub', () => {
  it('all its tokens until now are refused, its stream ends, and a newer token is good', async () => {
    const revoke = await start()
    const [first, second] = [1, 2].map(() => care.token(SCOPE, { sub: 'ada' }))
    const other = care.token(SCOPE, { sub: 'bob' })
    const host = await openHost({ url: care.url, token: () => first ?? '' }, '')
    // Known once its session is stored, which is behind its answer.
    await expect.poll(async () => (await revoke(['--sub', 'ada'])).code).toBe(0)
    await refused(first ?? '')
    await refused(second ?? '')
    // Resolves once the stream has ended.
    await host.close()
    expect(await readStatus(other)).toBe(200)
    const newer = mintToken({
      sub: 'ada',
      scope: SCOPE,
      audience: RESOURCE,
      typ: 'care+jwt',
      key: testConfig().TOKEN_SECRET,
      nowSeconds: systemClock.unixMs() / 1_000 + 2,
      jti: 'newer',
    })
    expect(await readStatus(newer)).toBe(200)
    expect((await revoke(['--sub', 'ada'])).code).toBe(0)
  })

  it('ends its event subscriptions, and no one’s else', async () => {
    const revoke = await start()
    const place = readStoreConfig(care.place)
    const subscribe = (sub: string, jti: string) =>
      withSideRows(place, (tables) =>
        tables.transaction((query) =>
          query(
            `INSERT INTO event_subscriptions
              (id, refresh, sub, scopes, jti, patient, receiver, done_to, expires_ms, is_active)
              VALUES ($1, '', $2, '[]', $3, 'ann', '', 0, 0, 0)`,
            [jti, sub, jti],
          ),
        ),
      )
    await subscribe('ada', 'of-ada')
    await subscribe('bob', 'of-bob')
    expect((await revoke(['--sub', 'ada'])).code).toBe(0)
    const named = (await rows()).map(({ jti }) => jti)
    expect(named).toContain('of-ada')
    expect(named).not.toContain('of-bob')
  })
})

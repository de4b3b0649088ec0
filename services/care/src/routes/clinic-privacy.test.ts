// What a clinic keeps to itself: names on /verify, single tokens that were lost, pages of strangers, and who read what.
import { afterEach, describe, expect, it } from 'vitest'
import { withSideRows } from '../adapters/open-stores.ts'
import { readReadRows } from '../adapters/rows/read-trail.ts'
import { addRevocation, readRevocations } from '../adapters/rows/revoked-tokens.ts'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { readStoreConfig } from '../testing/store-place.fixture.ts'

const tea = { patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' }
const plan = { ...tea, domain: 'plan', audience: 'assistant', value: 'Only for assistants.' }
const BOTH = 'care.read.user care.read.assistant'

let care: RunningCare
afterEach(() => care.remove())

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${care.url}${path}`, { headers })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const fromOrigin = async (origin: string | undefined): Promise<number> => {
  const headers = { ...bearer(care.token('care.read.user')), ...(origin && { origin }) }
  return (await fetch(`${care.url}/mcp`, { method: 'POST', headers, body: '{}' })).status
}

describe('C33: VERIFY_NAMES=private', () => {
  it('attack: somebody without a token looks for names of patients', async () => {
    care = await startRunningCare({ environment: { VERIFY_NAMES: 'private' } })
    await care.write(tea)
    for (const path of ['/verify', '/verify?uri=care://ann/tea', '/verify?uri=care://bob/tea']) {
      const answer = await get(path)
      expect(answer.status).toBe(401)
      expect(await answer.text()).not.toMatch(/ann|tea/)
    }
    const shown = await get('/verify', bearer(care.token('care.read.user')))
    expect(await shown.json()).toMatchObject({ chains: [{ uri: 'care://ann/tea' }] })
    // The signed head names nobody.
    expect((await get('/verify/checkpoint')).status).toBe(200)
  })

  it.each(['openid', 'openid profile', 'care.read', 'care.read.user:%E0%A4%A', 'care.read.user:'])(
    'attack: a token that has no right here looks for names: %s',
    async (scope) => {
      care = await startRunningCare({ environment: { VERIFY_NAMES: 'private' } })
      await care.write(tea)
      for (const path of ['/verify', '/verify?uri=care://ann/tea', '/verify?uri=care://bob/tea']) {
        const answer = await get(path, bearer(care.token(scope)))
        expect([answer.status, await answer.json()]).toEqual([403, { error: 'insufficient_scope' }])
      }
    },
  )
})

describe('a token that was lost', () => {
  it('attack: a revoked token is used again, on every route, and its open stream ends', async () => {
    care = await startRunningCare()
    await care.write(tea)
    const host = await openHost(care, 'care.read.user')
    const token = care.token('care.read.user care.write')
    const lost = await openHost({ url: care.url, token: () => token }, '')
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    expect((await get('/verify', bearer(token))).status).toBe(200)
    const revocation = { jti, at: '2026-06-01T08:00:00Z', actor: 'it', reason: 'lost phone' }
    await withSideRows(readStoreConfig(care.place), (tables) => addRevocation(tables, revocation))
    await expect.poll(async () => (await get('/verify', bearer(token))).status).toBe(401)
    const refused = await get('/verify/export', bearer(token))
    expect(await refused.json()).toMatchObject({ error_description: 'revoked' })
    const write = await fetch(`${care.url}/write`, {
      method: 'POST',
      headers: bearer(token),
      body: JSON.stringify(tea),
    })
    expect(write.status).toBe(401)
    // Resolves once the stream has ended; the request that would end the session is refused.
    await lost.close()
    // Other tokens go on, also after a restart.
    expect(await host.request('ping', {})).toMatchObject({ result: {} })
    await host.close()
    const { place } = care
    await care.stop()
    care = await startRunningCare({ place })
    expect((await get('/verify', bearer(token))).status).toBe(401)
    expect(await withSideRows(readStoreConfig(place), readRevocations)).toEqual([revocation])
  })
})

describe('C2: ALLOWED_ORIGINS', () => {
  it('attack: a page of a foreign origin calls /mcp, which has a list of origins', async () => {
    care = await startRunningCare({
      environment: { ALLOWED_ORIGINS: 'https://app.test, http://localhost:6274' },
    })
    for (const origin of [
      'https://evil.test',
      'null',
      'https://app.test.evil.test',
      'http://app.test',
    ])
      expect(await fromOrigin(origin)).toBe(403)
    for (const origin of [
      undefined,
      'https://app.test',
      'https://care.test',
      'http://localhost:6274',
    ])
      expect(await fromOrigin(origin)).toBe(400)
  })

  it('without a list any origin may: a page sends only what its user gave it', async () => {
    care = await startRunningCare()
    expect(await fromOrigin('https://any.test')).toBe(400)
  })
})

describe('READ_AUDIT=all', () => {
  it('keeps a row for each record that was served or asked for in vain, and no value', async () => {
    care = await startRunningCare({ environment: { READ_AUDIT: 'all' } })
    await care.write(tea)
    await care.write(plan)
    const host = await openHost(care, 'care.read.user')
    await host.request('resources/read', { uri: 'care://ann/tea' })
    await host.request('resources/read', { uri: 'care-internal://ann/plan' })
    await host.request('resources/read', { uri: 'care-internal://ann/none' })
    await host.request('tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } })
    await host.close()
    await (await get('/verify/export', bearer(care.token(BOTH, { sub: 'auditor' })))).text()
    const { place } = care
    await care.stop()
    const rows = (query: object) =>
      withSideRows(readStoreConfig(place), (tables) =>
        readReadRows(tables, { limit: 50, ...query }),
      )
    const all = await rows({})
    expect(all.map(({ actor, outcome, uri, way }) => [actor, way, outcome, uri])).toEqual([
      ['auditor', 'verify/export', 'served', 'care-internal://*'],
      ['auditor', 'verify/export', 'served', 'care://*'],
      ['host-1', 'tools/call', 'served', 'care://ann/tea'],
      // What is hidden and what is not there leave the same row.
      ['host-1', 'resources/read', 'not_found', 'care-internal://ann/none'],
      ['host-1', 'resources/read', 'not_found', 'care-internal://ann/plan'],
      ['host-1', 'resources/read', 'served', 'care://ann/tea/1'],
    ])
    expect(JSON.stringify(all)).not.toMatch(/sugar|Only for/)
    expect(await rows({ chain: 'care://ann/tea' })).toHaveLength(2)
    expect(await rows({ actor: 'auditor' })).toHaveLength(2)
    care = await startRunningCare({ place })
  })
})

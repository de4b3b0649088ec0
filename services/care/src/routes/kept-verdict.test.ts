// C32: the verdict that is kept, when it is reused, and what a household's token sees of it.
import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { createChainVerifier, reportPlace, verifyJson, verifyText } from '../domain/verification.ts'
import { isOnPostgres } from '../testing/store-place.fixture.ts'
import { diet, medication, useVerify } from './verify.fixture.ts'

const suite = useVerify()
const { withToken } = suite
const user = { audience: 'user' } as const

let runs: string[]
beforeEach(() => {
  runs = []
  const { store } = suite.fixture
  const verify = store.verify.bind(store)
  store.verify = (query) => {
    runs.push(query.audiences.join())
    return verify(query)
  }
})
const report = async (headers = {}) => (await suite.fixture.get('/verify', headers)).json()

const bytesOf = (pieces: readonly Uint8Array[]) => Buffer.concat(pieces).toString()
const chainOf = (at: number) => {
  const slot = { patient: `p-${at}`, domain: 'diet', audience: 'user' } as const
  const receipt = { uri: `care://p-${at}/diet`, encrypted: false, algorithm: 'none' }
  return { slot, versions: 1, intact: true, receipt: { ...receipt, storedBytes: 600 } }
}

async function* manyChains() {
  for (let at = 0; at < 20_000; at += 1) yield chainOf(at)
}

describe('C32: a kept verdict', () => {
  test('is reused while nothing but this process has changed the store; checkedAt is its replay’s time', async () => {
    const first = await report()
    suite.fixture.clock.advanceMs(5_000)
    expect(await report()).toEqual(first)
    await suite.fixture.write({ ...diet, value: 'No juice either.' })
    await suite.fixture.write({ ...diet, domain: 'sleep', value: 'Eight hours.' })
    expect(await report()).toMatchObject({
      checkedAt: first.checkedAt,
      versions: 5,
      intact: true,
      chains: [
        { uri: 'care://ann/medication', versions: 2 },
        { uri: 'care://ann/diet', versions: 2 },
        { uri: 'care://ann/sleep', versions: 1 },
      ],
    })
    expect(runs).toEqual(['user'])
  })

  // PostgreSQL does not say who writes beside this process: there, a replay is due after an interval.
  test.skipIf(isOnPostgres)(
    'is dropped once anything else has changed the store, before or after own writes',
    async () => {
      await report()
      await suite.fixture.tamper({ ...diet, ...user }, 1, (entry) => entry.replace('No', 'So'))
      await suite.fixture.write({ ...medication, value: 'Three tablets.' })
      suite.fixture.clock.advanceMs(5_000)
      const found = await report()
      expect(found).toMatchObject({ intact: false, checkedAt: '2026-11-21T12:00:05.000Z' })
      expect(found.chains[1]).toEqual({
        uri: 'care://ann/diet',
        versions: 1,
        intact: false,
        brokenAt: 1,
      })
      await suite.fixture.tamper({ ...diet, ...user }, 1, (entry) => entry.replace('So', 'No'))
      expect((await report()).intact).toBe(true)
      expect(runs).toEqual(['user', 'user', 'user'])
    },
  )

  test('where the store cannot say who changed it, is as old as the report says at most', async () => {
    suite.fixture.store.outsideMark = () => undefined
    const first = await report()
    expect(first.replayIntervalSeconds).toBe(60)
    const { body } = await suite.fixture.get('/verify', { accept: 'text/plain' })
    expect(body).toContain('(replayed at least every 60 s)')
    suite.fixture.clock.advanceMs(59_999)
    expect(await report()).toEqual(first)
    suite.fixture.clock.advanceMs(1)
    expect((await report()).checkedAt).not.toBe(first.checkedAt)
    expect(runs).toEqual(['user', 'user'])
  })

  test('C30: an internal write moves nothing public: no replay, no metric, no byte of a report', async () => {
    const paths = ['/verify', '/verify/checkpoint', '/metrics', '/health']
    const seen = async () =>
      (await Promise.all(paths.map((path) => suite.fixture.get(path)))).map(({ body }) =>
        body.split('\n').filter((line) => !/^(process|nodejs|http)_/.test(line)),
      )
    await report()
    const before = await seen()
    runs.length = 0
    const plan = { ...medication, domain: 'plan-2', audience: 'assistant' }
    for (const value of ['one', 'two', 'three'])
      expect((await suite.fixture.write({ ...plan, value })).statusCode).toBe(200)
    expect(await seen()).toEqual(before)
    const metrics = (await suite.fixture.get('/metrics')).body.split('\n')
    expect(metrics.filter((line) => /^http_.*\/write/.test(line))).toEqual([])
    expect(runs).toEqual([])
  })

  test('is byte for byte what a fresh replay says, whatever this process writes', async () => {
    const names = fc.constantFrom('diet', 'sleep', 'tea', 'médication', 'plan')
    const written = fc.record({
      patient: fc.constantFrom('ann', 'wren'),
      domain: names,
      value: fc.string({ minLength: 1 }),
    })
    const { fixture } = suite
    const texts = async () => {
      const { body: json } = await fixture.get('/verify')
      const { body: text } = await fixture.get('/verify', { accept: 'text/plain' })
      return [json, text]
    }
    await fc.assert(
      fc.asyncProperty(fc.array(written, { maxLength: 6 }), async (writes) => {
        for (const one of writes) await fixture.write({ ...diet, ...one })
        fixture.clock.advanceMs(1_000)
        const kept = await texts()
        const fresh = createChainVerifier({
          store: fixture.store,
          clock: fixture.clock,
          isoNow: () => JSON.parse(kept[0] ?? '').checkedAt,
        })
        const run = await fresh.verify({ reach: [{ audience: 'user' }], isAnonymous: false })
        const place = reportPlace(JSON.parse(kept[0] ?? '').resource, fixture.store)
        const again = run?.report
        if (again === undefined) throw new Error('nothing was replayed')
        expect(kept).toEqual([bytesOf(verifyJson(again, place)), bytesOf(verifyText(again, place))])
      }),
      { numRuns: 15 },
    )
    expect(runs.length).toBe(16)
  })

  test('a version that this process added and somebody altered since is found', async () => {
    await report()
    await suite.fixture.write({ ...diet, value: 'No juice either.' })
    suite.fixture.store.outsideMark = () => '0'
    await suite.fixture.tamper({ ...diet, ...user }, 2, (entry) => entry.replace('juice', 'water'))
    const found = await report()
    expect(found.chains).toContainEqual({
      uri: 'care://ann/diet',
      versions: 2,
      intact: false,
      brokenAt: 2,
    })
  })

  test('a write behind a broken version leaves it broken, and counts', async () => {
    await suite.fixture.tamper({ ...medication, ...user }, 1, (entry) =>
      entry.replace('One', 'Ten'),
    )
    await report()
    await suite.fixture.write({ ...medication, value: 'Three tablets.' })
    expect((await report()).chains[0]).toEqual({
      uri: 'care://ann/medication',
      versions: 3,
      intact: false,
      brokenAt: 1,
    })
  })
})

describe('C24: /verify with a household’s token', () => {
  test('shows that patient’s chains alone, in every form', async () => {
    await suite.fixture.write({ ...diet, patient: 'wren' })
    await suite.fixture.write({ ...diet, patient: 'wren', domain: 'plan', audience: 'assistant' })
    const anns = withToken('care.read.user:ann care.read.assistant:ann')
    const found = await report(anns)
    expect(found.chains.map(({ uri }: { uri: string }) => uri)).toEqual([
      'care://ann/medication',
      'care://ann/diet',
      'care-internal://ann/plan',
    ])
    expect(found.versions).toBe(4)
    const text = await suite.fixture.get('/verify', { ...anns, accept: 'text/plain' })
    expect(text.body).toContain('0/3 latest')
    const exported = await suite.fixture.get('/verify/export', anns)
    for (const body of [JSON.stringify(found), text.body, exported.body])
      expect(body).not.toContain('wren')
    for (const uri of ['care://wren/diet', 'care-internal://wren/plan', 'care://ann/none'])
      for (const path of ['/verify', '/verify/export']) {
        const answer = await suite.fixture.get(`${path}?uri=${uri}`, anns)
        expect([answer.statusCode, answer.json()]).toEqual([404, { error: 'not_found', uri }])
      }
  })

  test('its export proves what it holds', async () => {
    await suite.fixture.write({ ...diet, patient: 'wren' })
    const { body } = await suite.fixture.get('/verify/export', withToken('care.read.user:ann'))
    const { verifyExport } = await import('../domain/verify-export.ts')
    expect(await verifyExport(body.split('\n'))).toMatchObject({ isIntact: true, versions: 3 })
  })

  test('C30: the store is not asked for what the URI forbids', async () => {
    const asked: string[] = []
    const { store } = suite.fixture
    for (const name of ['verify', 'verifyAdded', 'head', 'exportLines', 'latest'] as const) {
      const ask = store[name] as (...given: unknown[]) => unknown
      const watched = (...given: unknown[]) => {
        asked.push(name)
        return ask(...given)
      }
      Object.assign(store, { [name]: watched })
    }
    for (const path of ['/verify', '/verify/export'])
      for (const headers of [withToken('care.read.user'), withToken('care.read.user:bo')])
        for (const domain of ['plan', 'none'])
          await suite.fixture.get(`${path}?uri=care-internal://ann/${domain}`, headers)
    await suite.fixture.get('/verify?uri=care-internal://ann/plan')
    expect(asked).toEqual([])
  })
})

describe('visitors', () => {
  test('a visitor who loops is paced: the reports of all visitors take a bounded share of the time', async () => {
    const { fixture } = suite
    for (let count = 0; count < 36; count += 1) await fixture.get('/verify')
    let answered = 0
    const ask = () => fixture.get('/verify').then(() => (answered += 1))
    const more = Array.from({ length: 3 }, ask)
    await new Promise((resolve) => setImmediate(resolve))
    expect(answered).toBe(0)
    // A token is somebody: it does not wait behind visitors.
    expect((await fixture.get('/verify', withToken('care.read.user'))).statusCode).toBe(200)
    // Those who wait together are let in one after the other.
    await fixture.clock.advanceMsSettled(6)
    expect(answered).toBe(1)
    await fixture.clock.advanceMsSettled(20)
    await Promise.all(more)
    expect(answered).toBe(3)
  })

  test('a large report goes out in pieces with its length, and waits for its sending: the larger, the longer', async () => {
    const { fixture } = suite
    fixture.store.verify = manyChains
    const first = await fixture.get('/verify')
    expect(Buffer.byteLength(first.body)).toBeGreaterThan(2_000_000)
    expect(first.headers['content-length']).toBe(String(Buffer.byteLength(first.body)))
    const { chains, receipts, versions } = first.json()
    expect([chains.length, receipts.length, versions]).toEqual([20_000, 20_000, 20_000])
    // Eleven of them use up what visitors may have at once, as thirty-six small ones do.
    for (let count = 0; count < 10; count += 1)
      expect((await fixture.get('/verify')).body).toBe(first.body)
    let isAnswered = false
    const next = fixture.get('/verify').then(() => (isAnswered = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isAnswered).toBe(false)
    await fixture.clock.advanceMsSettled(400)
    await next
  })
})

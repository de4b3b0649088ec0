// C32: the verdict that is kept, when it is reused, and what a household's token sees of it.
import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { countRests } from '../adapters/records/journal-slices.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { createChainVerifier } from '../domain/verification.ts'
import { atRestLine, verifyJson, verifyText } from '../domain/verify-report.ts'
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

const readText = async (pages: AsyncIterable<string | Buffer>) => {
  let text = ''
  for await (const page of pages) text += String(page)
  return text
}
const CHAINS = 20_000
const makeSlot = (number: number) =>
  ({ patient: `p-${number}`, domain: 'diet', audience: 'user' }) as const
const makeChain = (number: number) => {
  const receipt = { uri: `care://p-${number}/diet`, encrypted: false, algorithm: 'none' }
  const slot = makeSlot(number)
  return { number, slot, versions: 1, intact: true, receipt: { ...receipt, storedBytes: 600 } }
}

/** Puts many chains in the place of the store's; returns how many names each page read. */
function showChains(): number[] {
  const { store } = suite.fixture
  const pages: number[] = []
  store.lastChain = async () => CHAINS
  store.verify = async function* ({ numbers: { from, to } = { from: 0, to: 0 } }) {
    for (let at = Math.max(from, 1); at <= Math.min(to - 1, CHAINS); at += 1) yield makeChain(at)
  }
  store.chains = async ({ after, limit }) => {
    const count = Math.min(limit, CHAINS - after)
    pages.push(count)
    return Array.from({ length: count }, (_, at) => ({
      number: after + at + 1,
      slot: makeSlot(after + at + 1),
    }))
  }
  return pages
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

  test('where the store cannot say who changed it, a scrub reads every chain again within the interval that the report names', async () => {
    const { clock, store } = suite.fixture
    store.outsideMark = () => undefined
    expect(await report()).toMatchObject({
      replayIntervalSeconds: 60,
      checkedAt: '2026-11-21T12:00:00.000Z',
    })
    const { body } = await suite.fixture.get('/verify', { accept: 'text/plain' })
    expect(body).toContain('(replayed at least every 60 s)')
    await suite.fixture.tamper({ ...diet, ...user }, 1, (entry) => entry.replace('No', 'So'))
    clock.advanceMs(10_000)
    expect((await report()).intact).toBe(true)
    expect(runs).toEqual(['user'])
    // Nobody asks meanwhile.
    clock.advanceMs(38_000)
    await expect.poll(() => runs.length).toBe(2)
    expect(await report()).toMatchObject({ intact: false, checkedAt: '2026-11-21T12:00:48.000Z' })
    expect(runs).toEqual(['user', 'user'])
  })

  test('a report waits for what the scrub did not reach in time', async () => {
    const { clock, store } = suite.fixture
    store.outsideMark = () => undefined
    await report()
    const verify = store.verify.bind(store)
    store.verify = () => {
      throw new RecordStoreUnavailable('for a while')
    }
    clock.advanceMs(48_000)
    expect((await suite.fixture.get('/verify')).statusCode).toBe(503)
    store.verify = verify
    expect((await report()).checkedAt).toBe('2026-11-21T12:00:48.000Z')
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
        for (const each of writes) await fixture.write({ ...diet, ...each })
        fixture.clock.advanceMs(1_000)
        const stored = await texts()
        const { store } = fixture
        const fresh = createChainVerifier({
          store,
          clock: fixture.clock,
          toIso: String,
          ...countRests(store.journals),
        })
        const run = await fresh.verify({ reach: [{ audience: 'user' }], isAnonymous: false })
        if (run.kind !== 'report') throw new Error('nothing was replayed')
        const { checkedAt, resource } = JSON.parse(stored[0] ?? '')
        const again = {
          ...run.report,
          parts: run.report.parts.map((part) => ({ ...part, checkedAt })),
        }
        const place = { resource, atRest: atRestLine(store.sealKeyId) }
        expect(stored).toEqual([
          await readText(verifyJson(again, place)),
          await readText(verifyText(again, place)),
        ])
        fresh.close()
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
    const requested: string[] = []
    const { store } = suite.fixture
    for (const name of ['verify', 'verifyAdded', 'head', 'exportLines', 'latest'] as const) {
      const ask = store[name] as (...input: unknown[]) => unknown
      const watched = (...passed: unknown[]) => {
        requested.push(name)
        return ask(...passed)
      }
      Object.assign(store, { [name]: watched })
    }
    for (const path of ['/verify', '/verify/export'])
      for (const headers of [withToken('care.read.user'), withToken('care.read.user:bo')])
        for (const domain of ['plan', 'none'])
          await suite.fixture.get(`${path}?uri=care-internal://ann/${domain}`, headers)
    await suite.fixture.get('/verify?uri=care-internal://ann/plan')
    expect(requested).toEqual([])
  })
})

describe('visitors', () => {
  test('who has a token does not wait behind visitors, however long their replay takes', async () => {
    const { fixture } = suite
    const gate = Promise.withResolvers<void>()
    const verify = fixture.store.verify.bind(fixture.store)
    let begun = 0
    fixture.store.verify = async function* (query) {
      if ((begun += 1) === 1) await gate.promise
      yield* verify(query)
    }
    const path = '/verify?uri=care://ann/diet'
    const paths = (at: number) => (at < 100 ? `${path}-${at}` : '/verify')
    const visitors = Array.from({ length: 150 }, (_, at) => fixture.get(paths(at)))
    await expect.poll(() => begun).toBeGreaterThan(0)
    // A token of a trusted issuer that gives no right here is anybody's: its holder waits, or is refused, too.
    let isServed = false
    const askAsStranger = async (): Promise<void> => {
      const { statusCode } = await fixture.get(path, withToken('openid'))
      isServed = statusCode === 200
    }
    const stranger = askAsStranger()
    const auditor = withToken('care.read.user')
    expect((await fixture.get(path, auditor)).statusCode).toBe(200)
    expect((await fixture.get('/verify', auditor)).statusCode).toBe(200)
    expect(isServed).toBe(false)
    gate.resolve()
    await stranger
    const statuses = (await Promise.all(visitors)).map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => ![200, 404, 503].includes(status))).toEqual([])
  })

  test('a report is streamed a page at a time, whatever its size, and counts what it lists', async () => {
    const pages = showChains()
    const { chains, receipts, versions } = await report()
    expect([chains.length, receipts.length, versions]).toEqual([CHAINS, CHAINS, CHAINS])
    expect(Math.max(...pages)).toBeLessThanOrEqual(256)
  })

  test.each([
    ['says whether others changed it', '0'],
    ['cannot say so', undefined],
  ])(
    'C32: where the store %s, a report of which nothing has changed is not written anew, and of what has only its pages',
    async (_, mark) => {
      const { store } = suite.fixture
      const pages = showChains()
      store.outsideMark = () => mark
      const first = await suite.fixture.get('/verify')
      const text = await suite.fixture.get('/verify', { accept: 'text/plain' })
      pages.length = 0
      expect((await suite.fixture.get('/verify')).body).toBe(first.body)
      expect((await suite.fixture.get('/verify', { accept: 'text/plain' })).body).toBe(text.body)
      expect(pages).toEqual([])
      store.verifyAdded = async function* () {
        yield { ...makeChain(300), versions: 2 }
      }
      await suite.fixture.write({ ...diet, value: 'No juice either.' })
      const { chains, versions } = await report()
      expect([chains[299].versions, versions]).toEqual([2, CHAINS + 1])
      // Its page, and that beside it, in each of both lists.
      expect(pages.length).toBeLessThanOrEqual(4)
      // A chain that is freed has another name.
      store.countFrees = async () => 1
      pages.length = 0
      await report()
      expect(pages.length).toBeGreaterThan(CHAINS / 256)
    },
  )

  test('C32: a report of kept pages takes turns too: it does not hold the loop until all is sent', async () => {
    const { clock, store } = suite.fixture
    showChains()
    store.outsideMark = () => '0'
    const deps = { store, clock, toIso: String, ...countRests(store.journals) }
    const verifier = createChainVerifier(deps)
    const run = await verifier.verify({ reach: [{ audience: 'user' }], isAnonymous: true })
    if (run.kind !== 'report') throw new Error('nothing was replayed')
    let turns = 0
    const turn: typeof run.report.turn = (work) => {
      turns += 1
      return work()
    }
    const place = { resource: '', atRest: '' }
    const countTurns = async () => {
      turns = 0
      await readText(verifyJson({ ...run.report, turn }, place))
      return turns
    }
    const pages = Math.ceil(CHAINS / 256)
    expect(await countTurns()).toBe(2 * pages)
    // In each of both lists.
    expect(await countTurns()).toBe(2 * Math.floor(pages / 64))
    verifier.close()
  })

  test('C32: a scrub that finds everything as it was leaves a report as it was written', async () => {
    const { clock, store } = suite.fixture
    const pages = showChains()
    store.outsideMark = () => undefined
    const before = await suite.fixture.get('/verify')
    pages.length = 0
    clock.advanceMs(60_000)
    const after = await suite.fixture.get('/verify')
    expect(after.body.slice(after.body.indexOf('chains'))).toBe(
      before.body.slice(before.body.indexOf('chains')),
    )
    expect(after.json().checkedAt).not.toBe(before.json().checkedAt)
    expect(pages).toEqual([])
  })
})

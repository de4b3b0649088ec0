import { describe, expect, test } from 'vitest'
import { countRests } from '../adapters/records/journal-slices.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { createChainVerifier } from '../domain/verification.ts'
import { RESOURCE } from '../testing/care.fixture.ts'
import { isOnPostgres } from '../testing/store-place.fixture.ts'
import { BOTH, diet, medication, useVerify } from './verify.fixture.ts'
import { isJsonAccepted } from './verify-routes.ts'

const suite = useVerify()
const { withToken } = suite

const seenBy = async (headers = {}) =>
  (await suite.fixture.get('/verify', headers)).json().chains.map(({ uri }: { uri: string }) => uri)
const user = { audience: 'user' } as const

describe('200 JSON', () => {
  test('resource, checkedAt, atRest, chains, receipts, versions, intact', async () => {
    const answer = await suite.fixture.get('/verify')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.json()).toEqual({
      resource: RESOURCE,
      checkedAt: '2026-11-21T12:00:00.000Z',
      ...(isOnPostgres ? { replayIntervalSeconds: 60 } : {}),
      atRest: expect.stringContaining('plaintext'),
      chains: [
        { uri: 'care://ann/medication', versions: 2, intact: true },
        { uri: 'care://ann/diet', versions: 1, intact: true },
      ],
      receipts: [
        expect.objectContaining({
          uri: 'care://ann/medication',
          encrypted: false,
          algorithm: 'none',
        }),
        expect.objectContaining({ uri: 'care://ann/diet', encrypted: false, algorithm: 'none' }),
      ],
      versions: 3,
      intact: true,
    })
  })

  test('without a token the caller sees only care:// chains; the assistant scope adds internal ones', async () => {
    const open = ['care://ann/medication', 'care://ann/diet']
    expect(await seenBy()).toEqual(open)
    expect(await seenBy(withToken('care.read.user'))).toEqual(open)
    expect(await seenBy(withToken('care.write'))).toEqual(open)
    expect(await seenBy(withToken(BOTH))).toEqual([...open, 'care-internal://ann/plan'])
    expect(await seenBy(withToken('care.read.assistant'))).toContain('care-internal://ann/plan')
  })

  test('a stored value altered: BROKEN at that version', async () => {
    await suite.fixture.tamper({ ...medication, ...user }, 2, (entry) =>
      entry.replace('Two', 'Ten'),
    )
    const answer = (await suite.fixture.get('/verify')).json()
    expect(answer.intact).toBe(false)
    expect(answer.chains).toEqual([
      { uri: 'care://ann/medication', versions: 2, intact: false, brokenAt: 2 },
      { uri: 'care://ann/diet', versions: 1, intact: true },
    ])
  })

  test('C9: nothing public holds a value, version hash, author or time of a record', async () => {
    suite.fixture.clock.advanceMs(1_000)
    const before = (await suite.fixture.get('/verify', withToken(BOTH))).json()
    const record = await suite.fixture.store.latest({ ...medication, ...user })
    if (record.kind !== 'found') throw new Error('the record is gone')
    const { value, versionHash, prevHash, authorId, writtenAt } = record.record
    const answers = await Promise.all([
      suite.fixture.get('/verify'),
      suite.fixture.get('/verify', { accept: 'text/plain' }),
      suite.fixture.get('/verify?uri=care://ann/medication'),
      suite.fixture.get('/verify/checkpoint'),
      suite.fixture.get('/metrics'),
      suite.fixture.get('/ready'),
      suite.fixture.get('/'),
    ])
    expect(before.versions).toBe(4)
    const text = answers.map(({ body }) => body).join('\n')
    const secrets = [value, versionHash, prevHash, authorId, writtenAt, 'care-internal://']
    for (const secret of [...secrets, 'storedBytes']) expect(text).not.toContain(secret)
  })
})

describe('200 with a uri filter', () => {
  test('the single chain verdict plus an atRest receipt, whichever version it names', async () => {
    for (const end of ['', '/1', '/2', '/v2', '/1/audio']) {
      const uri = encodeURIComponent(`care://ann/medication${end}`)
      const answer = await suite.fixture.get(`/verify?uri=${uri}`)
      expect([end, answer.statusCode]).toEqual([end, 200])
      expect(answer.json()).toEqual({
        uri: 'care://ann/medication',
        versions: 2,
        intact: true,
        atRest: { uri: 'care://ann/medication', encrypted: false, algorithm: 'none' },
      })
    }
  })

  test('an internal chain, with the assistant scope', async () => {
    const answer = await suite.fixture.get('/verify?uri=care-internal://ann/plan', withToken(BOTH))
    expect(answer.json()).toMatchObject({ uri: 'care-internal://ann/plan', intact: true })
  })

  test('a broken chain names its break', async () => {
    await suite.fixture.tamper({ ...diet, ...user }, 1, (entry) => entry.replace('No', 'So'))
    expect((await suite.fixture.get('/verify?uri=care://ann/diet')).json()).toMatchObject({
      intact: false,
      brokenAt: 1,
    })
  })
})

describe('200 plain text', () => {
  test('title, resource :, checked :, the at-rest line, one line per chain, summary, sealed count', async () => {
    const answer = await suite.fixture.get('/verify', { accept: 'text/plain' })
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(answer.body.split('\n')).toEqual([
      expect.stringMatching(/\w/),
      `resource : ${RESOURCE}`,
      `checked : 2026-11-21T12:00:00.000Z${isOnPostgres ? ' (replayed at least every 60 s)' : ''}`,
      expect.stringContaining('plaintext'),
      'INTACT care://ann/medication 2 version(s)',
      'INTACT care://ann/diet 1 version(s)',
      'all chains intact, 3 version(s)',
      '0/2 latest version(s) sealed at rest',
      '',
    ])
  })

  test('BROKEN with the break version, and CHAIN BROKEN', async () => {
    await suite.fixture.tamper({ ...medication, ...user }, 1, (entry) =>
      entry.replace('One', 'Ten'),
    )
    const { body } = await suite.fixture.get('/verify', { accept: 'text/html' })
    expect(body).toContain('BROKEN care://ann/medication 2 version(s), broken at version 1')
    expect(body).toContain('INTACT care://ann/diet')
    expect(body).toContain('\nCHAIN BROKEN\n')
    expect(body).not.toContain('all chains intact')
  })

  test('with a uri filter, that chain alone', async () => {
    const { body } = await suite.fixture.get('/verify?uri=care://ann/diet', {
      accept: 'text/plain',
    })
    expect(body).toContain('INTACT care://ann/diet 1 version(s)')
    expect(body).not.toContain('medication')
  })

  test('JSON if Accept is application/json, any type or absent, unless it contains text/html', () => {
    const judged = [
      [undefined, true],
      ['', true],
      ['application/json', true],
      ['*/*', true],
      ['Application/JSON; q=0.9', true],
      ['application/json, text/plain, */*', true],
      ['text/html', false],
      ['text/html,application/xhtml+xml,*/*;q=0.8', false],
      ['application/json, text/html', false],
      ['text/plain', false],
      ['image/png', false],
    ] as const
    expect(judged.map(([accept]) => [accept, isJsonAccepted(accept)])).toEqual(judged)
  })
})

describe('C18: one replay at a time', () => {
  test('identical anonymous replays share one run; others wait for their turn', async () => {
    const verify = suite.fixture.store.verify.bind(suite.fixture.store)
    let running = 0
    let runs = 0
    let most = 0
    suite.fixture.store.verify = async function* (query) {
      runs += 1
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => void setImmediate(resolve))
      yield* verify(query)
      running -= 1
    }
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => suite.fixture.get('/verify')),
      ...Array.from({ length: 5 }, () => suite.fixture.get('/verify', { accept: 'text/plain' })),
      suite.fixture.get('/verify?uri=care://ann/diet'),
    ])
    expect(answers.every(({ statusCode }) => statusCode === 200)).toBe(true)
    // One for all chains, and one for the chain.
    expect({ runs, most }).toEqual({ runs: 2, most: 1 })
  })

  test('a request never gets a run that began before a write it knows of', async () => {
    const verify = suite.fixture.store.verify.bind(suite.fixture.store)
    const [read, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    suite.fixture.store.verify = async function* (query) {
      const chains = []
      for await (const chain of verify(query)) chains.push(chain)
      read.resolve()
      await gate.promise
      yield* chains
    }
    const early = suite.fixture.get('/verify')
    await read.promise
    await suite.fixture.write({ ...diet, value: 'No juice either.' })
    const late = suite.fixture.get('/verify')
    gate.resolve()
    expect([3, 4]).toContain((await early).json().versions)
    expect((await late).json().versions).toBe(4)
  })

  test('C32: what this process wrote since is replayed and nothing else, however many asked meanwhile', async () => {
    const gate = Promise.withResolvers<void>()
    const { store } = suite.fixture
    const [verify, verifyAdded] = [store.verify.bind(store), store.verifyAdded.bind(store)]
    let runs = 0
    let added = 0
    store.verify = async function* (query) {
      runs += 1
      await gate.promise
      yield* verify(query)
    }
    store.verifyAdded = async function* (query) {
      added += 1
      yield* verifyAdded(query)
    }
    const answers = [suite.fixture.get('/verify')]
    for (let index = 0; index < 20; index += 1) {
      await suite.fixture.write({ ...diet, value: `Sentence ${index}` })
      answers.push(suite.fixture.get('/verify'))
      await new Promise((resolve) => void setImmediate(resolve))
    }
    gate.resolve()
    const versions = (await Promise.all(answers)).map((answer) => Number(answer.json().versions))
    expect([runs, added]).toEqual([1, 1])
    expect(versions.slice(1)).toEqual(Array.from({ length: 20 }, () => 23))
  })

  test('503 busy: too many replays are already waiting', async () => {
    const gate = Promise.withResolvers<void>()
    const verify = suite.fixture.store.verify.bind(suite.fixture.store)
    suite.fixture.store.verify = async function* (query) {
      await gate.promise
      yield* verify(query)
    }
    const waiting = Array.from({ length: 70 }, (_, index) =>
      suite.fixture.get(`/verify?uri=care://ann/none-${index}`),
    )
    await new Promise((resolve) => void setImmediate(resolve))
    gate.resolve()
    const statuses = (await Promise.all(waiting)).map(({ statusCode }) => statusCode)
    expect(new Set(statuses)).toEqual(new Set([404, 503]))
    expect((await suite.fixture.get('/verify')).statusCode).toBe(200)
  })

  test('C25: what may wait is divided by the processes that serve the records', async () => {
    const { clock, store } = suite.fixture
    const gate = Promise.withResolvers<void>()
    const verify = store.verify.bind(store)
    store.verify = async function* (query) {
      await gate.promise
      yield* verify(query)
    }
    const shares = { clock, store, toIso: String, countProcesses: () => 2 }
    const verifier = createChainVerifier({ ...shares, ...countRests(store.journals) })
    const runs = Array.from({ length: 40 }, (_, at) => {
      const slot = { ...user, patient: 'ann', domain: `none-${at}` }
      return verifier.verify({ slot, reach: [user], isAnonymous: true })
    })
    gate.resolve()
    const kinds = (await Promise.all(runs)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(40 - 64 / 2)
    verifier.close()
  })

  test('503 store_unavailable if the store cannot be read; the next replay runs', async () => {
    const verify = suite.fixture.store.verify.bind(suite.fixture.store)
    // oxlint-disable-next-line require-yield
    suite.fixture.store.verify = async function* () {
      throw new RecordStoreUnavailable('damaged')
    }
    const answer = await suite.fixture.get('/verify')
    expect([answer.statusCode, answer.body]).toEqual([503, '{"error":"store_unavailable"}'])
    suite.fixture.store.verify = verify
    expect((await suite.fixture.get('/verify')).statusCode).toBe(200)
  })
})

// The partition: a principal finds no trace of a record that its scopes do not cover, anywhere. One fixture has such records,
// its twin has none. Whatever the principal asks, both give the same answer, and the store is not asked for what the URI
// forbids.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { NewRecord } from '../domain/care-record.ts'
import {
  type Asking,
  askEverything,
  asking,
  ERAS,
  forbiddenTo,
  HIDDEN,
} from './ask-everything.fixture.ts'
import { BOTH, type McpFixture, startMcp, USER } from './mcp.fixture.ts'

const SECRET = /plan|falls|internal-author|care-internal:\/\/ann/i

/** A store that records the calls it gets. */
function watch(fixture: McpFixture): { readonly asked: string[] } {
  const requested: string[] = []
  const { store } = fixture
  for (const [name, ask] of Object.entries(store)) {
    // What a store shows without being asked, its journals, stays as it is: timers of the service read it.
    if (typeof ask !== 'function') continue
    const watched = (...input: unknown[]): unknown => {
      requested.push(`${name} ${JSON.stringify(input)}`)
      return (ask as (...values: unknown[]) => unknown).apply(store, input)
    }
    Object.assign(store, { [name]: watched })
  }
  return { asked: requested }
}

let withSecrets: McpFixture
let without: McpFixture
beforeEach(async () => {
  ;[withSecrets, without] = [
    await startMcp({ isOnDisk: true, limits: { pageChains: 2 } }),
    await startMcp({ isOnDisk: true, limits: { pageChains: 2 } }),
  ]
})
afterEach(async () => {
  await withSecrets.close()
  await without.close()
})

/** The same user records in both stores; in one, others among them that the principal may know nothing of. */
async function fill(
  hidden: Partial<NewRecord> = { audience: 'assistant', value: 'Watch for falls.' },
): Promise<void> {
  for (let count = 0; count < 9; count += 1) {
    const domain = `tea-${count}`
    await withSecrets.write({ ...hidden, domain: count === 0 ? 'plan' : `plan-${count}` })
    await withSecrets.write({ ...hidden, domain: 'plan', authorId: 'internal-author' })
    await withSecrets.write({ domain })
    await without.write({ domain })
  }
}

/** What a request asked of the store. */
async function storeCalls(
  session: Asking,
  requests: string[],
  [method, params]: readonly [string, object],
): Promise<readonly string[]> {
  requests.length = 0
  await session.call(method, params)
  return [...requests]
}

describe('a user-scope principal finds no trace of an internal record', () => {
  it.each(ERAS)(
    'in lists on any page, reads, completions, prompts, tools and error texts: %s',
    async (era) => {
      await fill()
      const secret = await askEverything(await asking(era, withSecrets, USER))
      const clear = await askEverything(await asking(era, without, USER))
      expect(clear).toEqual(secret)
      const named = secret.filter(
        (each) =>
          SECRET.test(JSON.stringify(each)) &&
          !SECRET.test(JSON.stringify((each as { params?: object }).params ?? {})),
      )
      expect(named).toEqual([])
      const holder = await askEverything(await asking(era, withSecrets, BOTH))
      expect(JSON.stringify(holder)).toContain('Watch for falls.')
    },
  )

  it('in notifications, log notices, replays and event ids', async () => {
    const [mine, twin] = [await withSecrets.open(USER), await without.open(USER)]
    const [stream, other] = [await mine.stream(), await twin.stream()]
    await fill()
    await expect.poll(() => stream.messages).toHaveLength(18)
    await expect.poll(() => other.messages).toHaveLength(18)
    expect(JSON.stringify(stream.messages)).not.toMatch(SECRET)
    // Each is one sealed block: nothing in it can be counted or compared.
    for (const { id } of [...stream.events, ...other.events]) expect(id).toMatch(/^[\w-]{22}$/)
    expect(stream.events).toHaveLength(other.events.length)
    const replayed = await mine.stream(stream.events[0]?.id)
    await expect.poll(() => replayed.messages).toHaveLength(18)
    expect(replayed.messages).toEqual(stream.messages)
    for (const reader of [replayed, other]) reader.drop()
  })

  it.each(ERAS)(
    'C30: in the store: it is not asked at all for what the URI forbids, by any operation: %s',
    async (era) => {
      await fill()
      const session = await asking(era, withSecrets, USER)
      const { asked: calls } = watch(withSecrets)
      for (const [name, params] of forbiddenTo('care-internal://ann', 'plan'))
        expect([name, params, await storeCalls(session, calls, [name, params])]).toEqual([
          name,
          params,
          [],
        ])
    },
  )

  it('a hidden record is absent even if it is broken', async () => {
    await fill()
    const slot = { patient: 'ann', domain: 'plan', audience: 'assistant' } as const
    await withSecrets.tamper(slot, 1, (entry) => entry.replace('falls', 'stairs'))
    const session = await withSecrets.open(USER)
    const answer = await session.call('resources/read', { uri: `${HIDDEN}/1` })
    expect(answer.error?.code).toBe(-32002)
    const holder = await withSecrets.open(BOTH)
    const broken = await holder.call('resources/read', { uri: `${HIDDEN}/1` })
    expect(broken.error?.code).toBe(-32603)
  })

  it('after its session was refreshed with fewer scopes', async () => {
    await fill()
    const session = await withSecrets.open(BOTH)
    await session.subscribe(HIDDEN)
    const stream = await session.stream()
    await expect.poll(() => stream.lastEventId).toBeDefined()
    session.token = withSecrets.token(USER)
    await session.result('ping')
    // The stream was opened under both scopes; the session's current ones apply.
    await withSecrets.write({ domain: 'plan', audience: 'assistant' })
    await withSecrets.write({ domain: 'plan-new', audience: 'assistant' })
    await withSecrets.write({ domain: 'tea-1' })
    await expect.poll(() => stream.messages).toHaveLength(1)
    expect(JSON.stringify(stream.messages)).not.toMatch(SECRET)
    stream.drop()
  })
})

describe('C24: a household’s token finds no trace of another household', () => {
  const HERON = 'care.read.user:ann care.read.assistant:ann'
  const WREN = { patient: 'wren', value: 'Watch for falls.' } as const

  it.each(ERAS)(
    'in lists on any page, reads, completions, prompts, tools and error texts: %s',
    async (era) => {
      await fill(WREN)
      const secret = await askEverything(await asking(era, withSecrets, HERON))
      expect(await askEverything(await asking(era, without, HERON))).toEqual(secret)
      const heard = secret.map((each) => ({ ...(each as object), params: undefined }))
      expect(JSON.stringify(heard)).not.toMatch(/wren|falls|internal-author/)
      expect(JSON.stringify(secret)).toContain('care://ann/tea-8')
    },
  )

  it('in notifications, log notices, lists that changed, replays and event ids', async () => {
    const [mine, twin] = [await withSecrets.open(HERON), await without.open(HERON)]
    const [stream, other] = [await mine.stream(), await twin.stream()]
    await mine.subscribe('care://wren/plan')
    await fill(WREN)
    await mine.subscribe('care://wren/plan')
    await withSecrets.write({ ...WREN, domain: 'plan' })
    for (const reader of [stream, other]) await expect.poll(() => reader.messages).toHaveLength(18)
    expect(JSON.stringify(stream.messages)).not.toMatch(/wren|falls/)
    const replayed = await mine.stream(stream.events[0]?.id)
    await expect.poll(() => replayed.messages).toHaveLength(18)
    expect(replayed.messages).toEqual(stream.messages)
    for (const reader of [replayed, other]) reader.drop()
  })

  it.each(ERAS)(
    'in the store: it is not asked at all for what the URI forbids, by any operation: %s',
    async (era) => {
      await fill(WREN)
      const session = await asking(era, withSecrets, HERON)
      const { asked: storeQuestions } = watch(withSecrets)
      for (const place of ['care://wren', 'care-internal://wren'])
        for (const [name, params] of forbiddenTo(place, 'plan'))
          expect([params, await storeCalls(session, storeQuestions, [name, params])]).toEqual([
            params,
            [],
          ])
      for (const name of ['brief_carer', 'whats_changed'])
        expect(
          await storeCalls(session, storeQuestions, [
            'prompts/get',
            { name, arguments: { patient: 'wren' } },
          ]),
        ).toEqual([])
      for (const name of ['list_records', 'whats_changed'])
        expect(
          await storeCalls(session, storeQuestions, [
            'tools/call',
            { name, arguments: { patient: 'wren' } },
          ]),
        ).toEqual([])
    },
  )

  it('after its session was refreshed with a token that names another patient', async () => {
    await fill(WREN)
    const session = await withSecrets.open(USER)
    for (const uri of ['care://wren/plan', 'care://ann/tea-1']) await session.subscribe(uri)
    const stream = await session.stream()
    await expect.poll(() => stream.lastEventId).toBeDefined()
    session.token = withSecrets.token(HERON)
    await session.result('ping')
    expect((await withSecrets.write({ ...WREN, domain: 'plan' })).subscribers).toBe(0)
    await withSecrets.write({ domain: 'tea-1' })
    await expect.poll(() => stream.messages).toHaveLength(2)
    expect(JSON.stringify(stream.messages)).not.toMatch(/wren/)
    stream.drop()
  })
})

describe('two principals', () => {
  it('share nothing: not sessions, not streams, not event ids, not subscriptions', async () => {
    await fill()
    const ann = await withSecrets.open(BOTH, { sub: 'ann-host' })
    const bo = await withSecrets.open(BOTH, { sub: 'bo-host' })
    await ann.subscribe('care://ann/tea-1')
    const [mine, theirs] = [await ann.stream(), await bo.stream()]
    await withSecrets.write({ domain: 'tea-1' })
    await expect.poll(() => mine.messages).toHaveLength(2)
    await expect.poll(() => theirs.messages).toHaveLength(1)
    await expect(bo.stream(mine.lastEventId)).rejects.toThrow('400')
    const stolen = withSecrets.with(ann.id, bo.token)
    expect((await stolen.call('ping')).error?.code).toBe(-32003)
    await expect(stolen.stream()).rejects.toThrow('403')
    expect((await stolen.end()).status).toBe(403)
    for (const reader of [mine, theirs]) reader.drop()
  })
})

it('C24: a request is answered by its own token, although a stronger one of its principal asks in its session meanwhile', async () => {
  await withSecrets.write({ domain: 'plan', audience: 'assistant' })
  const strong = await withSecrets.open(BOTH)
  const weak = withSecrets.with(strong.id, withSecrets.token(USER))
  const [isNarrow, isWide] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { sessions } = withSecrets
  const commit = sessions.commit.bind(sessions)
  sessions.commit = async (change) => {
    const outcome = await commit(change)
    if (change.kind !== 'scopes' || change.scopes.length > 1) return outcome
    isNarrow.resolve()
    await isWide.promise
    return outcome
  }
  const reading = weak.call('resources/read', { uri: 'care-internal://ann/plan' })
  await isNarrow.promise
  await strong.result('ping')
  isWide.resolve()
  expect((await reading).error?.code).toBe(-32002)
})

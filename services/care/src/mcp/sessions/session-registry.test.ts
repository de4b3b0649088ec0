// C5, C25: what a client asked of its session is as it was answered, whichever process it asked, and also while the store fails.
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openSessionStore } from '../../adapters/rows/session-commits.ts'
import { openSqliteSideRows } from '../../adapters/rows/side-rows.ts'
import { type RecordStore, RecordStoreUnavailable } from '../../domain/record-store.ts'
import type { SessionStore } from '../../domain/session-store.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'
import type { McpSession } from './mcp-session.ts'
import { SessionRegistry } from './session-registry.ts'

const TEA = 'care://ann/tea'
const principal = { sub: 'host', scopes: ['care.read.user'] }

const clock = manualClock(0)
let store: SessionStore
let registry: SessionRegistry
let session: McpSession
let fill = 1
const journals = {
  user: { size: 3 },
  assistant: { size: 4 },
} as unknown as RecordStore['journals']
const openRegistry = async (
  sessions: SessionStore,
  limits = DEFAULT_MCP_LIMITS,
): Promise<SessionRegistry> => {
  const made = new SessionRegistry({
    clock,
    limits,
    store: sessions,
    records: { journals, catchUp: async () => undefined },
    randomBytes: (size) => new Uint8Array(size).fill(fill++),
    onProblem: () => undefined,
    busy: () => [],
    onCancelled: () => undefined,
    onForgotten: () => undefined,
    onEnd: () => undefined,
  })
  made.restore(await sessions.restore())
  return made
}
beforeEach(async () => {
  store = openSessionStore(openSqliteSideRows(':memory:'), { clock })
  registry = await openRegistry(store)
  const opened = await registry.open(principal)
  if (opened === undefined) throw new Error('no session')
  session = opened
})
afterEach(() => store.close())

/** Runs both; the commit of the first fails after that of the second. */
async function failFirst(run: () => Promise<unknown>): Promise<void> {
  const commit = store.commit.bind(store)
  const second = Promise.withResolvers<void>()
  let count = 0
  store.commit = async (change) => {
    count += 1
    if (count === 1) {
      await second.promise
      throw new RecordStoreUnavailable('frozen')
    }
    return commit(change).finally(second.resolve)
  }
  expect(await Promise.allSettled([run(), run()])).toMatchObject([
    { status: 'rejected', reason: expect.any(RecordStoreUnavailable) },
    { status: 'fulfilled' },
  ])
  store.commit = commit
}

describe('C5: of two like requests the first fails late, as against a frozen database, and the second is answered', () => {
  test('a subscription stands', async () => {
    await failFirst(() => registry.subscribe(session, TEA))
    expect(session.subscriptions).toEqual(new Map([[TEA, 7]]))
    expect(registry.subscriptions.countBefore(TEA, 7)).toBe(1)
  })

  test('an ended subscription is gone', async () => {
    await registry.subscribe(session, TEA)
    await failFirst(() => registry.unsubscribe(session, TEA))
    expect(session.subscriptions).toBeUndefined()
  })

  test('a log level is the one that was answered', async () => {
    await failFirst(() => registry.setLogLevel(session, 'debug'))
    expect(session.logLevel).toBe('debug')
  })
})

test('C5: scopes that could not be stored hold at once, and are stored by the next request', async () => {
  const commit = store.commit.bind(store)
  const scopes: readonly string[] = []
  store.commit = () => Promise.reject(new RecordStoreUnavailable('frozen'))
  const narrow = { sub: 'host', scopes }
  await expect(registry.refresh(session, narrow)).rejects.toThrow(RecordStoreUnavailable)
  expect(session.scopes).toEqual([])
  store.commit = commit
  await registry.refresh(session, narrow)
  expect(await store.restore()).toMatchObject({ sessions: [{ scopes: [] }] })
})

test('C5: sessions that are opened at once are no more than their principal may have, nor than there may be', async () => {
  const limits = { ...DEFAULT_MCP_LIMITS, sessionsPerSubMax: 4, sessionsMax: 6 }
  const bounded = await openRegistry(store, limits)
  const open = async (sub: string) => {
    const opening = Array.from({ length: 9 }, () => bounded.open({ ...principal, sub }))
    return (await Promise.all(opening)).filter((each) => each !== undefined)
  }
  // One is open already.
  expect(await open('host')).toHaveLength(3)
  expect(await open('other')).toHaveLength(2)
  expect(bounded.count).toBe(6)
  expect((await store.restore()).sessions).toHaveLength(6)
})

test('C25: the only process finds a session without asking the store, whatever is being changed', async () => {
  const [looks, finds] = [vi.spyOn(store, 'look'), vi.spyOn(store, 'find')]
  const subscribing = registry.subscribe(session, TEA)
  expect(await registry.find(session.id)).toBe(session)
  await subscribing
  expect(await registry.find(session.id)).toBe(session)
  expect(looks).not.toHaveBeenCalled()
  expect(finds).not.toHaveBeenCalled()
})

test.each(['arrived', 'failed'])(
  'S12: no more than 64 cancellations are on their way to other processes; when they have %s there is room again',
  async (end) => {
    const ended = Promise.withResolvers<void>()
    const cancel = vi.spyOn(store, 'cancel').mockReturnValue(ended.promise)
    const found = { ...(await store.look()), hasOthers: true }
    store.look = async () => found
    Object.defineProperty(store, 'isShared', { value: true })
    await registry.looks.again()
    const cancelMany = (): void => {
      for (let id = 0; id < 1_000; id += 1)
        registry.looks.cancelElsewhere({ session, request: `${id}` })
    }
    cancelMany()
    expect(cancel).toHaveBeenCalledTimes(64)
    if (end === 'arrived') ended.resolve()
    else ended.reject(new RecordStoreUnavailable('frozen'))
    await new Promise((resolve) => setImmediate(resolve))
    cancelMany()
    expect(cancel).toHaveBeenCalledTimes(128)
  },
)

test('C25: a change that another made meanwhile is adopted with the own one, in whatever order both are heard of', async () => {
  await store.commit({ kind: 'level', session: session.number, logLevel: 'error' })
  await registry.subscribe(session, TEA)
  expect(session.logLevel).toBe('error')
  expect(session.subscriptions).toEqual(new Map([[TEA, 7]]))
})

test('C25: a subscription whose commit is not answered yet is known to whoever looks', async () => {
  const commit = store.commit.bind(store)
  const answer = Promise.withResolvers<void>()
  store.commit = async (change) => {
    const outcome = await commit(change)
    await answer.promise
    return outcome
  }
  Object.defineProperty(store, 'isShared', { value: true })
  const look = store.look.bind(store)
  const { number } = session
  store.look = async () => ({ ...(await look()), changed: [{ number, changes: 9 }] })
  const subscribing = registry.subscribe(session, TEA)
  await store.flush()
  await registry.looks.again()
  expect(session.subscriptions).toEqual(new Map([[TEA, 7]]))
  answer.resolve()
  await subscribing
  expect(registry.subscriptions.count).toBe(1)
})

/** Has the next scopes wait for an answer that is given later. */
function holdScopes(): { readonly isStored: Promise<void>; readonly answer: () => void } {
  const commit = store.commit.bind(store)
  const [stored, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  store.commit = async (change) => {
    const outcome = await commit(change)
    stored.resolve()
    await answered.promise
    return outcome
  }
  return { isStored: stored.promise, answer: answered.resolve }
}

test('C4: a row that is read while fewer scopes are stored does not bring back those before', async () => {
  await store.commit({ kind: 'level', session: session.number, logLevel: 'error' })
  const before = await store.find([session.number])
  const { answer, isStored } = holdScopes()
  const narrowing = registry.refresh(session, { sub: 'host', scopes: [] })
  await isStored
  registry.restore({ sessions: before })
  answer()
  await narrowing
  expect(session.scopes).toEqual([])
})

test('C25: a session that ends while its row is read again stays ended', async () => {
  await store.commit({ kind: 'level', session: session.number, logLevel: 'error' })
  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const find = store.find.bind(store)
  store.find = async (numbers) => {
    const rows = await find(numbers)
    reading.resolve()
    await read.promise
    return rows
  }
  const subscribing = registry.subscribe(session, TEA)
  await reading.promise
  await registry.delete(session)
  read.resolve()
  await subscribing
  expect(await registry.find(session.id)).toBeUndefined()
  expect(registry.count).toBe(0)
})

const { idleMs } = DEFAULT_MCP_LIMITS
const use = () => registry.refresh(session, principal)
const sweepHere = () => clock.advanceMsSettled(30_000)
const sweepElsewhere = (seen = new Map<number, number>()) =>
  store.sweep({ idleMs, absoluteMs: 1e12, seen })

describe('C5: a session that is used is not ended early', () => {
  test('by a clock that is set back right after a sweep', async () => {
    await sweepHere()
    const now = vi.spyOn(clock, 'unixMs').mockReturnValue(clock.unixMs() - 1)
    await use()
    now.mockRestore()
    await sweepHere()
    registry.stop()
    clock.advanceMs(idleMs - 30_002)
    expect(await sweepElsewhere()).toEqual([])
  })

  test('by a sweep that waits for its turn while the session is used', async () => {
    registry.stop()
    clock.advanceMs(idleMs - 1)
    const sweeping = sweepElsewhere()
    const using = use()
    clock.advanceMs(1)
    expect(await sweeping).toEqual([])
    await using
  })

  test('by another process, after this one found it over by its own memory and served it', async () => {
    registry.stop()
    clock.advanceMs(idleMs)
    await sweepElsewhere(new Map([[session.number, clock.unixMs() - 1]]))
    expect(await registry.find(session.id)).toBe(session)
    await use()
    clock.advanceMs(idleMs - 1)
    expect(await sweepElsewhere()).toEqual([])
  })

  test('while a stream stands that could not be noted', async () => {
    const commit = store.commit.bind(store)
    store.commit = () => Promise.reject(new RecordStoreUnavailable('frozen'))
    expect(await registry.takeStream(session)).toBe(session)
    store.commit = commit
    session.stream = { end: () => undefined }
    for (let passedMs = 0; passedMs < 2 * idleMs; passedMs += 30_000) await sweepHere()
    expect([registry.count, (await store.restore()).sessions.length]).toEqual([1, 1])
  })
})

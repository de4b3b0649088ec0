// C5: what a client asked of its session is as it was answered, also while the sessions' store fails.
import { manualClock } from '@tallystick/service-kit'
import { beforeEach, describe, expect, test } from 'vitest'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { DEFAULT_MCP_LIMITS } from './limits.ts'
import { type McpSession, SessionRegistry } from './session-registry.ts'

const TEA = 'care://ann/tea'

describe('C5: of two like requests the first fails late, as against a frozen database, and the second is answered', () => {
  let commits: PromiseWithResolvers<void>[] = []
  let registry: SessionRegistry
  let session: McpSession
  beforeEach(async () => {
    commits = []
    registry = new SessionRegistry({
      clock: manualClock(0),
      limits: DEFAULT_MCP_LIMITS,
      store: {
        save: () => undefined,
        takeStream: async () => 1,
        commit: () => {
          const commit = Promise.withResolvers<void>()
          commits.push(commit)
          return commit.promise
        },
      },
      sizes: () => ({ user: 3, assistant: 4 }),
      randomBytes: (size) => new Uint8Array(size).fill(1),
      onEnd: () => undefined,
    })
    const opening = registry.open({ sub: 'host', scopes: ['care.read.user'] })
    commits[0]?.resolve()
    const opened = await opening
    if (opened === undefined) throw new Error('no session')
    session = opened
    registry.stop()
    commits = []
  })

  /** The first of both commits fails while the second request is there; the second's succeeds. */
  async function failFirst(first: Promise<unknown>, second: Promise<unknown>): Promise<void> {
    const ends = Promise.allSettled([first, second])
    commits[0]?.reject(new RecordStoreUnavailable('frozen'))
    await expect.poll(() => commits.length, { timeout: 5_000 }).toBe(2)
    commits.at(-1)?.resolve()
    expect(await ends).toMatchObject([
      { status: 'rejected', reason: expect.any(RecordStoreUnavailable) },
      { status: 'fulfilled' },
    ])
  }

  test('a subscription stands', async () => {
    const subscribe = () => registry.subscribe(session, TEA)
    await failFirst(subscribe(), subscribe())
    expect(session.subscriptions).toEqual(new Map([[TEA, 7]]))
    expect(registry.subscriptions.countBefore(TEA, 7)).toBe(1)
  })

  test('an ended subscription is gone', async () => {
    const subscribing = registry.subscribe(session, TEA)
    commits.pop()?.resolve()
    await subscribing
    const unsubscribe = () => registry.unsubscribe(session, TEA)
    await failFirst(unsubscribe(), unsubscribe())
    expect(session.subscriptions).toBeUndefined()
  })

  test('a log level is the one that was answered', async () => {
    await failFirst(registry.setLogLevel(session, 'debug'), registry.setLogLevel(session, 'error'))
    expect(session.logLevel).toBe('error')
  })
})

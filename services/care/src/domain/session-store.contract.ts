// The rules that every session store keeps, whatever it is built on. The suite gets a fresh store, and a way to reopen
// what it kept, as a restarted process does.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ERASED_FRAME,
  type SessionStore,
  type StoredFrame,
  type StoredSession,
} from './session-store.ts'

type SessionStoreUnderTest = {
  readonly store: SessionStore
  /** Ends the store without `close`, as a kill does, and reopens what it kept. */
  reopen(): Promise<SessionStore>
  end(): Promise<void>
}

const session = (number: number, over: Partial<StoredSession> = {}): StoredSession => ({
  number,
  id: `session-${number}`,
  sub: 'host',
  scopes: ['care.read.user', 'care.read.assistant'],
  logLevel: undefined,
  createdAtMs: 1_780_300_800_000,
  lastSequence: 0,
  carriedSequence: 0,
  ...over,
})

const frame = (number: number, recipients: StoredFrame['recipients']): StoredFrame => ({
  number,
  text: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', number }),
  about: 'care://ann/tea',
  recipients,
})

/** The suite; call it once per implementation. */
export function describeSessionStore(
  name: string,
  open: () => Promise<SessionStoreUnderTest>,
): void {
  describe(`a session store: ${name}`, () => {
    let under: SessionStoreUnderTest
    beforeEach(async () => {
      under = await open()
    })
    afterEach(async () => {
      await under.end()
    })

    it('is empty at first', async () => {
      expect(await under.store.restore()).toEqual({
        sessions: [],
        frames: [],
        published: new Map(),
        unheard: [],
      })
    })

    it('C5: session, subscriptions, log level and frames survive a restart', async () => {
      const kept = session(7, { logLevel: 'warning', lastSequence: 2, carriedSequence: 1 })
      const frames = [
        frame(3, [{ session: 7, sequence: 1 }]),
        frame(4, [
          { session: 7, sequence: 2 },
          { session: 4_000_000_000, sequence: 4_000_000_000 },
        ]),
      ]
      under.store.save([
        { kind: 'session', session: session(7) },
        { kind: 'session', session: kept },
        { kind: 'subscribed', session: 7, uri: 'care://ann/tea' },
        { kind: 'subscribed', session: 7, uri: 'care://ann/tea' },
        { kind: 'subscribed', session: 7, uri: 'care://ann/%C3%96' },
        ...frames.map((one) => ({ kind: 'frame', frame: one }) as const),
      ])
      await under.store.flush()
      const restored = await (await under.reopen()).restore()
      expect(restored.frames).toEqual(frames)
      expect(restored.sessions).toHaveLength(1)
      const [first] = restored.sessions
      expect(first).toMatchObject(kept)
      expect(first?.subscriptions.toSorted()).toEqual(['care://ann/%C3%96', 'care://ann/tea'])
    })

    it('changes apply in their order', async () => {
      under.store.save([
        { kind: 'session', session: session(1) },
        { kind: 'session', session: session(2, { sub: 'other' }) },
        { kind: 'subscribed', session: 1, uri: 'care://ann/tea' },
        { kind: 'subscribed', session: 2, uri: 'care://ann/tea' },
        { kind: 'unsubscribed', session: 2, uri: 'care://ann/tea' },
        { kind: 'frame', frame: frame(1, [{ session: 1, sequence: 1 }]) },
        { kind: 'frame', frame: frame(2, [{ session: 2, sequence: 1 }]) },
        { kind: 'ended', session: 1 },
        { kind: 'frames-dropped', numbers: [1] },
      ])
      await under.store.flush()
      const restored = await (await under.reopen()).restore()
      expect(restored.sessions.map(({ number, subscriptions }) => [number, subscriptions])).toEqual(
        [[2, []]],
      )
      expect(restored.frames.map(({ number }) => number)).toEqual([2])
    })

    it('a chain’s published version never goes back', async () => {
      const uri = 'care://ann/tea'
      under.store.save([
        { kind: 'published', uri, version: 3 },
        { kind: 'published', uri, version: 2 },
      ])
      await under.store.flush()
      const { published } = await (await under.reopen()).restore()
      expect(published).toEqual(new Map([[uri, 3]]))
    })

    it('C31: frames about an erased chain say nothing and keep their places; others stay as they are', async () => {
      const other = { ...frame(2, [{ session: 1, sequence: 2 }]), about: 'care://ann/walks' }
      under.store.save([
        { kind: 'session', session: session(1, { lastSequence: 3 }) },
        { kind: 'frame', frame: frame(1, [{ session: 1, sequence: 1 }]) },
        { kind: 'frame', frame: other },
        { kind: 'frame', frame: frame(3, [{ session: 1, sequence: 3 }]) },
        { kind: 'published', uri: 'care://ann/tea', version: 3 },
        { kind: 'published', uri: 'care://ann/walks', version: 1 },
        { kind: 'erased', uris: ['care://ann/tea', 'care-internal://ann/tea'] },
      ])
      await under.store.flush()
      const { frames, published } = await (await under.reopen()).restore()
      const empty = (number: number) => ({
        ...frame(number, [{ session: 1, sequence: number }]),
        ...ERASED_FRAME,
      })
      expect(frames).toEqual([empty(1), other, empty(3)])
      expect(published).toEqual(new Map([['care://ann/walks', 1]]))
    })

    it('C29: what nobody has heard is kept until somebody has', async () => {
      const unheard = { uri: 'care://ann/tea', version: 2, sinceMs: 1_780_300_800_000 }
      under.store.save([
        { kind: 'unheard', unheard },
        { kind: 'unheard', unheard: { ...unheard, version: 3 } },
        { kind: 'unheard', unheard: { ...unheard, uri: 'care://ann/diet' } },
        { kind: 'heard', uri: 'care://ann/diet' },
        { kind: 'heard', uri: 'care://ann/none' },
      ])
      await under.store.flush()
      const restored = await (await under.reopen()).restore()
      expect(restored.unheard).toEqual([{ ...unheard, version: 3 }])
    })

    it('a session that was saved twice keeps its subscriptions', async () => {
      under.store.save([
        { kind: 'session', session: session(1) },
        { kind: 'subscribed', session: 1, uri: 'care://ann/tea' },
        { kind: 'session', session: session(1, { lastSequence: 5 }) },
      ])
      await under.store.flush()
      const { sessions } = await (await under.reopen()).restore()
      expect(sessions).toMatchObject([{ lastSequence: 5, subscriptions: ['care://ann/tea'] }])
    })
  })
}

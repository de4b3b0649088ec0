// The rules that every session store keeps, whatever it is built on. The suite gets a fresh store, and a way to reopen
// what it kept, as a restarted process does.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RecordStoreUnavailable } from './record-store.ts'
import {
  EVENT_KEY_BYTES,
  type NewSession,
  type SessionChange,
  type SessionStore,
} from './session-store.ts'

type SessionStoreUnderTest = {
  readonly store: SessionStore
  /** Ends the store without `close`, as a kill does, and reopens what it kept. */
  reopen(): Promise<SessionStore>
  end(): Promise<void>
}

const TEA = 'care://ann/tea'
const SIZES = { user: 1_000_000_000_000, assistant: 9 }

const newSession = (number: number, over: Partial<NewSession> = {}): NewSession => ({
  number,
  id: `session-${number}`,
  sub: 'host',
  scopes: ['care.read.user', 'care.read.assistant'],
  carried: { user: 0, assistant: 0, frames: 0 },
  ...over,
})
const opened = (
  number: number,
  over: Partial<NewSession> = {},
  perSubMax = 1_000,
): SessionChange => ({
  kind: 'opened',
  session: number,
  opened: newSession(number, over),
  perSubMax,
})
const subscribed = (session: number, place = 0, over: object = {}): SessionChange => ({
  kind: 'subscribed',
  session,
  uri: TEA,
  max: 9,
  place: () => place,
  ...over,
})
const carriedTo = (user: number, epoch: number) => {
  const carried = { user, assistant: 0, frames: 1 }
  return [{ kind: 'carried', session: 1, epoch, carried }] as const
}
const ALL = { absoluteMs: 3_600_000, idleMs: 60_000, seen: new Map<number, number>() }

/** The suite; call it once per implementation. */
export function describeSessionStore(
  name: string,
  open: () => Promise<SessionStoreUnderTest>,
): void {
  describe(`a session store: ${name}`, () => {
    let under: SessionStoreUnderTest
    beforeEach(async () => {
      under = await open()
      await under.store.enter(SIZES)
    })
    afterEach(async () => {
      await under.end()
    })
    const commit = (change: SessionChange) => under.store.commit(change)
    const left = async () => (await (await under.reopen()).restore()).sessions

    it('is empty at first', async () => {
      const { eventKey, ...restored } = await under.store.restore()
      expect(restored).toEqual({ sessions: [], unheard: [], judgedTo: undefined })
      expect(eventKey).toHaveLength(EVENT_KEY_BYTES)
    })

    it('C3: the key of event ids is drawn once, and the same for every process', async () => {
      const { eventKey } = await under.store.restore()
      const again = await (await under.reopen()).restore()
      expect(again.eventKey).toEqual(eventKey)
    })

    it('C5: session, position, subscriptions with their beginnings, and log level survive a kill', async () => {
      const carried = { user: 1_000_000_000_000, assistant: 3, frames: 2 }
      const number = 4_000_000_000
      expect(await commit(opened(number, { carried }))).toEqual({ kind: 'done', changes: 1 })
      expect(await commit(subscribed(number, 7))).toMatchObject({ changes: 2, since: 7 })
      // Once more: it keeps its beginning.
      expect(await commit(subscribed(number, 8))).toMatchObject({ changes: 3, since: 7 })
      const level = { kind: 'level', session: number, logLevel: 'warning' } as const
      expect(await commit(level)).toEqual({ kind: 'done', changes: 4 })
      await commit(subscribed(number, 8, { uri: 'care://ann/%C3%96' }))
      const [session] = await left()
      expect(session).toMatchObject({
        ...newSession(number, { carried }),
        logLevel: 'warning',
        changes: 5,
        streamEpoch: 0,
        silentSinceMs: expect.any(Number),
        subscriptions: new Map([
          [TEA, 7],
          ['care://ann/%C3%96', 8],
        ]),
      })
      expect(await under.store.find([number, 5])).toEqual([session])
    })

    it('C5: changes apply in their order; of a session that is gone there is nothing', async () => {
      const outcomes = await Promise.all([
        commit(opened(1)),
        commit(opened(2, { sub: 'other' })),
        commit(subscribed(1)),
        commit(subscribed(2)),
        commit({ kind: 'unsubscribed', session: 2, uri: TEA }),
        commit(subscribed(2, 9)),
        commit({ kind: 'scopes', session: 2, scopes: ['care.read.user'], lost: [] }),
        commit({ kind: 'ended', session: 1 }),
        commit(subscribed(1)),
        commit({ kind: 'level', session: 3, logLevel: 'debug' }),
      ])
      expect(outcomes.slice(-3)).toEqual([{ kind: 'gone' }, { kind: 'gone' }, { kind: 'gone' }])
      expect(await left()).toMatchObject([
        { number: 2, scopes: ['care.read.user'], changes: 5, subscriptions: new Map([[TEA, 9]]) },
      ])
      await commit({ kind: 'scopes', session: 2, scopes: [], lost: [TEA] })
      expect(await left()).toMatchObject([{ scopes: [], subscriptions: new Map() }])
    })

    it('C5: what cannot be stored is refused, with what was asked at the same moment', async () => {
      await commit(opened(1))
      const unstorable = commit(
        opened(2, { carried: { user: Number.NaN, assistant: 0, frames: 0 } }),
      )
      const beside = commit({ kind: 'ended', session: 1 })
      await expect(unstorable).rejects.toThrow(Error)
      await expect(beside).rejects.toThrow(Error)
      expect(await left()).toMatchObject([{ number: 1 }])
    })

    it('C5: where others open sessions too, a principal has no more than it may', async () => {
      const requested = [1, 2, 3].map((number) => commit(opened(number, {}, 2)))
      const third = under.store.isShared ? 'too-many' : 'done'
      const kinds = (await Promise.all(requested)).map(({ kind }) => kind)
      expect(kinds).toEqual(['done', 'done', third])
      expect(await commit(opened(4, { sub: 'other' }, 2))).toMatchObject({ kind: 'done' })
      expect(await left()).toHaveLength(under.store.isShared ? 3 : 4)
    })

    it('C5: a session has no more subscriptions than it may', async () => {
      await commit(opened(1))
      expect(await commit(subscribed(1, 0, { max: 1 }))).toMatchObject({ kind: 'done' })
      expect(await commit(subscribed(1, 0, { max: 1 }))).toMatchObject({ kind: 'done' })
      expect(await commit(subscribed(1, 0, { uri: 'care://ann/milk', max: 1 }))).toEqual({
        kind: 'too-many',
      })
    })

    it('C3: the newest stream of a session, whoever took it, alone says how far it was told', async () => {
      const { store } = under
      await store.commit(opened(1))
      const other = await under.reopen()
      const taking = { kind: 'stream', session: 1 } as const
      expect(await store.commit(taking)).toMatchObject({ stream: { streamEpoch: 1 } })
      store.save(carriedTo(3, 1))
      await store.flush()
      const carried = { user: 3, assistant: 0, frames: 1 }
      expect(await other.commit(taking)).toMatchObject({ stream: { streamEpoch: 2, carried } })
      expect(await other.commit({ kind: 'stream', session: 2 })).toEqual({ kind: 'gone' })
      other.save(carriedTo(5, 2))
      await other.flush()
      // A process that slept says where its stream had come, and that it ended.
      store.save([...carriedTo(9, 1), { kind: 'left', session: 1, epoch: 1 }])
      await store.flush()
      expect(await left()).toMatchObject([
        { carried: { user: 5, frames: 1 }, streamEpoch: 2, silentSinceMs: undefined },
      ])
      other.save([{ kind: 'left', session: 1, epoch: 2 }])
      await other.flush()
      expect(await left()).toMatchObject([{ streamEpoch: 2, silentSinceMs: expect.any(Number) }])
    })

    it('C5: a session that is over is swept once, unless it has a stream or was in use', async () => {
      const { store } = under
      for (const number of [1, 2, 3]) await store.commit(opened(number))
      await store.commit(subscribed(1))
      await store.commit({ kind: 'stream', session: 2 })
      expect(await store.sweep(ALL)).toEqual([])
      // Nobody has used any for longer than that.
      const idle = { ...ALL, idleMs: -3_600_000 }
      expect(await store.sweep({ ...idle, only: 2 })).toEqual([])
      const swept = await store.sweep(idle)
      expect(swept.toSorted((first, second) => first.number - second.number)).toEqual([
        { number: 1, reason: 'idle' },
        { number: 3, reason: 'idle' },
      ])
      expect(await store.sweep(idle)).toEqual([])
      expect(await store.sweep({ ...ALL, absoluteMs: -1, only: 2 })).toEqual([
        { number: 2, reason: 'too-old' },
      ])
      expect(await left()).toEqual([])
      await store.commit(opened(1))
      expect(await left()).toMatchObject([{ subscriptions: new Map() }])
    })

    it('C29: what nobody has heard is kept until somebody has', async () => {
      const unheard = { uri: TEA, version: 2, sinceMs: 1_780_300_800_000, language: 'de' }
      under.store.save([
        { kind: 'unheard', unheard },
        { kind: 'unheard', unheard: { ...unheard, version: 3 } },
        { kind: 'unheard', unheard: { ...unheard, uri: 'care://ann/diet' } },
        { kind: 'heard', uri: 'care://ann/diet' },
        { kind: 'heard', uri: 'care://ann/none' },
        { kind: 'judged', place: 7 },
        { kind: 'judged', place: 6 },
      ])
      await under.store.flush()
      const restored = await (await under.reopen()).restore()
      expect(restored).toMatchObject({ unheard: [{ ...unheard, version: 3 }], judgedTo: 7 })
    })

    it('a change of a store that is closed is refused', async () => {
      await under.store.close()
      await expect(under.store.commit(opened(1))).rejects.toThrow(RecordStoreUnavailable)
    })
  })
}

// The rules that every session store keeps, whatever it is built on. The suite gets a fresh store, and a way to reopen
// what it kept, as a restarted process does.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EVENT_KEY_BYTES, type SessionStore, type StoredSession } from './session-store.ts'

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
  carried: { user: 0, assistant: 0, frames: 0 },
  ...over,
})

const carriedTo = (user: number, epoch: number) => {
  const carried = { user, assistant: 0, frames: 1 }
  return [{ kind: 'carried', session: 1, epoch, carried }] as const
}

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
      const { eventKey, ...restored } = await under.store.restore()
      expect(restored).toEqual({ sessions: [], unheard: [], judgedTo: undefined })
      expect(eventKey).toHaveLength(EVENT_KEY_BYTES)
    })

    it('C3: the key of event ids is drawn once, and the same for every process', async () => {
      const { eventKey } = await under.store.restore()
      const again = await (await under.reopen()).restore()
      expect(again.eventKey).toEqual(eventKey)
    })

    it('C5: session, position, subscriptions with their beginnings, and log level survive a restart', async () => {
      const carried = { user: 1_000_000_000_000, assistant: 3, frames: 2 }
      const kept = session(4_000_000_000, { logLevel: 'warning', carried })
      const { number } = kept
      under.store.save([
        { kind: 'session', session: session(number) },
        { kind: 'session', session: kept },
        { kind: 'subscribed', session: number, uri: 'care://ann/tea', since: 7 },
        { kind: 'subscribed', session: number, uri: 'care://ann/tea', since: 7 },
        { kind: 'subscribed', session: number, uri: 'care://ann/%C3%96', since: 8 },
      ])
      await under.store.flush()
      const { sessions } = await (await under.reopen()).restore()
      const subscriptions = new Map([
        ['care://ann/tea', 7],
        ['care://ann/%C3%96', 8],
      ])
      expect(sessions).toEqual([{ ...kept, subscriptions, streamEpoch: 0 }])
    })

    it('C5: what is committed survives a kill without a flush, and what failed is not there', async () => {
      await under.store.commit([
        { kind: 'session', session: session(1) },
        { kind: 'subscribed', session: 1, uri: 'care://ann/tea', since: 4 },
      ])
      const scopes = ['care.read.user']
      await under.store.commit([{ kind: 'changed', session: 1, scopes, logLevel: 'error' }])
      // A session that is gone gets no subscription.
      await under.store.commit([
        { kind: 'subscribed', session: 2, uri: 'care://ann/tea', since: 4 },
      ])
      const unstorable = session(3, { createdAtMs: Number.NaN })
      const failing = under.store.commit([
        { kind: 'ended', session: 1 },
        { kind: 'session', session: unstorable },
      ])
      await expect(failing).rejects.toThrow(Error)
      const { sessions } = await (await under.reopen()).restore()
      const subscriptions = new Map([['care://ann/tea', 4]])
      const kept = session(1, { scopes, logLevel: 'error' })
      expect(sessions).toEqual([{ ...kept, subscriptions, streamEpoch: 0 }])
    })

    it('C3: the newest stream of a session, whoever took it, alone says how far it was told', async () => {
      await under.store.commit([{ kind: 'session', session: session(1) }])
      const other = await under.reopen()
      expect(await under.store.takeStream(1)).toBe(1)
      expect(await other.takeStream(1)).toBe(2)
      expect(await other.takeStream(2)).toBe(undefined)
      other.save(carriedTo(5, 2))
      await other.flush()
      // A process that slept says where its stream had come.
      under.store.save(carriedTo(9, 1))
      await under.store.flush()
      const { sessions } = await (await under.reopen()).restore()
      expect(sessions).toMatchObject([{ carried: { user: 5, frames: 1 }, streamEpoch: 2 }])
    })

    it('changes apply in their order', async () => {
      const tea = { uri: 'care://ann/tea', since: 0 }
      under.store.save([
        { kind: 'session', session: session(1) },
        { kind: 'session', session: session(2, { sub: 'other' }) },
        { kind: 'subscribed', session: 1, ...tea },
        { kind: 'subscribed', session: 2, ...tea },
        { kind: 'unsubscribed', session: 2, uri: tea.uri },
        { kind: 'subscribed', session: 2, ...tea, since: 9 },
        { kind: 'ended', session: 1 },
      ])
      await under.store.flush()
      const { sessions } = await (await under.reopen()).restore()
      const shown = sessions.map(({ number, subscriptions }) => [number, [...subscriptions]])
      expect(shown).toEqual([[2, [[tea.uri, 9]]]])
    })

    it('C29: what nobody has heard is kept until somebody has', async () => {
      const unheard = { uri: 'care://ann/tea', version: 2, sinceMs: 1_780_300_800_000 }
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

    it('a session that was saved twice keeps its subscriptions', async () => {
      const carried = { user: 5, assistant: 0, frames: 0 }
      under.store.save([
        { kind: 'session', session: session(1) },
        { kind: 'subscribed', session: 1, uri: 'care://ann/tea', since: 4 },
        { kind: 'session', session: session(1, { carried }) },
      ])
      await under.store.flush()
      const { sessions } = await (await under.reopen()).restore()
      const subscriptions = new Map([['care://ann/tea', 4]])
      expect(sessions).toMatchObject([{ carried, subscriptions }])
    })
  })
}

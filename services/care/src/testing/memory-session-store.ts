// A session store that keeps everything in memory, for tests; it passes the same suite as the SQLite store. Two endpoints
// opened on one of them, one after the other, are a process and its restart.
import type {
  RestoredSessions,
  SessionChange,
  SessionStore,
  StoredFrame,
  StoredSession,
} from '../domain/session-store.ts'

type MemorySessionStore = SessionStore & {
  /** Changes that were saved and not kept yet. */
  queued(): number
}

/** An empty store; what is not flushed is lost to `restore`, as by a kill. */
export function createMemorySessionStore(): MemorySessionStore {
  const sessions = new Map<number, StoredSession>()
  const subscriptions = new Map<number, Set<string>>()
  const frames = new Map<number, StoredFrame>()
  const published = new Map<string, number>()
  let queue: SessionChange[] = []

  const keep = (change: SessionChange): void => {
    switch (change.kind) {
      case 'session':
        sessions.set(change.session.number, structuredClone(change.session))
        break
      case 'subscribed': {
        const uris = subscriptions.get(change.session) ?? new Set()
        subscriptions.set(change.session, uris.add(change.uri))
        break
      }
      case 'unsubscribed':
        subscriptions.get(change.session)?.delete(change.uri)
        break
      case 'frame':
        frames.set(change.frame.number, structuredClone(change.frame))
        break
      case 'frames-dropped':
        for (const number of change.numbers) frames.delete(number)
        break
      case 'ended':
        sessions.delete(change.session)
        subscriptions.delete(change.session)
        break
      case 'published':
        published.set(change.uri, Math.max(change.version, published.get(change.uri) ?? 0))
        break
    }
  }

  return {
    async restore(): Promise<RestoredSessions> {
      return structuredClone({
        sessions: [...sessions.values()].map((session) => ({
          ...session,
          subscriptions: [...(subscriptions.get(session.number) ?? [])],
        })),
        frames: [...frames.values()].toSorted((left, right) => left.number - right.number),
        published,
      })
    },
    save(changes) {
      queue.push(...changes)
    },
    async flush() {
      const changes = queue
      queue = []
      for (const change of changes) keep(change)
    },
    queued: () => queue.length,
    async close() {},
  }
}

import type { McpSession } from './session.ts'

const NOBODY: ReadonlySet<McpSession> = new Set()

/** Who subscribes to what, by session and by URI. */
export type SubscriptionIndex = {
  /** False where the session already subscribes. */
  add(session: McpSession, uri: string): boolean
  /** False where the session did not subscribe. */
  remove(session: McpSession, uri: string): boolean
  of(uri: string): ReadonlySet<McpSession>
  /** Every URI that anybody subscribes to. */
  uris(): Iterable<string>
  count(): number
}

/** An empty index. */
export function createSubscriptionIndex(): SubscriptionIndex {
  const byUri = new Map<string, Set<McpSession>>()
  let count = 0
  return {
    add(session, uri) {
      session.subscriptions ??= new Set()
      if (session.subscriptions.has(uri)) return false
      session.subscriptions.add(uri)
      count += 1
      byUri.set(uri, (byUri.get(uri) ?? new Set()).add(session))
      return true
    },
    remove(session, uri) {
      if (session.subscriptions?.delete(uri) !== true) return false
      count -= 1
      if (session.subscriptions.size === 0) session.subscriptions = undefined
      const subscribed = byUri.get(uri)
      subscribed?.delete(session)
      if (subscribed?.size === 0) byUri.delete(uri)
      return true
    },
    of: (uri) => byUri.get(uri) ?? NOBODY,
    uris: () => byUri.keys(),
    count: () => count,
  }
}

/** Who subscribes to what, by session and by URI. */
import type { McpSession } from './mcp-session.ts'

const NOBODY: ReadonlySet<McpSession> = new Set()

export class SubscriptionIndex {
  readonly #byUri = new Map<string, Set<McpSession>>()
  count = 0

  /** One that the session has begins where its row says. */
  add(session: McpSession, uri: string, since: number): void {
    session.subscriptions ??= new Map()
    if (!session.subscriptions.has(uri)) {
      this.count += 1
      this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(session))
    }
    session.subscriptions.set(uri, since)
  }

  remove(session: McpSession, uri: string): void {
    if (session.subscriptions?.delete(uri) !== true) return
    this.count -= 1
    if (session.subscriptions.size === 0) session.subscriptions = undefined
    const subscribed = this.#byUri.get(uri)
    subscribed?.delete(session)
    if (subscribed?.size === 0) this.#byUri.delete(uri)
  }

  /** Gives a session these, and no others. */
  replace(session: McpSession, subscriptions: ReadonlyMap<string, number>): void {
    for (const uri of session.subscriptions?.keys() ?? [])
      if (!subscriptions.has(uri)) this.remove(session, uri)
    for (const [uri, since] of subscriptions) this.add(session, uri, since)
  }

  of(uri: string): ReadonlySet<McpSession> {
    return this.#byUri.get(uri) ?? NOBODY
  }

  /** Sessions that followed a URI when the version of a place was written. */
  countBefore(uri: string, place: number): number {
    let count = 0
    for (const { subscriptions } of this.of(uri))
      if ((subscriptions?.get(uri) ?? Number.POSITIVE_INFINITY) <= place) count += 1
    return count
  }
}

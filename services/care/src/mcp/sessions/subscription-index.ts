/** Who follows what, by session or listen and by URI. */

type Follower = {
  /** Where they began, by URI; absent while empty. */
  subscriptions: Map<string, number> | undefined
  /** Ends what may not follow any more, as a listen whose token was revoked. */
  isOver?(): boolean
}

const NOBODY: ReadonlySet<never> = new Set()

export class SubscriptionIndex<Each extends Follower> {
  readonly #byUri = new Map<string, Set<Each>>()
  count = 0

  /** One that a session has begins where its row says. */
  add(follower: Each, uri: string, since: number): void {
    follower.subscriptions ??= new Map()
    if (!follower.subscriptions.has(uri)) {
      this.count += 1
      this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(follower))
    }
    follower.subscriptions.set(uri, since)
  }

  remove(follower: Each, uri: string): void {
    if (follower.subscriptions?.delete(uri) !== true) return
    this.count -= 1
    if (follower.subscriptions.size === 0) follower.subscriptions = undefined
    const subscribed = this.#byUri.get(uri)
    subscribed?.delete(follower)
    if (subscribed?.size === 0) this.#byUri.delete(uri)
  }

  /** Gives these, and no others. */
  replace(follower: Each, subscriptions: ReadonlyMap<string, number>): void {
    for (const uri of follower.subscriptions?.keys() ?? [])
      if (!subscriptions.has(uri)) this.remove(follower, uri)
    for (const [uri, since] of subscriptions) this.add(follower, uri, since)
  }

  findSubscribers(uri: string): ReadonlySet<Each> {
    return this.#byUri.get(uri) ?? NOBODY
  }

  /** Those that followed a URI when the version of a place was written. */
  countBefore(uri: string, place: number): number {
    let count = 0
    for (const follower of this.findSubscribers(uri)) {
      const isGone = follower.isOver?.() === true
      const since = follower.subscriptions?.get(uri) ?? Number.POSITIVE_INFINITY
      if (!isGone && since <= place) count += 1
    }
    return count
  }
}

import { type Clock, pause } from './clock.ts'

type RetryingDelivery<Item> = {
  readonly clock: Clock
  /** Waits before the second and later attempts, milliseconds; after the last one the item is lost. */
  readonly retryAfterMs: readonly number[]
  /** Most items that may wait; the next one is lost. */
  readonly waitingMax: number
  /** Longest wait when closing, milliseconds; each waiting item gets one more attempt in that time. */
  readonly closeMs: number
  /** Names items: a newer item replaces an undelivered one of the same name. If absent, none is replaced. */
  readonly nameItem?: (item: Item) => string
  /** Tries once. Resolves with why the item was not taken, or undefined if it was. */
  readonly attempt: (item: Item, signal: AbortSignal) => Promise<string | undefined>
  readonly onLost: (item: Item, reason: string) => void
}

/**
 * Delivers items in the background, one after another in order, each until it is taken or its attempts are used up. Nobody
 * waits for it; items it cannot deliver are reported.
 */
export function createRetryingDelivery<Item>(options: RetryingDelivery<Item>) {
  const { attempt, clock, closeMs, nameItem, onLost, retryAfterMs, waitingMax } = options
  const waiting = new Map<unknown, Item>()
  const closing = new AbortController()
  const closed = new AbortController()
  let running: Promise<void> | undefined

  const isReplaced = (item: Item): boolean => nameItem !== undefined && waiting.has(nameItem(item))
  const deliver = async (item: Item): Promise<void> => {
    for (let tries = 0; ; tries += 1) {
      const reason = await attempt(item, closed.signal)
      const afterMs = retryAfterMs[tries]
      if (reason === undefined) return
      if (afterMs === undefined || closing.signal.aborted) return onLost(item, reason)
      await pause(clock, afterMs, closing.signal)
      if (isReplaced(item)) return
    }
  }
  const run = async (): Promise<void> => {
    for (const [key, item] of waiting) {
      waiting.delete(key)
      if (closed.signal.aborted) onLost(item, 'the service ended')
      else await deliver(item)
    }
    running = undefined
  }
  return {
    /** Queues an item. */
    send(item: Item): void {
      if (closing.signal.aborted) return
      const key = nameItem === undefined ? Symbol('item') : nameItem(item)
      if (waiting.size >= waitingMax && !waiting.has(key))
        return onLost(item, 'too many are waiting')
      waiting.set(key, item)
      running ??= run()
    },
    /** Takes no more, and resolves when all is delivered or lost. */
    async close(): Promise<void> {
      closing.abort()
      if (closeMs === 0) closed.abort()
      const cancel = clock.after(closeMs, () => closed.abort())
      await running
      cancel()
    },
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Repeated work, one run after the other. A run begins no earlier than the end of the event loop's iteration. All who ask
 * before it begins share it, so their changes are written together.
 */
export function sharedRuns(run: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined
  const runAfter = async (before: Promise<unknown>): Promise<void> => {
    await before
    await nextTurn()
    next = undefined
    await run()
  }
  return () => {
    if (next !== undefined) return next
    next = runAfter(last)
    last = next.catch(() => undefined)
    return next
  }
}

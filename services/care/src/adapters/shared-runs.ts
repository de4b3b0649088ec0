import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Work that is done again and again, one run after the other. A run begins at the end of the event loop's iteration at the
 * earliest, and whoever asks before it begins shares it: what came meanwhile is written together.
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

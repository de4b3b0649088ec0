// When sessions are written, on either engine. Changes are gathered and committed together, at the end of the event loop's
// iteration: those that a client asked for, which waits for the commit, and those that nobody waits for. On a file a commit
// survives the end of the process without waiting for the disk; after a loss of power some sessions may be outdated or gone, and
// their clients open new ones. A server's is as durable as a record, since a subscription that a failover forgot is a correction
// that nobody hears. If what nobody waits for cannot be kept whole, nothing is kept: no restart resumes sessions with a gap.
import type { SessionChange, SessionStore } from '../domain/session-store.ts'
import { applyChanges, restoredFrom, takeStream } from './session-rows.ts'
import { sharedRuns } from './shared-runs.ts'
import type { SideRows } from './side-rows.ts'

/** Changes that nobody waits for may wait while the disk refuses them, about 20 MB; beyond that, the stored state cannot be completed. */
const QUEUE_MAX = 50_000

/** A change, and whoever waits for it. */
type Asked = { readonly change: SessionChange; readonly waiting?: PromiseWithResolvers<void> }

/** `onProblem` is told when a commit that nobody waits for failed; its changes are tried again with the next. */
export function openSessionStore(
  rows: SideRows,
  onProblem: (error: unknown) => void = () => undefined,
): SessionStore {
  let queue: Asked[] = []
  let isClosed = false
  /** Changes were lost: nothing is kept any more, and what was kept goes with the next commit. */
  let [isGivenUp, isCleared] = [false, false]
  const askedDurability = rows.engine === 'postgres' ? 'synced' : 'relaxed'
  const clear = async (): Promise<void> => {
    for (const { waiting } of queue) waiting?.resolve()
    queue = []
    if (!isCleared) await applyChanges(rows, [], { isCleared: true, durability: 'relaxed' })
    isCleared = true
  }
  const flush = sharedRuns(async () => {
    if (isGivenUp) return clear()
    if (queue.length === 0) return
    const taken = queue
    queue = []
    const isAwaited = taken.some(({ waiting }) => waiting !== undefined)
    const durability = isAwaited ? askedDurability : 'relaxed'
    try {
      const changes = taken.map(({ change }) => change)
      await applyChanges(rows, changes, { isCleared: false, durability })
      for (const { waiting } of taken) waiting?.resolve()
    } catch (error) {
      for (const { waiting } of taken) waiting?.reject(error)
      queue = [...taken.filter(({ waiting }) => waiting === undefined), ...queue]
      throw error
    }
  })
  return {
    flush,
    commit(changes) {
      // In memory alone from now on.
      if (isGivenUp || isClosed) return Promise.resolve()
      const waiting = Promise.withResolvers<void>()
      queue.push(...changes.map((change) => ({ change, waiting })))
      // Whoever waits is told.
      flush().catch(() => undefined)
      return waiting.promise
    },
    takeStream: async (session) => (isGivenUp ? 0 : takeStream(rows, session, askedDurability)),
    save(changes) {
      if (isCleared || isClosed) return
      if (!isGivenUp) queue.push(...changes.map((change) => ({ change })))
      isGivenUp ||= queue.length > QUEUE_MAX
      flush().catch(onProblem)
    },
    async restore() {
      await flush()
      return restoredFrom(rows)
    },
    async close() {
      isClosed = true
      await flush()
    },
  }
}

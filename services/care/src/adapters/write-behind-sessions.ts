// When sessions are written, on either engine. Changes are gathered and committed together, at the end of the event loop's
// iteration. A commit survives the end of the process without waiting for the disk; after a loss of power some sessions may be
// outdated or gone, and their clients open new ones. If they cannot be kept whole, none are kept: no restart resumes sessions
// with a gap.
import type { SessionChange, SessionStore } from '../domain/session-store.ts'
import { applyChanges, restoredFrom } from './session-rows.ts'
import { sharedRuns } from './shared-runs.ts'
import type { SideRows } from './side-rows.ts'

/** Changes that may wait while the disk refuses them, about 20 MB; beyond that, the stored state cannot be completed. */
const QUEUE_MAX = 50_000

/** `onProblem` is told when a commit that nobody waits for failed; its changes are tried again with the next. */
export function openSessionStore(
  rows: SideRows,
  onProblem: (error: unknown) => void = () => undefined,
): SessionStore {
  let queue: SessionChange[] = []
  let isClosed = false
  /** Changes were lost: nothing is kept any more, and what was kept goes with the next commit. */
  let [isGivenUp, isCleared] = [false, false]
  const flush = sharedRuns(async () => {
    if (isGivenUp) {
      queue = []
      if (!isCleared) await applyChanges(rows, [], true)
      isCleared = true
      return
    }
    if (queue.length === 0) return
    const changes = queue
    queue = []
    try {
      await applyChanges(rows, changes, false)
    } catch (error) {
      queue = [...changes, ...queue]
      throw error
    }
  })
  return {
    flush,
    save(changes) {
      if (isCleared || isClosed) return
      if (!isGivenUp) queue.push(...changes)
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

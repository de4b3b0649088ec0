import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 50
/** Ends a hang, before the test's own limit does. It proves nothing: a busy machine takes many times as long as a quiet one. */
const LIMIT_MS = 300_000

/** Polls until `condition` holds; throws if it never does, or as soon as `condition` throws. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`did not hold within ${LIMIT_MS} ms`)
    await pause(POLL_MS)
  }
}

import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 50

/** Polls until `condition` holds; throws when it does not within `timeoutMs`. What `condition` throws ends the wait. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`did not hold within ${timeoutMs} ms`)
    await pause(POLL_MS)
  }
}

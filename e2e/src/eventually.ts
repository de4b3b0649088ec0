import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 50

/** Polls until `condition` holds; throws if it does not within `timeoutMs`, or as soon as `condition` throws. */
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

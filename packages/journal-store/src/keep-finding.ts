import type { WriteTrouble } from './unavailable.ts'

/** How long a finding holds, milliseconds: each look costs a write to the disk, and anybody may ask. */
const FINDING_MS = 1_000

/** Whether writes go through, as `look` finds it; asked again within a second, the last finding is the answer. */
export function keepFinding(
  look: () => Promise<WriteTrouble | undefined>,
): () => Promise<WriteTrouble | undefined> {
  let last: { readonly atMs: number; readonly finding: ReturnType<typeof look> } | undefined
  return () => {
    const nowMs = performance.now()
    if (last === undefined || nowMs - last.atMs > FINDING_MS)
      last = { atMs: nowMs, finding: look() }
    return last.finding
  }
}

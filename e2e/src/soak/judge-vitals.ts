// Whether a service's memory stayed flat under load and its handles were released afterwards.
import type { Vitals } from './service-vitals.ts'

/** A heap may settle: caches fill, code is compiled. Continued growth beyond this is a leak. */
const HEAP_GROWTH_MAX = 0.25
const HEAP_SLACK_BYTES = 16 * 1024 * 1024
/** Sockets of the last seconds may still be closing. */
const HANDLES_SLACK = 8

const MIB = 1024 * 1024

/** The smallest sample: what remains just after garbage collection. */
function findFloor(samples: readonly Vitals[]): number {
  return Math.min(...samples.map(({ heapBytes }) => heapBytes))
}

type SoakSamples = {
  readonly before: Vitals
  /** In time order, under load. */
  readonly during: readonly Vitals[]
  /** A while after the load ended. */
  readonly after: Vitals
}

/** Every fault of a service; empty if it has none. */
export function leaksIn({ before, during, after }: SoakSamples): readonly string[] {
  const quarter = Math.floor(during.length / 4)
  if (quarter < 2) return [`${during.length} samples are too few to judge`]
  const early = findFloor(during.slice(quarter, 2 * quarter))
  const late = findFloor(during.slice(-quarter))
  const leaks: string[] = []
  if (late > early * (1 + HEAP_GROWTH_MAX) + HEAP_SLACK_BYTES)
    leaks.push(`heap grew from ${mebibytes(early)} to ${mebibytes(late)} MiB`)
  if (after.openFiles > before.openFiles + HANDLES_SLACK)
    leaks.push(`${before.openFiles} files were open before, ${after.openFiles} after`)
  if (after.resources > before.resources + HANDLES_SLACK)
    leaks.push(`${before.resources} handles before, ${after.resources} after`)
  return leaks
}

/** Rounded to whole MiB. */
export function mebibytes(bytes: number): number {
  return Math.round(bytes / MIB)
}

/**
 * Work in steps: the reader of a request yields after some milliseconds of work, and its driver decides what happens in
 * between. A route lets other requests run; a command continues at once.
 */
import { setImmediate as nextIteration } from 'node:timers/promises'

/** Work that yields between its steps and returns its result. */
export type Steps<Result> = Generator<void, Result>

/** Does the work without a pause. */
export function allAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Does the work, and lets other requests run between two steps. */
export async function inSteps<Result>(
  steps: Steps<Result>,
  breathe: () => Promise<void> = nextIteration,
): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await breathe()
  }
}

/** Characters written between two other requests: some fifty cards, a fraction of a millisecond. */
export const WRITTEN_PER_STEP = 65_536

/** Writes a text whose pieces are made one by one, and lets other requests run in between. */
export async function writtenInSteps(
  pieces: Iterable<string>,
  breathe: () => Promise<void> = nextIteration,
): Promise<string> {
  const gathered: string[] = []
  let written = 0
  for (const piece of pieces) {
    gathered.push(piece)
    written += piece.length
    if (written < WRITTEN_PER_STEP) continue
    await breathe()
    written = 0
  }
  return gathered.join('')
}

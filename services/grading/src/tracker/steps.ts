/**
 * Work in steps: what reads a request yields whenever it has worked for some milliseconds, and whoever drives it decides
 * what happens in between. A route lets other requests run, a command goes on at once.
 */

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
  breathe: () => Promise<void>,
): Promise<Result> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await breathe()
  }
}

/** Resolves in the next iteration of the event loop. */
export const nextIteration = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

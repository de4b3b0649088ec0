/**
 * Trying again after growing pauses. `retry` is the whole loop; whoever is woken otherwise in between (a queue, a poller, a
 * request) holds a back-off and asks it for the next pause. It runs in browsers, too.
 */
import { type Clock, pause } from './clock.ts'

/** How pauses grow. */
export type BackOffLimits = {
  /** The pause after the first failure, milliseconds. */
  readonly firstMs: number
  /** No pause is longer, whatever the other side asks for. Milliseconds. */
  readonly maxMs: number
  /** Each further failure multiplies the pause by this; 2 if absent. */
  readonly factor?: number
}

type BackOffOptions = BackOffLimits & {
  readonly clock: Pick<Clock, 'unixMs'>
  /** From 0 to 1. With it half of each pause is random: those who failed together do not return together. */
  readonly chance?: (() => number) | undefined
}

export type BackOff = ReturnType<typeof createBackOff>

/** Counts the failures of one thing that is tried, and says how long to leave it alone. */
export function createBackOff(options: BackOffOptions) {
  const { chance, clock, factor = 2, firstMs, maxMs } = options
  let failures = 0
  let restUntilMs = 0
  const rest = (ms: number): number => {
    const restMs = Math.min(ms, maxMs)
    restUntilMs = clock.unixMs() + restMs
    return restMs
  }
  return {
    /** Failures since it last succeeded. */
    get failures(): number {
      return failures
    },
    /** Begins a pause and returns its length, milliseconds: at least `retryAfterMs`, if the other side said so. */
    failed(retryAfterMs = 0): number {
      const longestMs = Math.min(firstMs * factor ** failures, maxMs)
      failures += 1
      const share = chance === undefined ? 1 : 0.5 + chance() / 2
      return rest(Math.max(Math.round(longestMs * share), retryAfterMs))
    },
    /** Ends the pause, unless the other side asks to be left alone. */
    succeeded(retryAfterMs = 0): void {
      failures = 0
      rest(retryAfterMs)
    },
    /** Returns the rest of the pause, milliseconds. A clock that was set back lengthens none beyond `maxMs`. */
    leftMs: (): number => Math.min(Math.max(0, restUntilMs - clock.unixMs()), maxMs),
  }
}

type RetryOptions = BackOffLimits & {
  readonly clock: Clock
  readonly chance?: (() => number) | undefined
  /** The last attempt begins this long after the first one, milliseconds. */
  readonly limitMs: number
  /** Ends a pause and everything after it. */
  readonly signal?: AbortSignal
  /** Whether to try again after an error; if absent, after each. */
  readonly isTransient?: (error: unknown) => boolean
}

/** `given_up` has the error of the last attempt, if it failed. */
type RetryEnd<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'given_up'; readonly cause: unknown }

/** Attempts until there is a value; undefined means not yet. Rejects with an error that is not transient. */
export async function retry<Value extends object>(
  options: RetryOptions,
  attempt: () => Promise<Value | undefined>,
): Promise<RetryEnd<Value>> {
  const { clock, isTransient = () => true, limitMs, signal } = options
  const backOff = createBackOff(options)
  const untilMs = clock.unixMs() + limitMs
  for (;;) {
    let cause: unknown
    try {
      const value = await attempt()
      if (value !== undefined) return { kind: 'done', value }
    } catch (error) {
      if (!isTransient(error)) throw error
      cause = error
    }
    const leftMs = untilMs - clock.unixMs()
    if (leftMs <= 0) return { kind: 'given_up', cause }
    await pause(clock, Math.min(backOff.failed(), leftMs), signal)
    if (signal?.aborted === true) return { kind: 'given_up', cause }
  }
}

/** Rounds of the odds poller: one sport after another, then a pause; a failure costs one sport one round. */
import type { Clock } from '@tallystick/service-kit'
import type { GradingStore } from './domain/grading-store.ts'
import { type OddsFeed, type PollOutcome, pollOdds } from './ingest/odds-poller.ts'

export type PollRoundsOptions = {
  readonly store: GradingStore
  readonly feeds: readonly OddsFeed[]
  readonly clock: Clock
  readonly pauseMs: number
  readonly onPolled: (outcome: PollOutcome) => void
  readonly onFailed: (error: unknown) => void
}

export type PollRounds = {
  /** Begins the first round at once. */
  start(): void
  /** Ends the rounds; a feed that is just being asked is waited for no longer. */
  close(): Promise<void>
}

export function createPollRounds(options: PollRoundsOptions): PollRounds {
  const { clock, feeds, onFailed, onPolled, pauseMs, store } = options
  const closing = new AbortController()
  const { signal } = closing
  let cancel: (() => void) | undefined
  let running: Promise<void> = Promise.resolve()
  const round = async (): Promise<void> => {
    for (const feed of feeds) {
      if (signal.aborted) return
      try {
        onPolled(await pollOdds({ store, feed, clock, signal }))
      } catch (error) {
        if (!signal.aborted) onFailed(error)
      }
    }
    if (!signal.aborted) cancel = clock.after(pauseMs, begin)
  }
  const begin = (): void => {
    running = round()
  }
  return {
    start: begin,
    async close() {
      closing.abort()
      cancel?.()
      await running
    },
  }
}

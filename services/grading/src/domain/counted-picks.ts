/**
 * Whether a committed pick counts, for a reader of its card. The rule looks at every earlier pick of the event; what was
 * looked at is kept, so that a read costs what is new on the event and not what was ever committed on it.
 */
import { BoundedMap } from '@tallystick/service-kit'
import { type CommittedPick, refusalOf, repeatKey } from './committed-pick.ts'
import type { EarliestStart } from './event-state.ts'
import type { GradingStore } from './grading-store.ts'

/** Events remembered: some hundred bytes a pick. */
const EVENTS_MAX = 64

/** The picks of an event up to one of them. */
type Looked = {
  readonly startAtSeconds: number
  /** Of each payer's selection, the place of the pick that counts. */
  readonly counted: Map<string, number>
  lastSeq: number
}

export type CountedPicks = ReturnType<typeof createCountedPicks>

/** Throws GradingStoreUnavailable. */
export function createCountedPicks(store: Pick<GradingStore, 'picksOf'>) {
  const events = new BoundedMap<string, Looked>(EVENTS_MAX)
  return {
    /** Whether this is the one pick of its payer and selection that counts. */
    async isCounted(
      path: string,
      start: EarliestStart,
      { opening, seq }: CommittedPick,
    ): Promise<boolean> {
      const { startAtSeconds } = start
      let looked = events.get(path)
      // An earlier start makes picks late that were not: all are looked at again.
      if (looked?.startAtSeconds !== startAtSeconds) {
        looked = { startAtSeconds, counted: new Map(), lastSeq: -1 }
        events.set(path, looked)
      }
      for (const pick of await store.picksOf(path, looked.lastSeq)) {
        const key = repeatKey(pick.opening)
        if (!looked.counted.has(key) && refusalOf(start, pick) === undefined)
          looked.counted.set(key, pick.seq)
        looked.lastSeq = Math.max(looked.lastSeq, pick.seq)
      }
      return looked.counted.get(repeatKey(opening)) === seq
    },
  }
}

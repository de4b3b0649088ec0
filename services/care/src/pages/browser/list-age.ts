/** What a list of records may claim: "now" only while the service is heard (C39). */
import { carriedTime, clinicTime, listTime, word } from './words.ts'

/** A stream says something at least every 15 s (C3): after a longer silence nobody knows what holds. */
const SILENCE_MS = 15_000
/** An age that is read, not watched, moves in these steps. */
const STEP_SECONDS = 5
const MINUTE_SECONDS = 60

/** A moment for paper. */
export const dayText = (unixMs: number): string => clinicTime(unixMs, { month: 'long' })

function ageText(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1_000 / STEP_SECONDS) * STEP_SECONDS)
  if (seconds < 2 * MINUTE_SECONDS) return word('seconds', { age: seconds })
  const minutes = Math.floor(seconds / MINUTE_SECONDS)
  return minutes < 2 * MINUTE_SECONDS
    ? word('minutes', { age: minutes })
    : word('hours', { age: Math.floor(minutes / MINUTE_SECONDS) })
}

/** The list's title and its time. `heardMs` is when the service was heard last with everything read; undefined before. */
export function listAge(parts: {
  readonly heardMs: number | undefined
  readonly nowMs: number
  readonly isLive: boolean
}): {
  readonly isFresh: boolean
  readonly title: string
  readonly words: string
  /** On paper, which is read on another day. */
  readonly onPaper: string
} {
  const { heardMs, isLive, nowMs } = parts
  if (heardMs === undefined)
    return { isFresh: false, title: word('mayBeSaid'), words: '', onPaper: '' }
  const time = listTime(heardMs, nowMs)
  const onPaper = word('onPaper', { date: carriedTime(heardMs) })
  if (isLive && nowMs - heardMs <= SILENCE_MS)
    return { isFresh: true, title: word('mayBeSaidNow'), words: word('asOf', { time }), onPaper }
  const words = word('old', { age: ageText(nowMs - heardMs) })
  return { isFresh: false, title: word('couldBeSaid', { time }), words, onPaper }
}

import type { Refusal } from '../domain/observation.ts'

/** Prices older than this at the start are no close, seconds: The Odds API's own history ticks every 5 to 10 minutes. */
export const CLOSE_AGE_SECONDS_MAX = 900

/** How far a source's clock may be ahead of ours, seconds: a price of a later time was not seen yet by anybody. */
export const CLOCK_SKEW_SECONDS_MAX = 60

/** Why a price cannot be used: of a time to come, taken after the start, or as a close too long before it. */
export function refuseTime(
  capturedAtSeconds: number,
  event: {
    readonly startAtSeconds: number
    readonly receivedAtSeconds: number
    readonly isClose: boolean
  },
): Pick<Refusal, 'reason' | 'detail'> | undefined {
  const { isClose, receivedAtSeconds, startAtSeconds } = event
  const ahead = capturedAtSeconds - receivedAtSeconds
  if (ahead > CLOCK_SKEW_SECONDS_MAX)
    return { reason: 'future_price', detail: `${ahead} s after it was received` }
  const early = startAtSeconds - capturedAtSeconds
  if (early <= 0) return { reason: 'in_play_price', detail: `${-early} s after the start` }
  if (isClose && early > CLOSE_AGE_SECONDS_MAX)
    return { reason: 'stale_price', detail: `${early} s before the start` }
  return undefined
}

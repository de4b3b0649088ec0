import type { EventInfo } from './event-state.ts'

const SECONDS_PER_DAY = 86_400

/** Whether an event has surely started by a moment, Unix seconds: a day's precision waits for the day to end. */
export function hasStarted(
  { startAtSeconds, startPrecision }: Pick<EventInfo, 'startAtSeconds' | 'startPrecision'>,
  atSeconds: number,
): boolean {
  return atSeconds >= (startPrecision === 'day' ? startAtSeconds + SECONDS_PER_DAY : startAtSeconds)
}

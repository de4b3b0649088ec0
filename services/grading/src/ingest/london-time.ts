/** British files give times by London's clock. */
import { isoSeconds } from '@tallystick/service-kit/clock'

const MARCH = 2
const OCTOBER = 9

/** When the last Sunday of a month of 31 days begins, UTC; Unix seconds. */
function lastSunday(year: number, month: typeof MARCH | typeof OCTOBER): number {
  const last = new Date(Date.UTC(year, month, 31))
  return last.setUTCDate(31 - last.getUTCDay()) / 1_000
}

/** London's clock goes forward at one in March and back at two in October, so the hour before two occurs twice. */
const FORWARD_AT_SECONDS = 3_600
const BACK_AT_SECONDS = 7_200

const CLOCK_TIME = /^(\d{2}):(\d{2})$/

/**
 * Unix seconds of a day, `2024-04-23`, and a time, `20:00`, by London's clock, the repeated hour in its first pass; undefined
 * for anything else.
 */
export function londonSeconds(date: string, time: string): number | undefined {
  const [, hours, minutes] = CLOCK_TIME.exec(time) ?? []
  const day = isoSeconds(date)
  if (hours === undefined || day === undefined) return undefined
  const shown = day + Number(hours) * 3_600 + Number(minutes) * 60
  const year = Number(date.slice(0, 4))
  const isSummer =
    shown >= lastSunday(year, MARCH) + FORWARD_AT_SECONDS &&
    shown < lastSunday(year, OCTOBER) + BACK_AT_SECONDS
  return isSummer ? shown - 3_600 : shown
}

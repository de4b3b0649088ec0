/** Whether a row's own two times say that its bet came after the start, whatever the ledger knows of the match. */
import { isoSeconds } from '../wire/times.ts'
import { type DayOrder, readDate } from './tracker-dates.ts'

const DAY_SECONDS = 86_400
/** Clocks run from 14 hours ahead of UTC to 12 behind it: a time without a zone beside one that has it may be any of these. */
const AHEAD_SECONDS = 14 * 3_600
const BEHIND_SECONDS = 12 * 3_600

/** The first and the last second that a text may mean; on the clock of its row if it has no zone. */
function spanOf(text: string, order: DayOrder | undefined) {
  const read = readDate(text, order)
  if (read.kind !== 'date') return undefined
  const from = isoSeconds(read.moment ?? `${read.clock ?? `${read.day}T00:00:00`}Z`)
  if (from === undefined) return undefined
  const isDay = read.moment === undefined && read.clock === undefined
  return { from, to: isDay ? from + DAY_SECONDS - 1 : from, isZoned: read.moment !== undefined }
}

/** Two times of one row share a clock if neither has a zone; only what is after the start on every clock is late. */
export function isPlacedAfterStart(
  cell: (field: 'date' | 'placed') => string,
  order: DayOrder | undefined,
): boolean {
  const [start, placed] = [spanOf(cell('date'), order), spanOf(cell('placed'), order)]
  if (start === undefined || placed === undefined) return false
  const from = placed.isZoned || !start.isZoned ? placed.from : placed.from - AHEAD_SECONDS
  const to = start.isZoned || !placed.isZoned ? start.to : start.to + BEHIND_SECONDS
  return from > to
}

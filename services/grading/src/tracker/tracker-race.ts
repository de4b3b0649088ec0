/**
 * A bet on a race, which has a course and a start in place of two teams. The ledger files a race as the exchange's files of
 * starting prices do: by its course, and by its start on London's clock.
 */
import { nameSlug } from '../ingest/event-ids.ts'
import type { WireSingle } from '../wire/requests.ts'
import type { Cell } from './tracker-columns.ts'
import { type DayOrder, readDate } from './tracker-dates.ts'
import { problem, type TrackerProblem } from './tracker-problem.ts'

/** `Horse Racing / Testford 31st May : 1m2f Hcap`, as the exchange's profit and loss has it; the course may have a clock. */
const EXCHANGE_RACE = /^horse racing\s*\/\s*(.+?)\s+:\s*(.*)$/i
const exchangeRace = (cell: Cell) =>
  EXCHANGE_RACE.exec(cell('event')) ?? EXCHANGE_RACE.exec(cell('market'))
/** The day in a course's name. */
const DAY_OF_COURSE = /\s+\d{1,2}(?:st|nd|rd|th)\s+[a-z]{3,9}$/i
/** `16:55 Testford` or `Testford 16:55`. */
const TIMED_COURSE =
  /^(?:(?<before>\d{1,2}:\d{2})\s+(?<later>.+)|(?<first>.+?)\s+(?<after>\d{1,2}:\d{2}))$/
/** The number of the cloth: `3. Sharp Romance (IRE)`. */
const CLOTH = /^\d+\.\s*/

/** What an exchange's name of a win market is made of: a distance, and the kind of race. Any other word makes another market. */
const DISTANCE = /^(?:\d{1,4}m(?:\d{1,2}f)?(?:\d{1,3}y)?|\d{1,2}(?:½|\.5)?f(?:\d{1,3}y)?)$/i
const RACE_WORD =
  /^(?:r\d{1,2}|[2-9]yo\+?|hcap|hrd|hrdl|hurdle|chs|chase|mdn|nov|novice|nursery|stks|stakes|listed|grp[1-3]?|gr[1-3]|grade|group|nhf|inhf|cond|claim|clm|sell|app|amat|am|ladies|hunt|beg|juv|allw|cl[1-6]|class|pace|trot|flat|plate|[1-6])$/i
const WINNER = /^(?:win(?:ner)?|to win|race winner|outright|win only|)$/i

/** Whether a market's name is the winner's: a class of race at the exchange, the word elsewhere. */
function isWinner(market: string): boolean {
  const words = market.trim().split(/[\s/]+/)
  return (
    WINNER.test(market.trim()) ||
    (words.some((word) => DISTANCE.test(word)) &&
      words.every((word) => DISTANCE.test(word) || RACE_WORD.test(word)))
  )
}

type Race = Pick<WireSingle, 'market' | 'selection'>

/** The course, the start's clock where the text has it, and what else is said of the market. */
function courseIn(
  cell: Cell,
): { course: string; clock: string | undefined; market: string } | undefined {
  const exchange = exchangeRace(cell)
  const text = (exchange?.[1] ?? cell('event')).trim()
  const market = exchange?.[2] ?? cell('market')
  const { after, before, first, later } = TIMED_COURSE.exec(text)?.groups ?? {}
  const course = later ?? first ?? (exchange === null ? undefined : text)
  return course === undefined ? undefined : { course, clock: before ?? after, market }
}

/** Whether a row's words say that it is on a race. */
export const isRace = (cell: Cell): boolean =>
  /^horse[\s_-]*rac(?:ing|es?)$|^horses$/i.test(cell('sport').trim()) || exchangeRace(cell) !== null

/** A race's winner as the API takes it, or what is missing. Never throws. */
export function readRace(cell: Cell, order: DayOrder | undefined): Race | TrackerProblem {
  const written = courseIn(cell)
  if (written === undefined)
    return problem('event', 'a course with the start of the race, such as 16:55 Ascot')
  if (!isWinner(written.market))
    return problem(
      'market',
      'the winner of the race: the row does not say how many places a place market pays',
      'other_market',
    )
  const read = readDate(cell('date'), order)
  if (read.kind !== 'date') return problem('date', 'the day of the race, such as 2026-05-31')
  const time = written.clock ?? read.clock?.slice(11, 16)
  if (time === undefined)
    return problem('date', 'the start of the race on London’s clock, such as 2026-05-31 16:55')
  const course = nameSlug(written.course.replace(DAY_OF_COURSE, ''))
  const runner = nameSlug(cell('selection').replace(CLOTH, ''))
  if (course === '' || runner === '') return problem('selection', 'a runner of the race')
  const start = `${read.day.replaceAll('-', '')}.${time.padStart(5, '0').replace(':', '')}`
  return {
    market: { sport: 'horse_racing', event: `${course}.${start}`, type: 'outright' },
    selection: runner,
  }
}

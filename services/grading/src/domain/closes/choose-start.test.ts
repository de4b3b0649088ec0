import { isoDay } from '@tallystick/service-kit/clock'
import { assert, integer, property, uniqueArray } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sampleEvent, samplePick } from '../../testing/samples.fixture.ts'
import type { PickRequest } from '../markets/pick-request.ts'
import { chooseStart } from './choose-start.ts'
import type { EventInfo } from './event-state.ts'

const seconds = (time: string): number => Date.parse(time) / 1_000

/** Games of one pair at these times; a day alone is one of a table of days. */
const games = (...starts: readonly string[]): readonly EventInfo[] =>
  starts.map((start) =>
    sampleEvent({
      path: `baseball/${start}`,
      sport: 'baseball',
      startAtSeconds: seconds(start),
      startPrecision: start.length === 10 ? 'day' : 'second',
    }),
  )

const bet = (said: Partial<PickRequest>): PickRequest => ({
  ...samplePick({ market: 'baseball/a v b/ml/ft', selection: 'home' }),
  ...said,
})
const at = (time: string) =>
  bet({
    startsAt: {
      atSeconds: seconds(time.endsWith('Z') ? time : `${time}Z`),
      hasZone: time.endsWith('Z'),
    },
  })
const on = (day: string) => bet({ daySeconds: seconds(day) })
const placed = (time: string) =>
  bet({ placedAtSeconds: seconds(time), isPlacedDay: time.length === 10 })

/** The start that is taken, or `asks`. */
const taken = (matches: readonly EventInfo[], pick: PickRequest): string => {
  const choice = chooseStart(matches, pick)
  if (choice === undefined) return 'asks'
  const start = choice.match.path.slice('baseball/'.length)
  return choice.isInferred ? `${start} inferred` : start
}

const EVENINGS = games('2026-07-07T02:10:00Z', '2026-07-08T02:10:00Z', '2026-07-09T02:10:00Z')
const AFTERNOONS = games('2026-07-07T20:10:00Z', '2026-07-08T20:10:00Z', '2026-07-09T20:10:00Z')
const DAYS = games('2019-05-06', '2019-05-07', '2019-05-08')

describe('G20: of a series the game is taken that is clearly meant', () => {
  test.for<readonly [string, readonly EventInfo[], PickRequest, string]>([
    ['an instant within 3 hours', EVENINGS, at('2026-07-08T02:30:00Z'), '2026-07-08T02:10:00Z'],
    ['an instant between two games', EVENINGS, at('2026-07-08T14:10:00Z'), 'asks'],
    ['an instant of no recorded game', EVENINGS, at('2026-07-10T02:10:00Z'), 'asks'],
    [
      'the local clock of an evening game',
      EVENINGS,
      at('2026-07-07T19:10:00'),
      '2026-07-08T02:10:00Z',
    ],
    ['the UTC clock of the same game', EVENINGS, at('2026-07-08T02:10:00'), '2026-07-08T02:10:00Z'],
    ['a day on which UTC and the venue differ', EVENINGS, on('2026-07-07'), 'asks'],
    ['a day on which both agree', AFTERNOONS, on('2026-07-08'), '2026-07-08T20:10:00Z'],
    ['a day of a table of days', DAYS, on('2019-05-07'), '2019-05-07'],
    ['an instant against a table of local days', DAYS, at('2019-05-07T02:10:00Z'), '2019-05-06'],
    [
      'an instant in the afternoon against local days',
      DAYS,
      at('2019-05-07T20:10:00Z'),
      '2019-05-07',
    ],
    [
      'an instant that is another day in the east than in the west',
      DAYS,
      at('2019-05-07T06:10:00Z'),
      'asks',
    ],
    ['a doubleheader of two days', games('2019-05-07', '2019-05-07'), on('2019-05-07'), 'asks'],
    [
      'a doubleheader five hours apart',
      games('2026-07-07T17:05:00Z', '2026-07-07T22:05:00Z'),
      at('2026-07-07T17:05:00Z'),
      'asks',
    ],
    [
      'a late game alone, by a day that may be the next game’s',
      games('2026-07-08T02:10:00Z'),
      on('2026-07-08'),
      'asks',
    ],
    ['nothing said of three games', EVENINGS, bet({}), 'asks'],
  ])('%s', ([, matches, pick, start]) => {
    expect(taken(matches, pick)).toBe(start)
  })
})

describe('G20: a bet that says only when it was placed takes the first start after it, if no other game is within 20 hours', () => {
  test.for<readonly [string, readonly EventInfo[], PickRequest, string]>([
    [
      'three hours before the first game',
      EVENINGS,
      placed('2026-07-06T23:10:00Z'),
      '2026-07-07T02:10:00Z inferred',
    ],
    [
      'two days before the first game',
      EVENINGS,
      placed('2026-07-05T02:10:00Z'),
      '2026-07-07T02:10:00Z inferred',
    ],
    [
      '21 hours after a game, three before the next',
      EVENINGS,
      placed('2026-07-07T23:10:00Z'),
      '2026-07-08T02:10:00Z inferred',
    ],
    ['19 hours after a game', EVENINGS, placed('2026-07-07T21:00:00Z'), 'asks'],
    ['between two games of a table of days', DAYS, placed('2019-05-06T18:10:00Z'), 'asks'],
    [
      'the day before a game',
      games('2026-07-07T20:10:00Z'),
      placed('2026-07-06'),
      '2026-07-07T20:10:00Z inferred',
    ],
    [
      'the day of a game that may be over by then',
      games('2026-07-07T20:10:00Z'),
      placed('2026-07-07'),
      'asks',
    ],
    ['a day alone in a series', AFTERNOONS, placed('2026-07-07'), 'asks'],
    [
      'after the only game: it is late, and its card says so',
      games('2026-07-07T20:10:00Z'),
      placed('2026-07-07T21:10:00Z'),
      '2026-07-07T20:10:00Z',
    ],
  ])('%s', ([, matches, pick, start]) => {
    expect(taken(matches, pick)).toBe(start)
  })
})

const HOUR = 3_600
const BASE = seconds('2026-07-07T00:00:00Z')
const hours = integer({ min: -60, max: 60 })
const someGames = uniqueArray(hours, { minLength: 1, maxLength: 4 }).map((starts) =>
  games(...starts.map((hour) => new Date((BASE + hour * HOUR) * 1_000).toISOString())),
)

test('G20: for all series, an instant takes a game within 3 hours and with all others over 12 hours away, or asks', () => {
  assert(
    property(someGames, hours, (matches, hour) => {
      const atSeconds = BASE + hour * HOUR
      const gaps = matches.map(({ startAtSeconds }) => Math.abs(startAtSeconds - atSeconds) / HOUR)
      const near = matches.filter((_match, index) => (gaps[index] ?? 0) <= 3)
      const isClear = near.length === 1 && gaps.filter((gap) => gap <= 12).length === 1
      const choice = chooseStart(matches, bet({ startsAt: { atSeconds, hasZone: true } }))
      expect(choice?.match).toBe(isClear ? near[0] : undefined)
    }),
  )
})

test('G20: for all series, a day takes only a game that starts on it in UTC and at every venue', () => {
  const days = integer({ min: -2, max: 2 })
  assert(
    property(someGames, days, (matches, day) => {
      const daySeconds = BASE + day * 24 * HOUR
      const readings = [0, -4, -5, -6, -7, -8].map((zone) =>
        matches.filter(
          ({ startAtSeconds }) => isoDay(startAtSeconds + zone * HOUR) === isoDay(daySeconds),
        ),
      )
      const [first = []] = readings
      const isClear = readings.every((fitting) => fitting.length === 1 && fitting[0] === first[0])
      const choice = chooseStart(matches, bet({ daySeconds }))
      expect(choice?.match).toBe(isClear ? first[0] : undefined)
    }),
  )
})

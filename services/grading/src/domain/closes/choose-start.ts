/**
 * Which of several starts of one fixture a bet was on (G20). A start is taken only if what the bet says of it fits one and
 * no other: everything else is a question. Pure.
 */
import { DAY_SECONDS, isoDay } from '@tallystick/service-kit/clock'
import type { PickRequest } from '../markets/pick-request.ts'
import type { EventInfo } from './event-state.ts'

const HOUR_SECONDS = 3_600

/** With a clock, the match starts this near to it, and every other game of the pair farther away than the second limit. */
const NEAR_SECONDS_MAX = 3 * HOUR_SECONDS
const OTHERS_SECONDS_MIN = 12 * HOUR_SECONDS
/** A bet that says only when it was placed has no other game of the pair this near to it. */
const PLACED_OTHERS_SECONDS_MIN = 20 * HOUR_SECONDS

/** The zones of a sport's venues, hours beside UTC: a day or a clock without a zone is one of them, or UTC. */
type Zones = { readonly west: number; readonly east: number }
const NORTH_AMERICA: Zones = { west: -8, east: -4 }
const VENUE_ZONES: Readonly<Record<string, Zones>> = {
  american_football: NORTH_AMERICA,
  baseball: NORTH_AMERICA,
  basketball: NORTH_AMERICA,
  ice_hockey: NORTH_AMERICA,
}
/** Farther east, a match is over before the day is another one in these. */
const ELSEWHERE: Zones = { west: -8, east: 3 }

const zonesFor = (sport: string): Zones => VENUE_ZONES[sport] ?? ELSEWHERE

/** Whether a bet at a clock without a zone may have come after the start: on UTC's, or on one at a venue. */
export function mayBeLate(
  clockSeconds: number,
  {
    sport,
    startAtSeconds,
    startPrecision,
  }: Pick<EventInfo, 'sport' | 'startAtSeconds' | 'startPrecision'>,
): boolean {
  const latest = clockSeconds - Math.min(0, zonesFor(sport).east) * HOUR_SECONDS
  return startPrecision === 'second' && latest >= startAtSeconds
}

/** Sports in which a pair meets on consecutive days: there a day has to name its game even if only one is recorded. */
const SERIES_SPORTS: ReadonlySet<string> = new Set(['baseball'])

/** A stretch of time, Unix seconds. */
type Span = { readonly from: number; readonly to: number }

/** When a match may have started: a day is one of its venue's zone. */
function startSpan({ sport, startAtSeconds, startPrecision }: EventInfo): Span {
  if (startPrecision === 'second') return { from: startAtSeconds, to: startAtSeconds }
  const { west, east } = zonesFor(sport)
  return {
    from: startAtSeconds - east * HOUR_SECONDS,
    to: startAtSeconds + DAY_SECONDS - west * HOUR_SECONDS,
  }
}

const gapBetween = (left: Span, right: Span): number =>
  Math.max(0, left.from - right.to, right.from - left.to)

/** A match's day in a zone. */
const dayIn = ({ startAtSeconds, startPrecision }: EventInfo, hours: number): string =>
  isoDay(startPrecision === 'day' ? startAtSeconds : startAtSeconds + hours * HOUR_SECONDS)

const readingsFor = (sport: string): readonly number[] => {
  const { west, east } = zonesFor(sport)
  return [0, west, east]
}

/** The only match that passes in every reading; undefined if the readings differ. */
function agreed(
  matches: readonly EventInfo[],
  readings: readonly ((match: EventInfo) => boolean)[],
): EventInfo | undefined {
  const [first, ...others] = readings.map((fits) => matches.filter(fits))
  const [match, ...more] = first ?? []
  if (match === undefined || more.length > 0) return undefined
  return others.every((fitting) => fitting.length === 1 && fitting[0] === match) ? match : undefined
}

function matchOfDay(matches: readonly EventInfo[], sport: string, daySeconds: number) {
  const day = isoDay(daySeconds)
  return agreed(
    matches,
    readingsFor(sport).map((hours) => (match: EventInfo) => dayIn(match, hours) === day),
  )
}

/** The match near a span, if all others are far from it. */
function nearestTo(matches: readonly EventInfo[], span: Span): EventInfo | undefined {
  const gaps = matches.map((match) => ({ match, gap: gapBetween(startSpan(match), span) }))
  const near = gaps.filter(({ gap }) => gap <= NEAR_SECONDS_MAX)
  const [nearest] = near
  const isClear = gaps.filter(({ gap }) => gap <= OTHERS_SECONDS_MIN).length === 1
  return isClear ? nearest?.match : undefined
}

/** The match at a clock: with its zone an instant, otherwise the venue's time or UTC. */
function matchAtClock(
  matches: readonly EventInfo[],
  sport: string,
  { atSeconds, hasZone }: NonNullable<PickRequest['startsAt']>,
): EventInfo | undefined {
  const { west, east } = zonesFor(sport)
  const hours = hasZone ? [0] : [0, -west, -east]
  const instants = hours.map((hour) => atSeconds + hour * HOUR_SECONDS)
  const span = { from: Math.min(...instants), to: Math.max(...instants) }
  if (matches.every(({ startPrecision }) => startPrecision === 'second'))
    return nearestTo(matches, span)
  // Against days, the clock's own day counts in each zone that it may mean.
  const zones = hasZone ? [west, east] : [0, west, east]
  return agreed(
    matches,
    zones.map((zone) => {
      const day = isoDay(atSeconds + zone * HOUR_SECONDS)
      return (match: EventInfo) => dayIn(match, zone) === day
    }),
  )
}

/** When a bet was placed: a day without a zone is one at the venue, or in UTC. */
function betSpan({ isPlacedDay, key }: PickRequest, placedAtSeconds: number): Span {
  const { west } = zonesFor(key.sport)
  const spread = isPlacedDay === true ? DAY_SECONDS - west * HOUR_SECONDS : 0
  return { from: placedAtSeconds, to: placedAtSeconds + spread }
}

/** The first start after a bet, if no other game of the pair is near to it. */
function firstAfter(matches: readonly EventInfo[], bet: Span, isSeries: boolean) {
  const later = matches
    .filter((match) => startSpan(match).to > bet.from)
    .toSorted((left, right) => left.startAtSeconds - right.startAtSeconds)
  const [next] = later
  // The bet may have come after this game if only its day is known.
  if (next === undefined || (isSeries && bet.from < bet.to && startSpan(next).from < bet.to))
    return undefined
  const others = matches.filter((match) => match !== next)
  const isClear = others.every(
    (match) => gapBetween(startSpan(match), bet) > PLACED_OTHERS_SECONDS_MIN,
  )
  return isClear ? next : undefined
}

type Chosen = { readonly match: EventInfo; readonly isInferred: boolean }

const chosen = (match: EventInfo | undefined, isInferred = false): Chosen | undefined =>
  match && { match, isInferred }

/** The match that a bet was on, among those that its names and time fit; undefined if it is not clear. */
export function chooseStart(matches: readonly EventInfo[], pick: PickRequest): Chosen | undefined {
  const { daySeconds, placedAtSeconds, startsAt, key } = pick
  const [only, ...others] = matches
  if (only === undefined) return undefined
  const isSeries = others.length > 0 || SERIES_SPORTS.has(key.sport)
  // A pair that meets once in days: a clock without a zone says no more than its day.
  if (startsAt !== undefined && (isSeries || startsAt.hasZone))
    return chosen(matchAtClock(matches, key.sport, startsAt))
  if (startsAt !== undefined) return chosen(only)
  if (daySeconds !== undefined)
    return chosen(isSeries ? matchOfDay(matches, key.sport, daySeconds) : only)
  if (placedAtSeconds === undefined) return chosen(others.length === 0 ? only : undefined)
  // A bet after the only start is late, and its card says so.
  if (others.length === 0 && startSpan(only).to <= placedAtSeconds) return chosen(only)
  return chosen(firstAfter(matches, betSpan(pick, placedAtSeconds), isSeries), true)
}

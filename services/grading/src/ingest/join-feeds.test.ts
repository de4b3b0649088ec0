/** Two feeds, one match (G15). */
import { describe, expect, test } from 'vitest'
import type { EventInfo } from '../domain/closes/event-state.ts'
import type { Normalised, Observation } from '../domain/closes/observation.ts'
import { isSameLeague } from '../domain/markets/team-names.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import { ingestPayload } from './ingest-payload.ts'

const DAY = 86_400
const MIDNIGHT = START_SECONDS - 18 * 3_600

const TABLE = { feed: 'football-data', isRedistributable: false, isSynthetic: false }
const API = { feed: 'the-odds-api', isRedistributable: false, isSynthetic: false }
const UPLOAD = { feed: 'manual', isRedistributable: false, isSynthetic: false }

/** The match as a British table names it: a day, its own league and names. */
const inTable = (over: Partial<EventInfo> = {}): EventInfo =>
  sampleEvent({
    path: 'soccer/england-1.20260601.nottm-forest-man-united',
    league: 'England 1',
    home: "Nott'm Forest",
    away: 'Man United',
    startAtSeconds: MIDNIGHT,
    startPrecision: 'day',
    ...over,
  })

/** And as an API does. */
const inApi = (over: Partial<EventInfo> = {}): EventInfo =>
  sampleEvent({
    path: 'soccer/epl.20260601.nottingham-forest-manchester-united',
    league: 'EPL',
    home: 'Nottingham Forest',
    away: 'Manchester United',
    feedId: 'api-1',
    ...over,
  })

/** A game of baseball in the table. */
const game = (path: string) =>
  inTable({
    path,
    sport: 'baseball',
    league: 'MLB',
    home: 'Boston Red Sox',
    away: 'New York Yankees',
  })

/** A ledger that takes payloads of several feeds; each has its own bytes. */
function ledger() {
  const fixture = createGraderFixture()
  let payloads = 0
  const take = (feed: Normalised['feed'], ...observations: readonly Partial<Observation>[]) => {
    payloads += 1
    return ingestPayload({
      store: fixture.store,
      raw: Buffer.from(`payload ${payloads}`),
      receivedAtSeconds: START_SECONDS + 7_200,
      read: () => [
        {
          feed,
          observations: observations.map((each) => sampleObservation(each)),
          refusals: [],
          missingPrices: 0,
        },
      ],
    })
  }
  const state = async (path: string) => (await fixture.store.events([path]))[0]
  return { ...fixture, take, state }
}

describe('G15: two feeds’ events of one match', () => {
  test('are joined by day, names and league: one event, with the closes of both', async () => {
    const { grader, state, store, take } = ledger()
    await take(TABLE, { event: inTable(), closes: [samplePrices({ book: 'bet365' })] })
    const account = await take(API, { event: inApi(), closes: [samplePrices()] })
    expect(account).toMatchObject({ events: 0, closes: 1, alike: [] })
    expect(await state(inApi().path)).toBeUndefined()
    const joined = await state(inTable().path)
    expect(joined?.closes.map(({ feed }) => feed)).toEqual(['football-data', 'the-odds-api'])
    // The first feed's names stay; the better start is taken.
    expect(joined?.info).toEqual({
      ...inTable(),
      startAtSeconds: START_SECONDS,
      startPrecision: 'second',
    })
    const card = await grader.grade(samplePick({ market: `${inTable().path}/1x2/ft` }))
    expect(card).toMatchObject({ close: { source: { book: 'pinnacle', feed: 'the-odds-api' } } })
    expect((await store.counts()).events).toBe(1)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('stay joined: later payloads of either go to the one event, a postponed match too', async () => {
    const { state, store, take } = ledger()
    await take(TABLE, { event: inTable(), closes: [samplePrices({ book: 'bet365' })] })
    await take(API, { event: inApi(), closes: [samplePrices()] })
    const postponed = inApi({
      path: 'soccer/epl.20260611.nottingham-forest-manchester-united',
      startAtSeconds: START_SECONDS + 10 * DAY,
    })
    await take(API, {
      event: postponed,
      closes: [samplePrices({ odds: { home: '2', away: '2.1' } })],
    })
    await take(TABLE, { event: inTable(), outcomes: scored(2, 1) })
    expect((await store.counts()).events).toBe(1)
    const joined = await state(inTable().path)
    expect(joined?.info.startAtSeconds).toBe(START_SECONDS + 10 * DAY)
    expect(await store.verify()).toMatchObject({ kind: 'intact' })
  })

  test('attack: a second event for a match, with a close of one’s own choosing', async () => {
    const { grader, state, take } = ledger()
    await take(TABLE, { event: inTable(), closes: [samplePrices({ book: 'bet365' })] })
    const bent = samplePrices({ odds: { home: '1.5', draw: '4.5', away: '7' } })
    const event = inApi({ path: 'soccer/epl.mine' })
    const { feedId: _none, ...mine } = event
    await take(UPLOAD, { event: mine, closes: [bent] })
    expect(await state('soccer/epl.mine')).toBeUndefined()
    const card = await grader.grade(samplePick({ market: `${inTable().path}/1x2/ft` }))
    expect(card).toMatchObject({ close: { odds: 2.05, source: { feed: 'football-data' } } })
  })

  test.each([
    ['another league', { league: 'Women’s Super League' }],
    ['the day before', { startAtSeconds: START_SECONDS - DAY }],
  ])('%s: filed apart, and reported', async (_name, over) => {
    const { state, take } = ledger()
    await take(TABLE, { event: inTable(), closes: [samplePrices()] })
    const account = await take(API, { event: inApi(over), closes: [samplePrices()] })
    expect(account.alike).toEqual([{ event: inApi().path, like: [inTable().path] }])
    expect(await state(inApi().path)).toBeDefined()
  })

  test('two games of a pair on one day are never joined by guess: both are reported', async () => {
    const { take } = ledger()
    const closes = [samplePrices({ market: 'ml/ft', odds: { home: '1.9', away: '2' } })]
    await take(
      TABLE,
      { event: game('baseball/one'), closes },
      { event: game('baseball/one.2'), closes },
    )
    const account = await take(API, {
      event: inApi({
        path: 'baseball/api',
        sport: 'baseball',
        league: 'MLB',
        home: 'Boston Red Sox',
        away: 'New York Yankees',
      }),
      closes: [samplePrices({ market: 'ml/ft', odds: { home: '1.9', away: '2' } })],
    })
    expect(account.alike[0]?.like.toSorted()).toEqual(['baseball/one', 'baseball/one.2'])
  })

  test('an American evening is the next day in UTC, and the series goes on', async () => {
    const { state, take } = ledger()
    const names = {
      sport: 'baseball',
      league: 'MLB',
      home: 'Boston Red Sox',
      away: 'New York Yankees',
    }
    const day = (path: string, startAtSeconds: number) =>
      inTable({ ...names, path, startAtSeconds })
    await take(
      TABLE,
      {
        event: day('baseball/first', MIDNIGHT),
        closes: [samplePrices({ market: 'ml/ft', odds: { home: '1.9', away: '2' } })],
      },
      {
        event: day('baseball/second', MIDNIGHT + DAY),
        closes: [samplePrices({ market: 'ml/ft', odds: { home: '1.9', away: '2' } })],
      },
    )
    const night = inApi({
      ...names,
      path: 'baseball/api',
      startAtSeconds: MIDNIGHT + DAY + 2 * 3_600,
    })
    const account = await take(API, {
      event: night,
      closes: [samplePrices({ market: 'ml/ft', odds: { home: '1.9', away: '2' } })],
    })
    expect(account.alike).toEqual([])
    expect((await state('baseball/first'))?.feeds).toEqual({
      'football-data': 'baseball/first',
      'the-odds-api': 'api-1',
    })
  })

  test('one feed’s own matches are never joined with each other', async () => {
    const { store, take } = ledger()
    await take(TABLE, { event: inTable(), closes: [samplePrices()] })
    await take(TABLE, { event: inTable({ path: 'soccer/again' }), closes: [samplePrices()] })
    expect((await store.counts()).events).toBe(2)
  })

  test('what comes after the result or before the start is refused by name, in the account', async () => {
    const { take } = ledger()
    await take(TABLE, { event: inTable(), closes: [samplePrices()], outcomes: scored(1, 0) })
    const late = samplePrices({ odds: { home: '2.5' }, capturedAtSeconds: MIDNIGHT - DAY })
    const account = await take(TABLE, {
      event: inTable(),
      snapshots: [late],
    })
    expect(account).toMatchObject({
      refused: 1,
      refusals: [{ reason: 'after_result', place: inTable().path }],
    })
  })
})

test('leagues go by several names, and only by those of the table', () => {
  expect(isSameLeague('soccer', 'EPL', 'England 1')).toBe(true)
  expect(isSameLeague('soccer', 'Serie A - Italy', 'I1')).toBe(true)
  expect(isSameLeague('soccer', 'Brazil Série A', 'Serie A - Italy')).toBe(false)
  expect(isSameLeague('soccer', 'My League', 'my league.')).toBe(true)
  expect(isSameLeague('soccer', 'My League', 'Your League')).toBe(false)
  expect(isSameLeague('cricket', 'EPL', 'England 1')).toBe(false)
})

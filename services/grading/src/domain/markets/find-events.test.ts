import { expect, test } from 'vitest'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleMatch,
  sampleObservation,
  samplePick,
  samplePrices,
} from '../../testing/samples.fixture.ts'
import { createSlateGrader } from '../audits/slate-grader.ts'

async function fixtureOfPairs(pairs: readonly (readonly [string, string])[]) {
  const fixture = createGraderFixture()
  await fixture.store.ingest(
    sampleBatch(
      pairs.map(([home, away], index) =>
        sampleObservation({
          event: sampleEvent({ path: `soccer/match-${index}`, home, away }),
          closes: [samplePrices()],
        }),
      ),
    ),
  )
  return fixture
}

const named = (text: string) => samplePick({ market: `soccer/${text}/1x2/ft` })

test('an audit of 1,000 picks by team name looks each name up once', async () => {
  const { store, grader } = await fixtureOfPairs([['Arsenal', 'Chelsea']])
  let searches = 0
  const counted = {
    ...store,
    searchEvents: (search: Parameters<typeof store.searchEvents>[0]) => {
      searches += 1
      return store.searchEvents(search)
    },
  }
  const counting = createSlateGrader(counted)
  const picks = Array.from({ length: 1_000 }, (_, index) =>
    named(['arsenal v chelsea', 'chelsea at arsenal', 'arsenal vs chelsea'][index % 3] ?? ''),
  )
  expect((await counting.audit({ picks })).coverage).toMatchObject({ graded: 1_000 })
  expect(searches).toBe(3)
  expect((await grader.audit({ picks })).coverage).toMatchObject({ graded: 1_000 })
})

test('whole words name a team: the beginning of another team’s name does not', async () => {
  const { grader } = await fixtureOfPairs([['Internacional', 'Milan']])
  expect(await grader.grade(named('inter milan'))).toMatchObject({
    outcome: 'UNGRADED',
    reason: { code: 'no_close_recorded' },
  })
  expect(await grader.grade(named('internacional milan'))).toMatchObject({ outcome: 'GRADED' })
})

test('words that name no team find nothing', async () => {
  const { grader } = await fixtureOfPairs([['Arsenal', 'Chelsea']])
  expect(await grader.grade(named('the v fc'))).toMatchObject({
    reason: { code: 'no_close_recorded' },
  })
})

test('accents, case and other scripts: a name is found as people write it', async () => {
  const { grader } = await fixtureOfPairs([
    ['São Paulo', 'Grêmio'],
    ['Спартак Москва', 'Зенит'],
  ])
  expect(await grader.grade(named('sao paulo gremio'))).toMatchObject({ outcome: 'GRADED' })
  expect(await grader.grade(named('спартак москва зенит'))).toMatchObject({ outcome: 'GRADED' })
})

const DAY = 86_400

/** The sample match day's noon is six hours before its start. */
const onDay = (text: string, day: string) => ({
  ...named(text),
  daySeconds: Date.parse(day) / 1_000,
})

async function fixtureOfSeasons() {
  const fixture = createGraderFixture()
  await fixture.store.ingest(
    sampleBatch([
      sampleMatch(
        'epl.20250601.manu-nfo',
        ['Man United', "Nott'm Forest"],
        START_SECONDS - 365 * DAY,
      ),
      sampleMatch('epl.20260601.manu-nfo', ['Man United', "Nott'm Forest"], START_SECONDS),
      sampleMatch('epl.20260530.nfo-ars', ["Nott'm Forest", 'Arsenal'], START_SECONDS - 2 * DAY),
      sampleMatch('mls.20260601.nyc-nyr', ['New York City', 'New York Red Bulls'], START_SECONDS),
      sampleMatch(
        'mls.20260602.nyc-nyr',
        ['New York City', 'New York Red Bulls'],
        START_SECONDS + DAY,
      ),
    ]),
  )
  return fixture
}

test.for([
  'man utd v nottingham forest',
  'manchester united vs notts forest',
  'Manchester Utd - Nottingham',
  'mufc v nfo',
  "nott'm forest at man. united",
  'manchester united nottingham forest',
  'MANCHESTER UNITED FC vs. Nottingham Forest F.C.',
])('G11: one match by the names that people use, with its date: %s', async (text) => {
  const { grader } = await fixtureOfSeasons()
  expect(await grader.grade(onDay(text.toLowerCase(), '2026-06-01'))).toMatchObject({
    outcome: 'GRADED',
    pick: { market: 'soccer/epl.20260601.manu-nfo/1x2/ft' },
  })
})

test('G11: without a date, two seasons of a fixture are ambiguous; 36 hours decide', async () => {
  const { grader } = await fixtureOfSeasons()
  const text = 'man utd v nottingham forest'
  expect(await grader.grade(named(text))).toMatchObject({
    reason: {
      code: 'ambiguous_market',
      nearest: [
        'soccer/epl.20260601.manu-nfo/1x2/ft (2026-06-01)',
        'soccer/epl.20250601.manu-nfo/1x2/ft (2025-06-01)',
      ],
    },
  })
  const placed = (seconds: number) => ({ ...named(text), placedAtSeconds: START_SECONDS + seconds })
  expect(await grader.grade(placed(-36 * 3_600))).toMatchObject({ outcome: 'GRADED' })
  expect(await grader.grade(placed(-36 * 3_600 - 1))).toMatchObject({
    reason: { code: 'ambiguous_market' },
  })
  expect(await grader.grade(placed(36 * 3_600))).toMatchObject({
    reason: { code: 'placed_after_start' },
  })
  expect(await grader.grade(onDay(text, '2026-06-02'))).toMatchObject({ outcome: 'GRADED' })
  expect(await grader.grade(onDay(text, '2026-06-04'))).toMatchObject({
    reason: { code: 'ambiguous_market' },
  })
})

test('a reversed fixture is never graded: the recorded one is the candidate', async () => {
  const { grader } = await fixtureOfSeasons()
  for (const text of ['nottingham forest v man utd', 'man utd at nottingham forest'])
    expect(await grader.grade(onDay(text, '2026-06-01'))).toMatchObject({
      outcome: 'UNGRADED',
      reason: {
        code: 'ambiguous_market',
        nearest: ['soccer/epl.20260601.manu-nfo/1x2/ft (2026-06-01)'],
      },
    })
})

test('a misspelt team is never graded: the other team’s match is the candidate', async () => {
  const { grader } = await fixtureOfSeasons()
  expect(
    await grader.grade(onDay('mancester untied v nottingham forest', '2026-06-01')),
  ).toMatchObject({
    reason: {
      code: 'ambiguous_market',
      nearest: expect.arrayContaining(['soccer/epl.20260601.manu-nfo/1x2/ft (2026-06-01)']),
    },
  })
  expect(await grader.grade(onDay('mancester untied v arsnal', '2026-06-01'))).toMatchObject({
    reason: { code: 'no_close_recorded' },
  })
})

test('G20: of two matches on consecutive days the day decides, and the time of a bet only with 20 hours beside it', async () => {
  const { grader } = await fixtureOfSeasons()
  const text = 'nycfc v ny red bulls'
  expect(await grader.grade(onDay(text, '2026-06-02'))).toMatchObject({
    pick: { market: 'soccer/mls.20260602.nyc-nyr/1x2/ft' },
  })
  const placed = (seconds: number) => ({ ...named(text), placedAtSeconds: START_SECONDS + seconds })
  expect(await grader.grade(placed(-3_600))).toMatchObject({
    pick: { market: 'soccer/mls.20260601.nyc-nyr/1x2/ft' },
    flags: expect.arrayContaining(['inferred_start']),
  })
  for (const seconds of [3_600, 4 * 3_600, 19 * 3_600])
    expect(await grader.grade(placed(seconds))).toMatchObject({
      reason: { code: 'ambiguous_market' },
    })
})

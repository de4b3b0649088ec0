import { expect, test } from 'vitest'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
} from '../testing/samples.fixture.ts'
import { createGrader } from './grader.ts'

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

test('an audit of 1,000 picks by team name looks each name up once, in any word order', async () => {
  const { store, grader } = await fixtureOfPairs([['Arsenal', 'Chelsea']])
  let searches = 0
  const counted = {
    ...store,
    searchEvents: (search: Parameters<typeof store.searchEvents>[0]) => {
      searches += 1
      return store.searchEvents(search)
    },
  }
  const counting = createGrader({ store: counted, nowSeconds: () => 0, random: () => 'aa' })
  const picks = Array.from({ length: 1_000 }, (_, index) =>
    named(['arsenal v chelsea', 'chelsea at arsenal', 'arsenal vs chelsea'][index % 3] ?? ''),
  )
  expect((await counting.audit({ picks })).coverage).toMatchObject({ graded: 1_000 })
  expect(searches).toBe(1)
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

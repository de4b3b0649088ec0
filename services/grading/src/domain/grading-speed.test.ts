import { parseOdds } from '@tallystick/odds'
import { expect, test } from 'vitest'
import { readFootballData } from '../ingest/football-data.ts'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { SYNTHETIC_FEED, syntheticFixtures } from '../seed/synthetic-fixtures.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { START_SECONDS } from '../testing/samples.fixture.ts'
import { calibrationAnswer } from './calibration.ts'
import { cardText } from './card-parts.ts'
import { gradePick } from './grade-pick.ts'
import { parseMarket } from './parse-market.ts'
import { DEFAULT_GRADE_OPTIONS, type PickRequest } from './pick-request.ts'

const processorMs = (): number => process.cpuUsage().user / 1_000

function readPick(body: string): PickRequest {
  const { market, selection, odds } = JSON.parse(body) as Record<string, string>
  const parsed = parseMarket({ market: market ?? '', selection: selection ?? '' })
  const price = parseOdds(odds)
  if (parsed.kind !== 'market' || price.kind !== 'odds') throw new Error('no pick')
  const { key, selection: chosen } = parsed
  return { kind: 'pick', key, selection: chosen, odds: price, options: DEFAULT_GRADE_OPTIONS }
}

async function filledWorld() {
  const fixture = createGraderFixture()
  const raw = Buffer.from(
    syntheticFixtures({ nowSeconds: START_SECONDS, pastMatches: 1_000, comingMatches: 0 }),
  )
  await ingestPayload({
    store: fixture.store,
    raw,
    receivedAtSeconds: START_SECONDS,
    read: () => readFootballData(raw, SYNTHETIC_FEED),
  })
  const infos = await fixture.store.searchEvents({ words: [], limit: 500 })
  const bodies = Array.from({ length: 2_000 }, (_, index) =>
    JSON.stringify({
      market: `${infos[index % infos.length]?.path}/1x2/ft`,
      selection: ['home', 'draw', 'away'][index % 3],
      odds: (1.5 + (index % 50) / 20).toFixed(2),
    }),
  )
  return { ...fixture, bodies }
}

const isLong = process.env['TALLYSTICK_LONG'] === '1'

test('grades in process, JSON in and JSON out; an audit of 1,000; a calibration read (printed)', async () => {
  const { store, grader, bodies } = await filledWorld()
  const figures = await calibrationAnswer(store, {})
  const paths = bodies.map((body) => readPick(body).key)
  const states = new Map(
    (await store.events(paths.map(({ sport, event }) => `${sport}/${event}`))).map((state) => [
      state?.info.path,
      state,
    ]),
  )
  const row = {
    band: 'C',
    basis: 'fair',
    population: 'mechanical',
    scope: 'all',
    n: 1,
    roi: 0,
    roi_ci95: null,
    expected_roi: 0,
    low_sample: true,
    as_of_seq: 1,
  } as const
  const grades = isLong ? 600_000 : 60_000
  let [characters, graded, best] = [0, 0, Infinity]
  for (let round = 0; round < 4; round += 1) {
    const began = processorMs()
    for (let index = 0; index < grades / 4; index += 1) {
      const pick = readPick(bodies[index % bodies.length] ?? '')
      const state = states.get(`${pick.key.sport}/${pick.key.event}`)
      const card = gradePick(pick, { state, calibration: () => row })
      if (card.outcome === 'GRADED') graded += 1
      characters += cardText(card).length
    }
    best = Math.min(best, ((processorMs() - began) * 1_000) / (grades / 4))
  }
  const picks = bodies.slice(0, 1_000).map(readPick)
  let audit = Infinity
  for (let round = 0; round < 5; round += 1) {
    const began = performance.now()
    await grader.audit({ picks })
    audit = Math.min(audit, performance.now() - began)
  }
  const began = performance.now()
  await calibrationAnswer(store, {})
  const read = performance.now() - began
  process.stdout.write(
    `grade ${best.toFixed(2)} µs (${Math.round(1e6 / best)} a second on one core), audit of 1,000 ${audit.toFixed(2)} ms, calibration read ${read.toFixed(3)} ms (${figures.columns[0]?.total.n} picks)\n`,
  )
  expect(graded).toBe(grades)
  expect(characters / grades).toBeGreaterThan(800)
})

import { readFileSync } from 'node:fs'
import { edgeAndLuck, sharpScore } from '@tallystick/odds'
import { describe, expect, test } from 'vitest'
import slate from '../../../vectors/slate.json' with { type: 'json' }
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { Card } from '../../wire/cards.ts'
import { auditCards } from './audit-picks.ts'

type Golden = {
  readonly sharp: readonly {
    readonly name: string
    readonly clv: readonly string[]
    readonly returns: readonly string[]
    readonly odds: readonly string[]
    readonly edge: string
    readonly p_edge_positive: string
    readonly sharp_score: string
  }[]
}

const golden = JSON.parse(
  readFileSync(new URL('../../../vectors/golden-grades.json', import.meta.url), 'utf8'),
) as Golden

/** A slate with the vector's CLVs: each pick is on its own match, whose book has no margin unless only one price is recorded. */
async function makeSlate(vector: Golden['sharp'][number], basis: 'fair' | 'price' = 'fair') {
  const { store, grader } = createGraderFixture()
  const picks = []
  for (const [index, odds] of vector.odds.entries()) {
    const event = sampleEvent({ path: `basketball/match-${index}`, sport: 'basketball' })
    const home = Number(odds) / (1 + Number(vector.clv[index]))
    const away = (1 / (1 - 1 / home)).toFixed(14)
    const isWon = Number(vector.returns[index]) > 0
    const both = basis === 'fair' ? { home: home.toFixed(14), away } : { home: home.toFixed(14) }
    await store.ingest(
      sampleBatch([
        sampleObservation({
          event,
          closes: [samplePrices({ market: 'ml/ft', odds: both })],
          outcomes: isWon ? scored(1, 0) : scored(0, 1),
        }),
      ]),
    )
    picks.push(samplePick({ market: `${event.path}/ml/ft`, odds }))
  }
  return grader.audit({ picks, label: vector.name })
}

test.each(golden.sharp)('golden: $name', async (vector) => {
  const audit = await makeSlate(vector)
  expect(audit.sharp_score?.value).toBeCloseTo(Number(vector.sharp_score), 5)
  expect(audit.sharp_score?.edge).toBeCloseTo(Number(vector.edge), 8)
  expect(audit.sharp_score?.p_edge_positive).toBeCloseTo(Number(vector.p_edge_positive), 7)
})

describe('golden, from an independent implementation: a slate of 24 picks on 11 events', async () => {
  const { expected, picks } = slate
  const cards = picks.map((pick) => ({
    outcome: 'GRADED',
    grade: 'B',
    basis: 'fair',
    pick: { market: `${pick.event}/${pick.market}`, selection: pick.selection },
    clv: { price: 0, fair: pick.clv, beat_close: pick.beat },
    taken: { odds: pick.odds, text: String(pick.odds) },
    price_seen: true,
    close: {},
    scoreboard: { status: pick.status, return_units: pick.returnUnits },
  })) as unknown as readonly Card[]
  const audit = auditCards(cards)

  test('G17: the interval of the return is clustered by event', () => {
    expect(audit.raw_roi).toMatchObject({ staked: expected.staked, events: expected.events })
    expect(audit.raw_roi.pct).toBeCloseTo(expected.pct, 12)
    expect(audit.raw_roi.ci95?.[0]).toBeCloseTo(expected.ci95[0] ?? 0, 10)
    expect(audit.raw_roi.ci95?.[1]).toBeCloseTo(expected.ci95[1] ?? 0, 10)
  })

  test('G17: chance and luck use the exact variance, with pushes, half results and events', () => {
    expect(audit.raw_roi.p_value).toBeCloseTo(expected.p_value, 12)
    expect(audit.summary.edge_and_luck?.edge).toBeCloseTo(expected.edge, 12)
    expect(audit.summary.edge_and_luck?.luck_z).toBeCloseTo(expected.luck_z, 10)
  })

  test('G17: the rate of beating the close, the score and picks_for_95, which is of the posterior edge', () => {
    expect(audit.summary.beat_close.ci95?.[0]).toBeCloseTo(expected.beat_ci95[0] ?? 0, 10)
    expect(audit.summary.beat_close.ci95?.[1]).toBeCloseTo(expected.beat_ci95[1] ?? 0, 10)
    expect(audit.sharp_score?.value).toBeCloseTo(expected.score, 9)
    expect(audit.sharp_score?.edge).toBeCloseTo(expected.sharp_edge, 12)
    expect(audit.needs.picks_for_95).toBe(expected.picks_for_95)
  })
})

test('G16: a slate without fair closes has no Sharp Score, but a second figure that says so', async () => {
  const [vector] = golden.sharp
  if (vector === undefined) throw new Error('no vector')
  const audit = await makeSlate(vector, 'price')
  expect(audit.sharp_score).toBeNull()
  expect(audit.second_score?.value).toBeCloseTo(Number(vector.sharp_score), 5)
  expect(audit.second_score?.label).toMatch(/without a fair close/)
  expect(audit.verdict).toMatch(/no Sharp Score/)
})

test('G5: raw ROI with flat stakes beside the Sharp Score: +12 % on the scoreboard, bad prices underneath', async () => {
  const [vector] = golden.sharp
  if (vector === undefined) throw new Error('no vector')
  const audit = await makeSlate(vector)
  expect(audit.record).toMatchObject({ won: 3, lost: 2, pending: 0 })
  expect(audit.raw_roi).toMatchObject({ staked: 5 })
  expect(audit.raw_roi.pct).toBeCloseTo(0.12, 9)
  expect(audit.summary.edge_and_luck?.edge).toBeCloseTo(5 * -0.03862, 9)
  expect(audit.summary.edge_and_luck?.luck).toBeCloseTo(0.6 + 5 * 0.03862, 9)
  expect(audit.coverage).toMatchObject({ graded: 5, price_basis: 0 })
})

test('G5: every number can be recomputed from the cards, ungraded ones included', async () => {
  const { store, grader } = createGraderFixture()
  const matches = [
    { closes: [samplePrices()], outcomes: scored(1, 0), odds: '2.20' },
    { closes: [samplePrices()], outcomes: scored(0, 1), odds: '1.90' },
    { closes: [samplePrices({ odds: { home: '2.05' } })], outcomes: scored(0, 0), odds: '2.10' },
    { closes: [], outcomes: scored(0, 2), odds: '7.50' },
    { closes: [samplePrices()], outcomes: [], odds: '2.00' },
  ]
  const picks = []
  for (const [index, { odds, ...seen }] of matches.entries()) {
    const event = sampleEvent({ path: `soccer/match-${index}` })
    await store.ingest(sampleBatch([sampleObservation({ event, ...seen })]))
    picks.push(samplePick({ market: `${event.path}/1x2/ft`, odds }))
  }
  const audit = await grader.audit({ picks })
  // The cards as a reader has them.
  const cards: readonly Card[] = JSON.parse(JSON.stringify(audit.picks))
  const settled = cards.flatMap(({ scoreboard, taken }) =>
    scoreboard === undefined || scoreboard.status === 'pending' || taken === undefined
      ? []
      : [{ odds: taken.odds, returnUnits: scoreboard.return_units, clv: 0 }],
  )
  expect(settled).toHaveLength(4)
  const { profit, profitPValue } = edgeAndLuck(settled)
  expect(audit.raw_roi).toMatchObject({ staked: 4, profit, pct: profit / 4, p_value: profitPValue })
  const graded = cards.filter((card) => card.outcome === 'GRADED')
  const gradedPicks = graded.map(({ clv, scoreboard, taken }) => ({
    clv: clv.fair ?? clv.price,
    odds: taken.odds,
    ...(scoreboard.status === 'pending' ? {} : { returnUnits: scoreboard.return_units }),
  }))
  const isFair = graded.map(({ basis }) => basis === 'fair')
  for (const [figure, wanted, inputs] of [
    [audit.sharp_score, true, { n: 3, settled: 2 }],
    [audit.second_score, false, { n: 1, settled: 1 }],
  ] as const) {
    const score = sharpScore(gradedPicks.filter((_pick, place) => isFair[place] === wanted))
    const value = score.kind === 'scored' ? score.score : undefined
    expect(figure).toMatchObject({ value, inputs })
  }
  const mean = gradedPicks.reduce((sum, { clv }) => sum + clv, 0) / 4
  expect(audit.summary.mean_clv).toBeCloseTo(mean, 12)
  expect(audit.coverage).toMatchObject({ graded: 4, ungraded: 1, price_basis: 1 })
})

test('G5: without a graded pick the score is null, and the results still count', async () => {
  const { store, grader } = createGraderFixture()
  await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(1, 0) })]))
  const audit = await grader.audit({
    picks: [
      samplePick({ odds: '3' }),
      samplePick({ selection: 'away', odds: '3' }),
      samplePick({ market: 'soccer/none/1x2/ft' }),
    ],
  })
  expect(audit.sharp_score).toBeNull()
  expect(audit.record).toMatchObject({ won: 1, lost: 1, pending: 1 })
  expect(audit.raw_roi).toMatchObject({ pct: 0.5, staked: 2, profit: 1 })
  expect(audit.coverage).toEqual({
    picks: 3,
    graded: 0,
    ungraded: 3,
    by_reason: { no_close_recorded: 3 },
    price_basis: 0,
    duplicates: [],
    unconfirmed: [],
  })
})

test('void picks count as no stake', async () => {
  const { store, grader } = createGraderFixture()
  const outcomes = [{ period: 'ft', status: 'void' as const }]
  await store.ingest(sampleBatch([sampleObservation({ closes: [samplePrices()], outcomes })]))
  const audit = await grader.audit({ picks: [samplePick()] })
  expect(audit.record.void).toBe(1)
  expect(audit.raw_roi).toMatchObject({ staked: 0, pct: null })
  expect((await store.truth()).cells.size).toBe(0)
})

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createGraderWorld } from '../testing/grader-world.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
  scored,
} from '../testing/sample-events.ts'
import { samplePick } from '../testing/sample-picks.ts'

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
  readFileSync(new URL('../../vectors/golden-grades.json', import.meta.url), 'utf8'),
) as Golden

/** A slate whose price CLVs are the vector's: each pick on a match of its own, of which only the selection’s close is recorded. */
async function slateOf(vector: Golden['sharp'][number]) {
  const { store, grader } = createGraderWorld()
  const picks = []
  for (const [index, odds] of vector.odds.entries()) {
    const event = sampleEvent({ path: `soccer/match-${index}` })
    const close = (Number(odds) / (1 + Number(vector.clv[index]))).toFixed(14)
    const isWon = Number(vector.returns[index]) > 0
    await store.ingest(
      sampleBatch([
        sampleObservation({
          event,
          closes: [samplePrices({ odds: { home: close } })],
          outcomes: isWon ? scored(1, 0) : scored(0, 1),
        }),
      ]),
    )
    picks.push(samplePick({ market: `${event.path}/1x2/ft`, odds }))
  }
  return grader.audit({ picks, label: vector.name })
}

test.each(golden.sharp)('golden: $name', async (vector) => {
  const audit = await slateOf(vector)
  expect(audit.sharp_score?.value).toBeCloseTo(Number(vector.sharp_score), 5)
  expect(audit.sharp_score?.edge).toBeCloseTo(Number(vector.edge), 8)
  expect(audit.sharp_score?.p_edge_positive).toBeCloseTo(Number(vector.p_edge_positive), 7)
})

test('G5: raw ROI with flat stakes beside the Sharp Score: +12 % on the scoreboard, bad prices underneath', async () => {
  const [vector] = golden.sharp
  if (vector === undefined) throw new Error('no vector')
  const audit = await slateOf(vector)
  expect(audit.record).toMatchObject({ won: 3, lost: 2, pending: 0 })
  expect(audit.raw_roi).toMatchObject({ staked: 5 })
  expect(audit.raw_roi.pct).toBeCloseTo(0.12, 9)
  expect(audit.summary.edge_and_luck?.edge).toBeCloseTo(5 * -0.03862, 9)
  expect(audit.summary.edge_and_luck?.luck).toBeCloseTo(0.6 + 5 * 0.03862, 9)
  expect(audit.coverage).toMatchObject({ graded: 5, price_basis: 5 })
})

test('G5: every number can be recomputed from the cards', async () => {
  const [vector] = golden.sharp
  if (vector === undefined) throw new Error('no vector')
  const audit = await slateOf(vector)
  const returns = audit.picks.map((card) =>
    card.scoreboard !== undefined && card.scoreboard.status !== 'pending'
      ? card.scoreboard.return_units
      : 0,
  )
  expect(audit.raw_roi.profit).toBeCloseTo(
    returns.reduce((sum, value) => sum + value, 0),
    12,
  )
  const values = audit.picks.map((card) =>
    card.outcome === 'GRADED' ? (card.clv.fair ?? card.clv.price) : 0,
  )
  expect(audit.summary.mean_clv).toBeCloseTo(
    values.reduce((sum, value) => sum + value, 0) / values.length,
    12,
  )
})

test('G5: without a graded pick the score is null, and the results still count', async () => {
  const { store, grader } = createGraderWorld()
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
  })
})

test('void picks count as no stake', async () => {
  const { store, grader } = createGraderWorld()
  const outcomes = [{ period: 'ft', status: 'void' as const }]
  await store.ingest(sampleBatch([sampleObservation({ closes: [samplePrices()], outcomes })]))
  const audit = await grader.audit({ picks: [samplePick()] })
  expect(audit.record.void).toBe(1)
  expect(audit.raw_roi).toMatchObject({ staked: 0, pct: null })
  expect((await store.truth()).bands.size).toBe(0)
})

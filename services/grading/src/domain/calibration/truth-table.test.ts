import { gradePrice } from '@tallystick/odds'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import golden from '../../../vectors/truth-column.json' with { type: 'json' }
import { clusterRegression } from '../../testing/cluster-regression.fixture.ts'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  countEvent,
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { Observation } from '../closes/observation.ts'
import { calibrationAnswer } from './calibration.ts'
import { calibrationColumn } from './truth-rows.ts'
import {
  emptyTruth,
  MICRO,
  readCell,
  type SettledRow,
  sameTruth,
  toMicro,
  writeCell,
} from './truth-table.ts'

const price = fc.integer({ min: 150, max: 600 }).map((hundredths) => String(hundredths / 100))
const odds = fc.record({ home: price, draw: price, away: price })
const goals = fc.integer({ min: 0, max: 3 })
const makeEvent = (index: number) => sampleEvent({ path: `soccer/match-${index}` })

const observation: fc.Arbitrary<Observation> = fc
  .record({
    event: fc.integer({ min: 0, max: 2 }).map(makeEvent),
    startMoved: fc.constantFrom(0, 0, 0, -90_000, 600),
    early: fc.option(odds, { nil: undefined }),
    close: fc.option(odds, { nil: undefined }),
    closeStatus: fc.constantFrom<Observation['closeStatus'][]>(
      'final',
      'final',
      'provisional',
      'void',
    ),
    outcome: fc.oneof(
      fc.constant([]),
      fc.tuple(goals, goals).map(([home, away]) => scored(home, away)),
      fc.constantFrom<Observation['outcomes']>(
        [{ period: 'ft', status: 'void' }],
        [{ period: 'ft', status: 'withdrawn' }],
      ),
    ),
  })
  .map(({ event, startMoved, early, close, closeStatus, outcome }) => ({
    event: { ...event, startAtSeconds: event.startAtSeconds + startMoved },
    rule: 'last_before_start' as const,
    snapshots:
      early === undefined
        ? []
        : [samplePrices({ odds: early, capturedAtSeconds: START_SECONDS - 80_000 })],
    closes: close === undefined ? [] : [samplePrices({ odds: close })],
    closeStatus,
    outcomes: outcome,
  }))

const step = fc.oneof(
  { weight: 3, arbitrary: observation.map((value) => ({ kind: 'observe' as const, value })) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('pick' as const),
      event: fc.integer({ min: 0, max: 3 }),
      selection: fc.constantFrom('home', 'draw', 'away'),
      odds: price,
      payer: fc.constantFrom('a', 'b'),
    }),
  },
)

const isResult = ({ outcomes }: Observation): boolean => outcomes.length > 0

/** The table of a ledger after these, in order. */
const makeTable = async (arriving: readonly Observation[]) => {
  const { store } = createGraderFixture()
  for (const each of arriving) await store.ingest(sampleBatch([each]))
  expect(await store.verify()).toMatchObject({ kind: 'intact' })
  return store.truth()
}

describe('truth table', () => {
  test('results re-settled, voided, corrected: tables always equal a full recomputation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { store, pay } = createGraderFixture()
        for (const each of steps) {
          if (each.kind === 'observe') await store.ingest(sampleBatch([each.value]))
          else {
            const { path } = makeEvent(each.event)
            const pick = samplePick({
              market: `${path}/1x2/ft`,
              selection: each.selection,
              odds: each.odds,
            })
            await pay(pick, { payer: each.payer })
          }
          expect(await store.verify()).toMatchObject({ kind: 'intact' })
        }
      }),
      { numRuns: process.env['TALLYSTICK_LONG'] === '1' ? 2_000 : 60 },
    )
  })

  const parts = [0, 1, 2].flatMap((index): readonly Observation[] => {
    const event = makeEvent(index)
    const shaped = (over: Partial<Observation>) => sampleObservation({ event, ...over })
    const earlyAt = (hours: number, home: string) =>
      shaped({
        snapshots: [
          samplePrices({
            odds: { home, draw: '3.4', away: '3.6' },
            capturedAtSeconds: START_SECONDS - hours * 3_600,
          }),
        ],
      })
    return [
      earlyAt(9, '2.3'),
      earlyAt(6, '2.1'),
      earlyAt(3, '2.2'),
      shaped({ closes: [samplePrices()] }),
      shaped({ outcomes: scored(index, 1) }),
    ]
  })

  const [results, before] = [parts.filter(isResult), parts.filter((part) => !isResult(part))]

  test('prices and closes in every order of arrival, then results, some twice: one table', async () => {
    const expected = await makeTable(parts)
    const orders = fc.tuple(
      fc.shuffledSubarray(before, { minLength: before.length }),
      fc.shuffledSubarray(results, { minLength: results.length }),
      fc.subarray(parts),
    )
    await fc.assert(
      fc.asyncProperty(orders, async ([prices, settled, again]) => {
        const table = await makeTable([...prices, ...settled, ...again])
        expect(sameTruth(table, expected)).toBe(true)
      }),
      { numRuns: process.env['TALLYSTICK_LONG'] === '1' ? 1_000 : 40 },
    )
  })

  test('G15: whatever prices come after the results, the table stays', async () => {
    const expected = await makeTable([
      ...results,
      ...before.filter(({ closes }) => closes.length > 0),
    ])
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(before, { minLength: before.length }), async (late) => {
        expect(sameTruth(await makeTable([...results, ...late]), expected)).toBe(true)
      }),
      { numRuns: process.env['TALLYSTICK_LONG'] === '1' ? 500 : 20 },
    )
    expect(expected.cells.size).toBe(0)
  })

  const row: fc.Arbitrary<SettledRow> = fc.record({
    population: fc.constantFrom('mechanical' as const, 'committed' as const),
    basis: fc.constantFrom('fair' as const, 'price' as const),
    scope: fc.constantFrom('all', 'soccer/1x2'),
    band: fc.constantFrom('A+' as const, 'B' as const, 'F' as const),
    result: fc.constantFrom('won' as const, 'lost' as const, 'push' as const),
    returnMicro: fc.integer({ min: -MICRO, max: 50 * MICRO }),
    clvMicro: fc.integer({ min: -MICRO, max: MICRO }),
  })

  test('subtracting events in any order leaves exactly what a fresh count gives', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(row, { maxLength: 5 }), { maxLength: 12 }),
        fc.array(fc.nat()),
        (events, order) => {
          const [all, stored] = [emptyTruth(), emptyTruth()]
          for (const rows of events) countEvent(all, rows, 1)
          const gone = new Set(order.map((place) => place % Math.max(1, events.length)))
          for (const place of gone) countEvent(all, events[place] ?? [], -1)
          for (const [place, rows] of events.entries())
            if (!gone.has(place)) countEvent(stored, rows, 1)
          expect(sameTruth(all, stored)).toBe(true)
        },
      ),
    )
  })

  test('a table survives writing and reading', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 30 }), (rows) => {
        const [truth, read] = [emptyTruth(), emptyTruth()]
        for (const each of rows) countEvent(truth, [each], 1)
        for (const [key, cell] of truth.cells) readCell(read, key, writeCell(cell))
        expect(sameTruth(truth, read)).toBe(true)
      }),
    )
  })

  test('the regression from sums equals the one over the points', () => {
    const truth = emptyTruth()
    const points = Array.from({ length: 600 }, (_, index) => {
      const x = Math.round(Math.sin(index * 7.1) * 80_000) / MICRO
      const y = Math.round((1.1 * x - 0.02 + Math.cos(index * 3.3)) * MICRO) / MICRO
      return { cluster: Math.floor(index / 3), x, y }
    })
    for (let event = 0; event < 200; event += 1)
      countEvent(
        truth,
        points
          .filter(({ cluster }) => cluster === event)
          .map(({ x, y }) => ({
            population: 'mechanical' as const,
            basis: 'fair' as const,
            scope: 'all',
            band: 'B' as const,
            result: 'won' as const,
            returnMicro: Math.round(y * MICRO),
            clvMicro: Math.round(x * MICRO),
          })),
      )
    const expected = clusterRegression(points)
    const { line } = calibrationColumn(truth, {
      population: 'mechanical',
      basis: 'fair',
      scope: 'all',
    })
    if (expected.kind !== 'line' || line === null) throw new Error('no line')
    expect(line.slope).toBeCloseTo(expected.slope, 9)
    expect(line.intercept).toBeCloseTo(expected.intercept, 9)
    expect(line.slope_se).toBeCloseTo(expected.slopeError, 9)
    expect(line.intercept_se).toBeCloseTo(expected.interceptError, 9)
  })

  test('G17: golden, from an independent implementation: intervals, gaps, line and both joint tests', () => {
    const truth = emptyTruth()
    for (const event of golden.events)
      countEvent(
        truth,
        event.map(([value = 0, returned = 0]) => ({
          population: 'mechanical' as const,
          basis: 'fair' as const,
          scope: 'all',
          band: gradePrice({ taken: 1 + value, close: 1, fairProbability: 1 }).band,
          result: 'won' as const,
          returnMicro: toMicro(returned),
          clvMicro: toMicro(value),
        })),
      )
    const column = calibrationColumn(truth, {
      population: 'mechanical',
      basis: 'fair',
      scope: 'all',
    })
    for (const [place, expected] of golden.bands.entries()) {
      const found = column.bands[place]
      expect(found).toMatchObject({ band: expected.band, n: expected.n, events: expected.events })
      expect(found?.roi).toBeCloseTo(expected.roi, 9)
      expect(found?.roi_ci95?.[0]).toBeCloseTo(expected.low, 9)
      expect(found?.roi_ci95?.[1]).toBeCloseTo(expected.high, 9)
      expect(found?.expected_roi).toBeCloseTo(expected.expected, 9)
      expect(found?.gap_z).toBeCloseTo(expected.gap_z, 7)
    }
    for (const name of ['slope', 'intercept', 'slope_se', 'intercept_se'] as const)
      expect(column.line?.[name]).toBeCloseTo(golden.line[name], 9)
    for (const name of ['gaps', 'line'] as const) {
      expect(column.joint?.[name].chi_square).toBeCloseTo(golden.joint[name].chi_square, 6)
      expect(column.joint?.[name].degrees).toBe(golden.joint[name].degrees)
      expect(column.joint?.[name].p).toBeCloseTo(golden.joint[name].p, 7)
    }
  })

  test('the bands’ n sum to the column’s, and every band with few picks says so', async () => {
    const { store } = createGraderFixture()
    const early = samplePrices({
      odds: { home: '2.4', draw: '3.3', away: '3.5' },
      capturedAtSeconds: START_SECONDS - 9_000,
    })
    await store.ingest(
      sampleBatch([
        sampleObservation({ snapshots: [early], closes: [samplePrices()], outcomes: scored(1, 0) }),
      ]),
    )
    const { columns } = await calibrationAnswer(store, { population: 'mechanical', basis: 'fair' })
    const [column] = columns
    expect(column?.bands.reduce((sum, { n }) => sum + n, 0)).toBe(3)
    expect(column?.total.n).toBe(3)
    expect(column?.bands.every(({ low_sample }) => low_sample)).toBe(true)
    expect(column?.bands[0]).toMatchObject({ band: 'A+', n: 1, wins: 1, roi: 1, roi_ci95: null })
  })
})

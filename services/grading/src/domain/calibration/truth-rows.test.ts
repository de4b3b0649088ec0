import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { CalibrationRow } from '../../wire/calibration.ts'
import { calibrationAnswer } from './calibration.ts'
import { publishedColumn, publishedRow } from './truth-rows.ts'

const HIDDEN = { feed: 'football-data', isRedistributable: false, isSynthetic: false }

/** What a stranger can read after a match with these early prices. */
async function tableAfter(early: Readonly<Record<string, string>>, matches = 1): Promise<string> {
  const { store } = createGraderFixture()
  for (let match = 0; match < matches; match += 1)
    await store.ingest(
      sampleBatch(
        [
          sampleObservation({
            event: sampleEvent({ path: `soccer/epl.${match}` }),
            snapshots: [samplePrices({ odds: early, capturedAtSeconds: START_SECONDS - 90_000 })],
            closes: [samplePrices()],
            outcomes: scored(1, 0),
          }),
        ],
        { feed: HIDDEN },
      ),
    )
  const { columns } = await calibrationAnswer(store, {})
  return JSON.stringify(columns)
}

test.each([1, 2, 3])(
  'G7: the figures after %i results reveal no price that may not be shown',
  async (matches) => {
    const each = await tableAfter({ home: '2.20', draw: '3.40', away: '3.60' }, matches)
    expect(each).toContain('"n":')
    // Other prices in the same bands.
    const other = await tableAfter({ home: '2.21', draw: '3.38', away: '3.63' }, matches)
    expect(each).toBe(other)
  },
)

const row: CalibrationRow = {
  band: 'A',
  n: 40_000,
  events: 20_000,
  wins: 16_000,
  half_wins: 0,
  pushes: 0,
  half_losses: 0,
  losses: 24_000,
  dead_heats: 0,
  win_rate: 0.4,
  roi: 0.051_234_567,
  roi_ci95: [0.041_234_567, 0.061_234_567],
  expected_roi: 0.055_555_555,
  gap_z: -0.8765,
  low_sample: false,
}

test('with many picks rounding loses no meaningful digit, and an interval only widens', () => {
  expect(publishedRow(row)).toEqual({
    ...row,
    roi: 0.051_225,
    roi_ci95: [0.041_225, 0.061_25],
    expected_roi: 0.055_556_25,
    gap_z: -0.9,
  })
  const line = { slope: 0.98765, intercept: -0.0012345, slope_se: 0.0123, intercept_se: 0.00091 }
  const total = { n: 40_000, events: 20_000, roi: -0.031_234_567 }
  const column = {
    population: 'mechanical',
    basis: 'fair',
    scope: 'all',
    bands: [row],
    joint: {
      gaps: { chi_square: 7.777, degrees: 6, p: 0.2551 },
      line: { chi_square: 1.234, degrees: 2, p: 0.5396 },
    },
    verdict: 'came_true',
    refunded: 0.123_456_789_012_345,
    statement: null,
  } as const
  expect(publishedColumn({ ...column, total, line })).toMatchObject({
    total: { roi: -0.031_225 },
    line: { slope: 0.99, intercept: -0.0012, slope_se: 0.02, intercept_se: 0.001 },
    joint: {
      gaps: { chi_square: 7.8, degrees: 6, p: 0.255 },
      line: { chi_square: 1.2, degrees: 2, p: 0.54 },
    },
  })
})

test('no figure has meaningless digits: a gap has one decimal, everything else at most twelve digits', () => {
  const figures = fc.record({
    n: fc.integer({ min: 1, max: 2_000_000 }),
    roi: fc.double({ min: -1, max: 50, noNaN: true }),
    gap_z: fc.double({ min: -99, max: 99, noNaN: true }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(figures, ({ n, roi, gap_z, share }) => {
      const wins = Math.floor(n * share)
      const found = publishedRow({ ...row, n, wins, win_rate: wins / n, roi, gap_z })
      expect(String(found.gap_z)).toMatch(/^-?\d{1,2}(?:\.\d)?$/)
      for (const value of [found.roi, found.win_rate])
        expect(Number(value?.toPrecision(12))).toBe(value)
      expect(found.win_rate).toBeCloseTo(wins / n, 11)
    }),
  )
})

test('an empty row stays as it is', () => {
  const empty = { ...row, n: 0, roi: null, roi_ci95: null, expected_roi: null, gap_z: null }
  expect(publishedRow(empty)).toEqual(empty)
})

import { describe, expect, test } from 'vitest'
import { countEvent } from '../../testing/samples.fixture.ts'
import { columnVerdict, refundStatement } from './calibration-verdict.ts'
import { calibrationColumn, publishedColumn } from './truth-rows.ts'
import { emptyTruth, type SettledRow, toMicro } from './truth-table.ts'

const total = { n: 12_000, events: 2_000, roi: -0.02 }
const line = { slope: 1.03, intercept: -0.001, slope_se: 0.022, intercept_se: 0.002 }
const chance = (p: number) => ({ chi_square: 1, degrees: 2, p })
const verdict = (over: Partial<Parameters<typeof columnVerdict>[0]>) =>
  columnVerdict({ total, line, joint: { gaps: chance(0.5), line: chance(0.5) }, ...over })

describe('the verdict on a column', () => {
  test('G17: by all gaps at once and by slope and intercept at once, each at 2.5 %', () => {
    expect(verdict({})).toBe('came_true')
    expect(verdict({ joint: { gaps: chance(0.026), line: chance(0.026) } })).toBe('came_true')
    expect(verdict({ joint: { gaps: chance(0.024), line: chance(0.9) } })).toBe('uneven')
    expect(verdict({ joint: { gaps: chance(0.9), line: chance(0.024) } })).toBe(
      'promised_too_little',
    )
  })

  test('says which way the line departs', () => {
    const joint = { gaps: chance(0.9), line: chance(0.001) }
    expect(verdict({ joint, line: { ...line, slope: 0.8 } })).toBe('promised_too_much')
    expect(verdict({ joint, line: { ...line, intercept: -0.03 } })).toBe('promised_too_much')
    expect(verdict({ joint, line: { ...line, intercept: 0.03 } })).toBe('promised_too_little')
  })

  test('is none without picks, and withheld where nothing could be seen', () => {
    expect(verdict({ total: { n: 0, events: 0, roi: null } })).toBe('none')
    expect(verdict({ line: null })).toBe('too_few')
    expect(verdict({ joint: null })).toBe('too_few')
    expect(verdict({ total: { ...total, events: 29 } })).toBe('too_few')
    expect(verdict({ line: { slope: 4, intercept: 0.1, slope_se: 3, intercept_se: 0.3 } })).toBe(
      'too_few',
    )
  })
})

const COLUMN = { population: 'mechanical', basis: 'fair', scope: 'all' } as const

/** Events of one pick each, alternately won and lost by as much around the mean that its value is given. */
function makeColumn(
  bands: readonly (readonly [band: SettledRow['band'], value: number, mean: number])[],
) {
  const truth = emptyTruth()
  for (const [band, value, mean] of bands)
    for (let event = 0; event < 3_000; event += 1) {
      const returned = mean + (event % 2 === 0 ? 0.5 : -0.5)
      const row: SettledRow = {
        ...COLUMN,
        scope: 'all',
        band,
        result: 'won',
        returnMicro: toMicro(returned),
        clvMicro: toMicro(value),
      }
      countEvent(truth, [row], 1)
    }
  return calibrationColumn(truth, COLUMN)
}

test('attack: six small gaps that no line shows, and none of which stands out alone, are called calibrated', () => {
  const gap = 0.0165
  const column = makeColumn([
    ['A+', 0.1, 0.1 + gap],
    ['A', 0.06, 0.06 - gap],
    ['B', 0.02, 0.02 - gap],
    ['C', -0.02, -0.02 + gap],
    ['D', -0.06, -0.06 + gap],
    ['F', -0.1, -0.1 - gap],
  ])
  for (const { gap_z: z } of column.bands) expect(Math.abs(z ?? 9)).toBeLessThan(1.96)
  expect(column.joint?.line.p).toBeGreaterThan(0.3)
  expect(column.verdict).toBe('uneven')
})

test('attack: an error that is rounded up for publication hides a departure', () => {
  const column = makeColumn([
    ['A+', 0.6, 0.6 + 0.0195],
    ['F', -0.6, -0.6 - 0.0195],
  ])
  const published = publishedColumn(column)
  const { slope = 0, slope_se: error = 0 } = published.line ?? {}
  // By what is published the slope agrees with 1.
  expect(Math.abs(slope - 1)).toBeLessThanOrEqual(1.96 * error)
  expect(Math.abs((column.line?.slope ?? 1) - 1)).toBeGreaterThan(
    2.7 * (column.line?.slope_se ?? 1),
  )
  expect(published.verdict).toBe('promised_too_little')
})

test('a low sample is one with a wide interval, however many its picks', () => {
  const wide = makeColumn([['A', 0.05, 0.05]]).bands[1]
  expect(wide).toMatchObject({ n: 3_000, low_sample: false })
  expect(wide?.roi_ci95?.map((end) => Math.round((end - 0.05) * 1_000))).toEqual([-18, 18])
  const truth = emptyTruth()
  const row: SettledRow = {
    ...COLUMN,
    scope: 'all',
    band: 'A',
    result: 'won',
    returnMicro: 0,
    clvMicro: 0,
  }
  // 40,000 picks on four matches.
  for (const returnMicro of [1e6, -1e6, 1e6, -1e6])
    countEvent(
      truth,
      Array.from({ length: 10_000 }, () => ({ ...row, returnMicro })),
      1,
    )
  expect(calibrationColumn(truth, COLUMN).bands[1]).toMatchObject({ n: 40_000, low_sample: true })
})

describe('what the letters of a scope overstate', () => {
  test('is said where lines refund, with the share of the stakes that came back', () => {
    expect(refundStatement(0.112)).toMatch(/^11\.2 % of the stakes here came back/)
    expect(refundStatement(0.112)).toContain('a value of 4 % is 3.6 % of the whole stake')
    const truth = emptyTruth()
    const row: SettledRow = {
      ...COLUMN,
      scope: 'all',
      band: 'B',
      result: 'push',
      returnMicro: 0,
      clvMicro: 0,
    }
    countEvent(truth, [row, { ...row, result: 'half_lost' }, { ...row, result: 'won' }], 1)
    const column = calibrationColumn(truth, COLUMN)
    expect(column.refunded).toBeCloseTo(0.5, 12)
    expect(column.statement).toMatch(/^50\.0 %/)
  })

  test('is nothing where none does', () => {
    expect(refundStatement(0)).toBeNull()
    expect(refundStatement(null)).toBeNull()
  })
})

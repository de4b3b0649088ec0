/** The real odds table: how it is read, and the figures in docs/grading-reference-study.md. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { removeMargin } from '@tallystick/odds'
import { systemClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import { calibrationColumn } from '../domain/truth-rows.ts'
import type { TruthTable } from '../domain/truth-table.ts'
import type { GradeBasis } from '../wire/cards.ts'
import { normaliseFootballData, readFootballData } from './football-data.ts'
import { ingestPayload } from './ingest-payload.ts'

/** Real odds, if present, lie beside the project and are never part of it. */
const REAL_FILE = new URL('../../../../../shared/data/football_fd.csv.gz', import.meta.url)

const skipped = !existsSync(REAL_FILE)
  ? ' (skipped: the file of real odds is not here)'
  : process.env['TALLYSTICK_LONG'] !== '1'
    ? ' (skipped: long runs only)'
    : undefined

const realTable = (): Buffer => gunzipSync(readFileSync(REAL_FILE))

/** An import of 153,116 matches takes a minute on a busy machine. */
const TIMEOUT_MS = 600_000

const percent = (value: number | null): string => ((value ?? Number.NaN) * 100).toFixed(2)

const columnOf = (truth: TruthTable, scope: string, basis: GradeBasis = 'fair') =>
  calibrationColumn(truth, { population: 'mechanical', basis, scope })

function lineOf(truth: TruthTable, scope: string): string {
  const { total, line } = columnOf(truth, scope)
  return `${total.n} ${percent(line?.intercept ?? null)} ${line?.slope.toFixed(3)} ${line?.slope_se.toFixed(3)}`
}

/** The study's figures as documented. */
function expectStudy(truth: TruthTable): void {
  const fair = columnOf(truth, 'all')
  expect(fair.total).toMatchObject({ n: 1_262_147, events: 90_797 })
  expect(
    fair.bands.map(
      ({ band, n, expected_roi, roi }) => `${band} ${n} ${percent(expected_roi)} ${percent(roi)}`,
    ),
  ).toEqual([
    'A+ 63279 13.59 12.81',
    'A 86103 5.72 4.78',
    'B 188079 1.77 1.97',
    'C 299125 -2.08 -1.63',
    'D 274799 -5.89 -5.34',
    'F 350762 -14.26 -15.26',
  ])
  expect(columnOf(truth, 'all', 'price').bands.map(({ roi }) => percent(roi))).toEqual([
    '8.59',
    '2.60',
    '-1.13',
    '-4.88',
    '-9.01',
    '-18.93',
  ])
  expect(lineOf(truth, 'all')).toBe('1262147 0.03 1.036 0.036')
  expect(lineOf(truth, 'soccer/1x2/pinnacle')).toBe('269979 -0.19 1.039 0.044')
  expect(lineOf(truth, 'soccer/1x2/best_of_books')).toBe('113862 -0.31 1.011 0.065')
  expect(lineOf(truth, 'soccer/1x2/bet365')).toBe('272129 0.21 1.076 0.039')
  expect(lineOf(truth, 'soccer/1x2/market_average')).toBe('113862 -0.03 1.036 0.057')
  expect(lineOf(truth, 'soccer/total/pinnacle')).toBe('75470 0.46 1.125 0.077')
  expect(lineOf(truth, 'soccer/ah/pinnacle')).toBe('47295 -0.36 0.716 0.101')
}

test.skipIf(skipped !== undefined)(
  `the reference study: ROI per grade and return on closing-line value, from the ledger${skipped ?? ''}`,
  { timeout: TIMEOUT_MS },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grading-study-'))
    const store = openSqliteGradingStore({
      databasePath: join(folder, 'study.db'),
      clock: systemClock,
      checkpointSeed: new Uint8Array(32).fill(3),
      origin: 'grading.test/ledger',
    })
    try {
      const raw = realTable()
      const read = () => readFootballData(raw)
      const account = await ingestPayload({ store, raw, receivedAtSeconds: 1_780_000_000, read })
      expect(account).toMatchObject({
        observations: 153_116,
        events: 153_113,
        snapshots: 152_923,
        closes: 90_847,
        outcomes: 153_112,
        superseded: 3,
        missingPrices: 16,
        refused: 3,
      })
      expectStudy(await store.truth())
    } finally {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

test.skipIf(skipped !== undefined)(
  `the real table reads without a malformed row${skipped ?? ''}`,
  () => {
    const { observations, refusals, missingPrices } = normaliseFootballData(realTable())
    expect(observations).toHaveLength(153_116)
    expect(refusals.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 3 }, () => 'booksum_out_of_range'),
    )
    expect(missingPrices).toBe(16)
  },
)

test.skipIf(skipped !== undefined)(
  `convergence on every closing book of the real table, by every method${skipped ?? ''}`,
  () => {
    const { observations } = normaliseFootballData(realTable())
    let [books, failed] = [0, 0]
    for (const { closes } of observations)
      for (const { market, odds } of closes) {
        const prices = Object.values(odds).map(Number)
        if (prices.length !== (market.startsWith('1x2') ? 3 : 2)) continue
        books += 1
        for (const method of ['power', 'shin', 'odds_ratio', 'multiplicative'] as const) {
          const removal = removeMargin(prices, method)
          const sum =
            removal.kind === 'fair' ? removal.probabilities.reduce((all, one) => all + one, 0) : 0
          if (Math.abs(sum - 1) > 1e-12) failed += 1
        }
      }
    expect(books).toBeGreaterThan(390_000)
    expect(failed).toBe(0)
  },
)

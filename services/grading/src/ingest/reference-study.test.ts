/** The real odds table: how it is read, and the figures in docs/grading-reference-study.md. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { removeMargin } from '@tallystick/odds'
import { systemClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { openSqliteGradingStore } from '../adapters/sqlite-grading-store.ts'
import { calibrationAnswer } from '../domain/calibration.ts'
import { readMarketPath } from '../domain/parse-market.ts'
import { REFERENCE_STUDY, studyLines, studyOf } from '../domain/reference-study.ts'
import { clusterRegression, type RegressionPoint } from '../testing/cluster-regression.fixture.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { normaliseFootballData } from './football-data.ts'
import { ingestPayload, readPayload } from './ingest-payload.ts'
import { readUsTable } from './us-tables.ts'

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

/** The files in the order in which the document imports them. */
const FILES = [
  'football_fd.csv.gz',
  'mlb_open_close_2014_2019.csv.gz',
  'nfl_closing_lines.csv.gz',
] as const

const bytesOf = (name: string): Buffer =>
  gunzipSync(readFileSync(new URL(`../../../../../shared/data/${name}`, import.meta.url)))

const documented = readFileSync(
  new URL('../../../../docs/grading-reference-study.md', import.meta.url),
  'utf8',
)

test('the document has the figures of the study, to the digit of `grading table --study`', () => {
  for (const line of studyLines(REFERENCE_STUDY)) expect(documented).toContain(`${line}\n`)
  expect(REFERENCE_STUDY.files.map(({ name }) => name)).toEqual(FILES)
  expect(REFERENCE_STUDY.lines.map(({ scope }) => scope)).toContain('baseball/ml/mlb_open_close')
  expect(REFERENCE_STUDY.closing.map(({ scope }) => scope)).toContain('american_football/spread')
})

test('the study is a block of its own on /api/calibration, whatever the ledger holds', async () => {
  const { store } = createGraderFixture()
  const { columns, reference_study: study } = await calibrationAnswer(store, {})
  expect(study).toBe(REFERENCE_STUDY)
  expect(study.label).toMatch(/Nothing of it is counted/)
  expect(columns.every(({ total }) => total.n === 0)).toBe(true)
})

test.skipIf(skipped !== undefined)(
  `MLB’s one price of a total is of under: under won as often as it says, over did not${skipped ?? ''}`,
  () => {
    const points: RegressionPoint[] = []
    for (const { observations } of readUsTable(bytesOf(FILES[1])))
      for (const { closes, event, outcomes } of observations) {
        const close = closes.find(({ market }) => market.startsWith('total/'))
        const score = outcomes[0]?.score
        const price = Number(close?.odds['under'])
        if (close === undefined || score === undefined || !(price > 1)) continue
        const beyond = score.home + score.away - (readMarketPath(close.market).line ?? 0)
        if (beyond !== 0) points.push({ cluster: event.path, x: 1 / price, y: beyond < 0 ? 1 : 0 })
      }
    const line = clusterRegression(points)
    if (line.kind !== 'line') throw new Error('no line')
    expect([points.length, line.slope.toFixed(2), line.slopeError.toFixed(2)]).toEqual([
      14_038,
      '0.68',
      '0.22',
    ])
    // If it were of over, the slope would be -1: 7.7 errors away; of under it is 1, 1.4 away.
    expect((line.slope + 1) / line.slopeError).toBeGreaterThan(7)
    expect((1 - line.slope) / line.slopeError).toBeLessThan(1.96)
  },
)

test.skipIf(skipped !== undefined)(
  `the reference study: football, MLB and NFL, from the ledger${skipped ?? ''}`,
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
      const rows: number[] = []
      for (const name of FILES) {
        const raw = bytesOf(name)
        const receivedAtSeconds = 1_780_000_000
        const reading = readPayload(raw, { receivedAtSeconds, stage: 'provisional' })
        if (reading.kind !== 'payload') throw new Error(name)
        const { read } = reading
        const account = await ingestPayload({ store, raw, receivedAtSeconds, read })
        rows.push(account.observations)
      }
      expect(rows).toEqual(REFERENCE_STUDY.files.map((file) => file.rows))
      const { bands, closing, lines } = REFERENCE_STUDY
      expect(await studyOf(store)).toEqual({ bands, closing, lines })
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

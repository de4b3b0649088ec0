/** The real odds table: how it is read, and the figures in docs/grading-reference-study.md. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { removeMargin } from '@tallystick/odds'
import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { runGrading } from '../command/run-grading.ts'
import { calibrationAnswer } from '../domain/calibration/calibration.ts'
import { REFERENCE_STUDY, studyLines } from '../domain/calibration/reference-study.ts'
import { readMarketPath } from '../domain/markets/parse-market.ts'
import { clusterRegression, type RegressionPoint } from '../testing/cluster-regression.fixture.ts'
import { createGraderFixture } from '../testing/grader.fixture.ts'
import { wholeReading } from '../testing/whole-reading.fixture.ts'
import { readFootballData } from './football-data.ts'
import { readUsTable } from './us-tables.ts'

/** The files in the order in which the document imports them. */
const FILES = [
  'football_fd.csv.gz',
  'mlb_open_close_2014_2019.csv.gz',
  'nfl_closing_lines.csv.gz',
] as const

/** Real odds, if present, lie beside the project and are never part of it. */
const findData = (name: string): URL =>
  new URL(`../../../../../shared/data/${name}`, import.meta.url)

const toBytes = (name: string): Buffer => gunzipSync(readFileSync(findData(name)))

const skipped = !existsSync(findData(FILES[0]))
  ? ' (skipped: the file of real odds is not here)'
  : process.env['TALLYSTICK_LONG'] !== '1'
    ? ' (skipped: long runs only)'
    : undefined

const realTable = (): Buffer => toBytes(FILES[0])

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
    for (const { observations } of readUsTable(toBytes(FILES[1])))
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
      14_036,
      '0.68',
      '0.22',
    ])
    // If it were of over, the slope would be -1: 7.7 errors away; of under it is 1, 1.4 away.
    expect((line.slope + 1) / line.slopeError).toBeGreaterThan(7)
    expect((1 - line.slope) / line.slopeError).toBeLessThan(1.96)
  },
)

test.skipIf(skipped !== undefined)(
  `the reference study: the document’s commands print its figures of football, MLB and NFL, to the digit${skipped ?? ''}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grading-study-'))
    const grading = async (...args: readonly string[]): Promise<string> => {
      const lines: string[] = []
      const code = await runGrading({
        arguments: args,
        environment: { DATABASE_PATH: join(folder, 'study.db') },
        clock: manualClock(1_780_000_000_000),
        stdin: Readable.from([]),
        print: (line) => lines.push(line),
        printError: (line) => lines.push(line),
      })
      expect(code, lines.join('\n')).toBe(0)
      return lines.join('\n')
    }
    try {
      const imported = await grading(
        'import',
        ...FILES.map((name) => fileURLToPath(findData(name))),
      )
      for (const { name, rows } of REFERENCE_STUDY.files)
        expect(imported).toContain(`${name}: ${rows.toLocaleString('en')} events read`)
      const entries = documented.split('\n').filter((line) => line.startsWith('  new: '))
      expect(entries).toHaveLength(FILES.length)
      for (const line of entries) expect(imported).toContain(line)
      const { bands, closing, lines } = REFERENCE_STUDY
      expect(await grading('table', '--study')).toBe(
        studyLines({ bands, closing, lines }).join('\n'),
      )
      expect(await grading('verify')).toMatch(/intact/i)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

test.skipIf(skipped !== undefined)(
  `the real table reads without a malformed row${skipped ?? ''}`,
  () => {
    const { observations, refusals, missingPrices } = wholeReading(readFootballData(realTable()))
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
    const { observations } = wholeReading(readFootballData(realTable()))
    let [books, failed] = [0, 0]
    for (const { closes } of observations)
      for (const { market, odds } of closes) {
        const prices = Object.values(odds).map(Number)
        if (prices.length !== (market.startsWith('1x2') ? 3 : 2)) continue
        books += 1
        for (const method of ['power', 'shin', 'odds_ratio', 'multiplicative'] as const) {
          const removal = removeMargin(prices, method)
          const sum =
            removal.kind === 'fair' ? removal.probabilities.reduce((all, each) => all + each, 0) : 0
          if (Math.abs(sum - 1) > 1e-12) failed += 1
        }
      }
    expect(books).toBeGreaterThan(390_000)
    expect(failed).toBe(0)
  },
)

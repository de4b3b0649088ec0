// Runs every workspace's tests through turbo and ends with one line that adds them up: `N passed, N failed`. A suite
// without a report (its runner died), or with a failed report that names no failed test (a file that did not load),
// counts as one failure. `--long` runs the full counts instead of the bounded ones. `--postgres` also runs, with stores on
// PostgreSQL, the tests of care and grading whose result depends on the engine (vitest.package.ts); `--only-postgres` no others.
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { postgresMissing } from '../packages/journal-store/src/postgres-server.fixture.ts'

const Manifest = z.object({ scripts: z.record(z.string(), z.string()).optional() })
const Report = z.object({
  success: z.boolean().optional(),
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number().optional(),
  numTodoTests: z.number().optional(),
  testResults: z
    .array(
      z.object({
        name: z.string(),
        status: z.string(),
        message: z.string().optional(),
        assertionResults: z.array(
          z.object({
            fullName: z.string(),
            status: z.string(),
            failureMessages: z.array(z.string()).nullish(),
          }),
        ),
      }),
    )
    .default([]),
})
/** Most of a failed test's messages that is shown: an assertion with its place fits, a page of HTML does not. */
const MAX_REASON_CHARACTERS = 2_000
type Totals = { passed: number; failed: number; skipped: number }

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))
/** Where each task's suites report. */
const REPORTS = {
  test: 'tests.json',
  'test:postgres': 'postgres.json',
  'test:clusters': 'clusters.json',
}
type Task = keyof typeof REPORTS

/** The reports that a task's suites will write. */
function readReports(task: Task): readonly string[] {
  return globSync('{contracts,packages/*,services/*,e2e,bench}/package.json')
    .filter((file) => Manifest.parse(readJson(file)).scripts?.[task] !== undefined)
    .map((file) => join(dirname(file), 'reports', REPORTS[task]))
}

function countTotals(file: string): Totals {
  if (!existsSync(file)) {
    console.log(`${file}: no report, counted as one failure`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const report = Report.parse(readJson(file))
  return {
    passed: report.numPassedTests,
    failed: Math.max(report.numFailedTests, report.success === false ? 1 : 0),
    skipped: (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
  }
}

/** A failed test's messages with their places in our own files. */
function reasonIn(messages: readonly string[]): string {
  const lines = messages.join('\n').split('\n')
  return lines
    .filter((line) => !line.includes('/node_modules/'))
    .join('\n')
    .slice(0, MAX_REASON_CHARACTERS)
}

/**
 * Each failed test of a report with its reason, and each file that did not load. The suites' outputs mix, so the end of a
 * run's output repeats these.
 */
function failuresIn(report: string): readonly string[] {
  if (!existsSync(report)) return []
  const where = report.endsWith(REPORTS['test:postgres']) ? ' on PostgreSQL' : ''
  return Report.parse(readJson(report)).testResults.flatMap((file) => {
    const place = `${file.name}${where}`
    const failed = file.assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0 && file.status === 'failed') return [`${place}: ${file.message}`]
    return failed.map(
      ({ fullName, failureMessages }) =>
        `${place}: ${fullName}\n${reasonIn(failureMessages ?? [])}`,
    )
  })
}

const OWN_FLAGS = ['--long', '--postgres', '--only-postgres']
const flags = process.argv.slice(2)
const passedOn = flags.filter((argument) => !OWN_FLAGS.includes(argument))
const isLong = flags.includes('--long')
/** With a filter, the other workspaces need no report. */
const isFiltered = flags.some((argument) => argument.startsWith('--filter'))
const isOnlyPostgres = flags.includes('--only-postgres')
const wantsPostgres = isOnlyPostgres || flags.includes('--postgres')
const runsPostgres = wantsPostgres && postgresMissing === undefined
const reports = [
  ...(isOnlyPostgres ? [] : [...readReports('test'), ...readReports('test:clusters')]),
  ...(runsPostgres ? readReports('test:postgres') : []),
]
for (const report of reports) rmSync(report, { force: true })

type Suites = {
  readonly task?: Task
  readonly filters?: readonly string[]
  /** Suites at once. */
  readonly concurrency: number
}

/** Runs a task's suites that the filters name. Resolves with turbo's exit code. */
function runSuites({ task = 'test', filters = [], concurrency }: Suites): Promise<number> {
  const child = spawn(
    'turbo',
    [
      'run',
      task,
      '--continue',
      '--output-logs=new-only',
      `--concurrency=${concurrency}`,
      ...filters,
      ...passedOn,
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        TURBO_TELEMETRY_DISABLED: '1',
        // Tests start hundreds of Node processes; with modules compiled once, each starts in about half the time.
        NODE_COMPILE_CACHE: resolve('node_modules/.cache/node'),
        ...(isLong ? { TALLYSTICK_LONG: '1' } : {}),
        ...(isFiltered ? {} : { TALLYSTICK_WHOLE_RUN: '1' }),
      },
    },
  )
  return new Promise((done) => child.once('exit', (code) => done(code ?? 1)))
}

// The longest suites, which mostly wait for processes, windows and browsers, start at once. Beside them the packages' suites
// run one at a time: two would only slow down the longest, care's, which ends last. Solidity's tests never wait: they take
// the time that the others leave (see their script).
const WAITING = ['@tallystick/e2e', '@tallystick/agent']
const COMPUTING = ['@tallystick/contracts']
const only = (names: readonly string[]) => names.map((name) => `--filter=${name}`)
const exceptFor = (names: readonly string[]) => names.map((name) => `--filter=!${name}`)

async function runPostgres(): Promise<number> {
  return runsPostgres ? await runSuites({ task: 'test:postgres', concurrency: 1 }) : 0
}

/** Alone, since they need the machine (e2e/vitest.config.ts). */
const runClusters = () => runSuites({ task: 'test:clusters', concurrency: 1 })

async function runAll(): Promise<readonly number[]> {
  if (isOnlyPostgres) return [await runPostgres()]
  if (isFiltered) {
    const code = await runSuites({ concurrency: availableParallelism() })
    return [code, await runPostgres(), await runClusters()]
  }
  return [...(await runBeside()), await runClusters()]
}

async function runBeside(): Promise<readonly number[]> {
  const packages = exceptFor([...WAITING, ...COMPUTING, './services/*'])
  return await Promise.all([
    runSuites({ filters: only(WAITING), concurrency: WAITING.length }),
    runSuites({ filters: only(['./services/*']), concurrency: 3 }),
    runSuites({ filters: only(COMPUTING), concurrency: COMPUTING.length }),
    runSuites({ filters: packages, concurrency: 1 }).then(async (code) =>
      Math.max(code, await runPostgres()),
    ),
  ])
}

const exitCodes = await runAll()
const reported = isFiltered ? reports.filter((report) => existsSync(report)) : reports
const totals = reported.map(countTotals).reduce(
  (sum, run) => ({
    passed: sum.passed + run.passed,
    failed: sum.failed + run.failed,
    skipped: sum.skipped + run.skipped,
  }),
  { passed: 0, failed: 0, skipped: 0 },
)
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
for (const failure of reports.flatMap(failuresIn)) console.log(`\nFailed: ${failure}`)
if (wantsPostgres && !runsPostgres) console.log(`\nNothing ran on PostgreSQL: ${postgresMissing}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed > 0 ? 1 : Math.max(...exitCodes)

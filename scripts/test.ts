// Runs every workspace's tests through turbo and ends with one line that adds them up: `N passed, N failed`. A workspace
// without a report (its runner died), or with a failed report that names no failed test (a file that did not load),
// counts as one failure. `--long` runs the full counts instead of the bounded ones.
import { spawn } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'

const Manifest = z.object({ scripts: z.record(z.string(), z.string()).optional() })
const Report = z.object({
  success: z.boolean().optional(),
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number().optional(),
  numTodoTests: z.number().optional(),
})
type Totals = { passed: number; failed: number; skipped: number }

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))
const reportOf = (folder: string): string => join(folder, 'reports', 'tests.json')

function testedFolders(): readonly string[] {
  return globSync('{contracts,packages/*,services/*,e2e,bench}/package.json')
    .filter((file) => Manifest.parse(readJson(file)).scripts?.test !== undefined)
    .map((file) => dirname(file))
}

function totalsOf(folder: string): Totals {
  if (!existsSync(reportOf(folder))) {
    console.log(`${folder}: no report, counted as one failure`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const report = Report.parse(readJson(reportOf(folder)))
  return {
    passed: report.numPassedTests,
    failed: Math.max(report.numFailedTests, report.success === false ? 1 : 0),
    skipped: (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
  }
}

const passedOn = process.argv.slice(2)
const isLong = passedOn.includes('--long')
const folders = testedFolders()
for (const folder of folders) rmSync(reportOf(folder), { force: true })

/** Runs the tests that the filters name, `concurrency` suites at once. Resolves with turbo's exit code. */
function runSuites(filters: readonly string[], concurrency: number): Promise<number> {
  const child = spawn(
    'turbo',
    [
      'run',
      'test',
      '--continue',
      '--output-logs=new-only',
      `--concurrency=${concurrency}`,
      ...filters,
      ...passedOn.filter((argument) => argument !== '--long'),
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        TURBO_TELEMETRY_DISABLED: '1',
        // Tests start hundreds of Node processes; with modules compiled once, each starts in about half the time.
        NODE_COMPILE_CACHE: resolve('node_modules/.cache/node'),
        ...(isLong ? { TALLYSTICK_LONG: '1' } : {}),
      },
    },
  )
  return new Promise((done) => child.once('exit', (code) => done(code ?? 1)))
}

// End-to-end tests and the services' suites are the longest and mostly wait: for processes, windows and browsers. They start at
// once and run beside the packages' suites, of which one per core runs.
const isFiltered = passedOn.some((argument) => argument.startsWith('--filter'))
const exitCodes = await Promise.all(
  isFiltered
    ? [runSuites([], availableParallelism())]
    : [
        runSuites(['--filter=@tallystick/e2e'], 1),
        runSuites(['--filter=./services/*'], 3),
        runSuites(['--filter=!@tallystick/e2e', '--filter=!./services/*'], availableParallelism()),
      ],
)

const totals = folders.map(totalsOf).reduce((sum, one) => ({
  passed: sum.passed + one.passed,
  failed: sum.failed + one.failed,
  skipped: sum.skipped + one.skipped,
}))
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed > 0 ? 1 : Math.max(...exitCodes)

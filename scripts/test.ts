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

/** A failed test's messages with their places in our own files. */
function reasonIn(messages: readonly string[]): string {
  const lines = messages.join('\n').split('\n')
  return lines
    .filter((line) => !line.includes('/node_modules/'))
    .join('\n')
    .slice(0, MAX_REASON_CHARACTERS)
}

/**
 * Each failed test of a folder with its reason, and each file that did not load. The suites' outputs mix, so the end of a
 * run's output repeats these.
 */
function failuresOf(folder: string): readonly string[] {
  if (!existsSync(reportOf(folder))) return []
  return Report.parse(readJson(reportOf(folder))).testResults.flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed')
    if (failed.length === 0 && file.status === 'failed') return [`${file.name}: ${file.message}`]
    return failed.map(
      ({ fullName, failureMessages }) =>
        `${file.name}: ${fullName}\n${reasonIn(failureMessages ?? [])}`,
    )
  })
}

const passedOn = process.argv.slice(2)
const isLong = passedOn.includes('--long')
/** With a filter, the other workspaces need no report. */
const isFiltered = passedOn.some((argument) => argument.startsWith('--filter'))
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
const exitCodes = await Promise.all(
  isFiltered
    ? [runSuites([], availableParallelism())]
    : [
        runSuites(only(WAITING), WAITING.length),
        runSuites(only(['./services/*']), 3),
        runSuites(only(COMPUTING), COMPUTING.length),
        runSuites(exceptFor([...WAITING, ...COMPUTING, './services/*']), 1),
      ],
)

const reported = isFiltered ? folders.filter((folder) => existsSync(reportOf(folder))) : folders
const totals = reported.map(totalsOf).reduce(
  (sum, one) => ({
    passed: sum.passed + one.passed,
    failed: sum.failed + one.failed,
    skipped: sum.skipped + one.skipped,
  }),
  { passed: 0, failed: 0, skipped: 0 },
)
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
for (const failure of folders.flatMap(failuresOf)) console.log(`\nFailed: ${failure}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed > 0 ? 1 : Math.max(...exitCodes)

// Runs the contracts' tests: forge in this package's folder, one line per test, and reports/tests.json for the count of
// the whole repository. Also fails if Solidity is not formatted, forge's linter objects, a gas snapshot drifts, the
// bounded campaign made fewer invariant calls than promised.
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { contractsFolder, forge, WHOLE_BUILD } from './foundry.ts'

/** forge's `--json` result for one test. */
type TestResult = {
  readonly status: 'Success' | 'Failure' | 'Skipped'
  readonly reason: string | null
  readonly kind: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly counterexample: unknown
}
type Suites = Readonly<
  Record<string, { readonly test_results: Readonly<Record<string, TestResult>> }>
>

/** One line of the report. */
type Outcome = { readonly name: string; readonly isPassed: boolean; readonly note: string }

const isLong = process.env['TALLYSTICK_LONG'] === '1' || process.env['FOUNDRY_PROFILE'] === 'long'

/** Calls that the random walk promises in total: the README's figures. */
const INVARIANT_CALLS_MIN = isLong ? 100_000 : 20_000

const countCalls = (result: TestResult): number => result.kind['Invariant']?.['calls'] ?? 0

function describeNote(result: TestResult): string {
  if (result.status !== 'Success') {
    const example =
      result.counterexample === null ? '' : ` ${JSON.stringify(result.counterexample)}`
    return `${result.reason ?? result.status}${example}`
  }
  const [kind, figures] = Object.entries(result.kind)[0] ?? ['', {}]
  if (kind === 'Invariant') return `${figures['calls']} calls`
  if (kind === 'Fuzz') return `${figures['runs']} runs`
  return ''
}

function readOutcomes(suites: Suites): readonly Outcome[] {
  return Object.entries(suites).flatMap(([suite, { test_results: results }]) =>
    Object.entries(results).map(([name, result]) => ({
      name: `${suite.split(':')[1] ?? suite} ${name.split('(')[0] ?? name}`,
      isPassed: result.status === 'Success',
      note: describeNote(result),
    })),
  )
}

function runTests(): readonly Outcome[] {
  const profile = isLong ? 'long' : 'default'
  const run = forge(['test', '--json'], { ...WHOLE_BUILD, FOUNDRY_PROFILE: profile })
  const start = run.stdout.indexOf('{"')
  if (start < 0) {
    return [{ name: 'forge test', isPassed: false, note: `${run.stdout}${run.stderr}` }]
  }
  const suites = JSON.parse(run.stdout.slice(start)) as Suites
  const results = Object.values(suites).flatMap((suite) => Object.values(suite.test_results))
  const calls = results.reduce((sum, result) => sum + countCalls(result), 0)
  const files = globSync('test/**/*.t.sol', { cwd: contractsFolder })
  const missing = files.filter(
    (file) => !Object.keys(suites).some((suite) => suite.startsWith(file)),
  )
  return [
    ...readOutcomes(suites),
    { name: 'every test file ran', isPassed: missing.length === 0, note: missing.join(', ') },
    {
      name: `the random walk makes ${INVARIANT_CALLS_MIN} calls or more`,
      isPassed: calls >= INVARIANT_CALLS_MIN,
      note: `${calls} calls`,
    },
  ]
}

function runCheck(name: string, commandLine: readonly string[]): Outcome {
  const run = forge(commandLine, WHOLE_BUILD)
  return {
    name,
    isPassed: run.exitCode === 0,
    note: run.exitCode === 0 ? '' : `${run.stdout}${run.stderr}`,
  }
}

/**
 * The linter uses an existing build. Without one it would compile by itself, without code; a later build would take that
 * as up to date and forget the tests. So it runs only after a build that passed.
 */
function runBuildAndLint(): readonly Outcome[] {
  const name = 'the linter has no objection'
  const build = runCheck('everything compiles', ['build'])
  if (!build.isPassed) return [build, { name, isPassed: false, note: 'not run without a build' }]
  return [build, runCheck(name, ['lint', '--deny', 'warnings'])]
}

function main(): void {
  // A minute of pure computing: suites that run beside it and wait for real windows and processes come first.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const outcomes = [
    runCheck('Solidity is formatted', ['fmt', '--check']),
    ...runBuildAndLint(),
    ...runTests(),
    // not part of the run above: forge skips this check with --json
    runCheck('gas is what snapshots/ says', [
      'test',
      '--match-contract=GasTest',
      '--gas-snapshot-check=true',
    ]),
  ]
  for (const outcome of outcomes) {
    console.log(
      `${outcome.isPassed ? '✓' : '✗'} ${outcome.name}${outcome.note && ` (${outcome.note})`}`,
    )
  }
  const numFailedTests = outcomes.filter((outcome) => !outcome.isPassed).length
  const numPassedTests = outcomes.length - numFailedTests
  const folder = join(contractsFolder, 'reports')
  mkdirSync(folder, { recursive: true })
  const report = {
    numPassedTests,
    numFailedTests,
    numPendingTests: 0,
    success: numFailedTests === 0,
  }
  writeFileSync(join(folder, 'tests.json'), `${JSON.stringify(report)}\n`)
  console.log(`${numPassedTests} passed, ${numFailedTests} failed`)
  if (numFailedTests > 0) process.exitCode = 1
}

main()

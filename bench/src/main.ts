// `npm run bench`: measures every suite, or those after `--only`, prints the figures and keeps them in results/ and
// README.md. With `--like-testnet` it measures only that column of suites that were measured before. With `--check` nothing is kept: the figures are compared with the tracked ones, and a figure worse by more
// than a third fails.
import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { chooseBetter, compareFigures, describeChange, isFailure } from './compare-results.ts'
import { type Figure, rounded } from './figure.ts'
import { terminalTable } from './figure-table.ts'
import { keepResult, readResult, renewReadme } from './keep-results.ts'
import type { SuiteResult } from './suite-result.ts'
import { LIKE_TESTNET, SUITES } from './suites.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    check: { type: 'boolean', default: false },
    'like-testnet': { type: 'boolean', default: false },
  },
})
const names = values.only?.flatMap((text) => text.split(',')) ?? Object.keys(SUITES)

const today = (): string => new Date().toISOString().slice(0, 10)

const load = (): number => Number((loadavg()[0] ?? 0).toFixed(1))

async function run(suite: string): Promise<SuiteResult> {
  const measure = SUITES[suite]
  if (measure === undefined)
    throw new Error(`no suite ${suite}; there are ${Object.keys(SUITES).join(', ')}`)
  const before = load()
  const figures = await measure()
  return {
    suite,
    measuredOn: today(),
    machine: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.versions.node}`,
    loadAverage: { before, after: load() },
    figures: [...figures],
  }
}

/** A result with its figures on a network like testnet, where its suite has such. */
async function withLikeTestnet(result: SuiteResult): Promise<SuiteResult> {
  const measure = LIKE_TESTNET[result.suite]
  if (measure === undefined) return result
  const before = load()
  const measured = Object.entries(await measure())
  const likeTestnet = {
    measuredOn: today(),
    loadAverage: { before, after: load() },
    values: Object.fromEntries(measured.map(([name, value]) => [name, rounded(value)])),
  }
  return { ...result, likeTestnet }
}

/** What a suite's last run kept. */
function readKept(suite: string): SuiteResult {
  const result = readResult(suite)
  if (result === undefined) throw new Error(`${suite} was not measured yet`)
  return result
}

const print = (text: string): void => void process.stdout.write(`${text}\n`)

/**
 * How often a suite that seems worse is measured. On a machine with busy neighbours the same code reached 2.2 and 5.1
 * times one baseline within ten minutes, so only a figure that is worse each time is worse.
 */
const TRIES_MAX = 5

/** Measures a suite against its tracked figures, and again while some seem worse; each figure's best ratio counts. */
async function check(suite: string): Promise<boolean> {
  const tracked = readResult(suite)?.figures
  const first = await run(suite)
  print(`${terminalTable(first)}\n`)
  if (tracked === undefined) {
    print(`${suite} is not tracked yet\n`)
    return true
  }
  let figures: readonly Figure[] = first.figures
  for (let tries = 1; tries < TRIES_MAX; tries += 1) {
    if (!compareFigures(tracked, figures).some(isFailure)) break
    const next = await run(suite)
    print(`${terminalTable(next)}\n`)
    figures = chooseBetter(figures, next.figures)
  }
  const changes = compareFigures(tracked, figures)
  for (const change of changes) if (change.kind !== 'held') print(describeChange(change))
  return !changes.some(isFailure)
}

if (values.check) {
  const failed: string[] = []
  for (const name of names) if (!(await check(name))) failed.push(name)
  print(
    failed.length === 0
      ? 'no figure got worse by more than a third'
      : `worse: ${failed.join(', ')}`,
  )
  process.exitCode = failed.length === 0 ? 0 : 1
} else {
  const isColumn = values['like-testnet']
  for (const name of names.filter((suite) => !isColumn || suite in LIKE_TESTNET)) {
    const result = await withLikeTestnet(isColumn ? readKept(name) : await run(name))
    keepResult(result)
    print(`${terminalTable(result)}\n`)
  }
  renewReadme(Object.keys(SUITES))
}

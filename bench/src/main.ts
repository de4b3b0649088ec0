// `npm run bench`: measures every suite, or those after `--only`, prints the figures and keeps them in results/ and README.md.
import { availableParallelism, cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { terminalTable } from './figure-table.ts'
import { keepResult, renewReadme } from './keep-results.ts'
import type { SuiteResult } from './suite-result.ts'
import { SUITES } from './suites.ts'

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
const names = values.only?.flatMap((text) => text.split(',')) ?? Object.keys(SUITES)

const load = (): number => Number((loadavg()[0] ?? 0).toFixed(1))

async function run(suite: string): Promise<SuiteResult> {
  const measure = SUITES[suite]
  if (measure === undefined)
    throw new Error(`no suite ${suite}; there are ${Object.keys(SUITES).join(', ')}`)
  const before = load()
  const figures = await measure()
  return {
    suite,
    measuredOn: new Date().toISOString().slice(0, 10),
    machine: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.versions.node}`,
    loadAverage: { before, after: load() },
    figures: [...figures],
  }
}

for (const name of names) {
  const result = await run(name)
  keepResult(result)
  process.stdout.write(`${terminalTable(result)}\n\n`)
}
renewReadme(Object.keys(SUITES))

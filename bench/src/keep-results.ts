import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { markdownTable } from './figure-table.ts'
import { type SuiteResult, suiteResultSchema } from './suite-result.ts'

const BEGIN = '<!-- figures:begin -->'
const END = '<!-- figures:end -->'

const resultsFile = (suite: string): URL => new URL(`../results/${suite}.json`, import.meta.url)
const readme = new URL('../README.md', import.meta.url)

/** Writes a suite's figures over those of its last run. */
export function keepResult(result: SuiteResult): void {
  writeFileSync(resultsFile(result.suite), `${JSON.stringify(result, undefined, 2)}\n`)
}

/** A suite's tracked figures, or undefined if there are none. Throws if the file is not a result. */
export function readResult(suite: string): SuiteResult | undefined {
  const file = resultsFile(suite)
  if (!existsSync(file)) return undefined
  return suiteResultSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

/** Writes the README's tables from the kept results of these suites. Throws if the markers are gone. */
export function renewReadme(suites: readonly string[]): void {
  const results = suites.map(readResult).filter((result) => result !== undefined)
  const text = readFileSync(readme, 'utf8')
  const [before, rest] = text.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error('README.md has lost the markers of its tables')
  writeFileSync(readme, `${before}${BEGIN}\n\n${markdownTable(results)}\n\n${END}${after}`)
}

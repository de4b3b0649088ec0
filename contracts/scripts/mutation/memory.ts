// What is known of mutants from runs that were cut short or repeated: one line of JSON for each, in cache/mutation/. A
// kill is remembered while the test file that killed stays as it is, a survival while all tests do.
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { contractsFolder } from '../foundry.ts'
import type { Code } from './compiler.ts'
import { RUN_SETTINGS } from './workbench.ts'

/** Whether the tests told a mutant's code from the contract's, and which did: `file:Contract.test`, or a whole stage. */
export type Verdict =
  | { readonly status: 'killed'; readonly by: string }
  | { readonly status: 'timed out'; readonly by: string }
  | { readonly status: 'survived' }

const digestOf = (parts: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex').slice(0, 32)
}

/** Names a code: two mutants with the same are one. */
export const codeDigest = (codes: readonly Code[]): string =>
  digestOf(codes.map(({ creation }) => creation))

/** Names these files and their contents. */
function filesDigest(patterns: readonly string[]): string {
  const files = globSync([...patterns], { cwd: contractsFolder }).toSorted()
  const contents = files.map((file) => readFileSync(join(contractsFolder, file), 'utf8'))
  return digestOf([RUN_SETTINGS, ...files, ...contents])
}

/** What every test stands on: its base, the network, the interfaces and forge's settings. */
const SUPPORT = [
  'test/*.sol',
  'test/invariant/{AccessHandler,Model}.sol',
  'devnet/*.sol',
  'src/interfaces/*.sol',
  'foundry.toml',
]

const TESTS = 'test/**/*.t.sol'

/** Verdicts by digest of the code. `Memory.none` remembers nothing beyond the run. */
export class Memory {
  readonly #verdicts = new Map<string, Verdict>()
  readonly #file: string | undefined
  /** Digests of the tests that a verdict rests on, by their pattern: as they are now, whatever is edited meanwhile. */
  readonly #digests = new Map(
    [TESTS, ...globSync(TESTS, { cwd: contractsFolder })].map((pattern) => [
      pattern,
      filesDigest([...SUPPORT, pattern]),
    ]),
  )

  private constructor(file: string | undefined) {
    this.#file = file
    if (file === undefined || !existsSync(file)) return
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      const [code, tests, verdict] = JSON.parse(line) as [string, string, Verdict]
      if (tests === this.#testsOf(verdict)) this.#verdicts.set(code, verdict)
    }
  }

  static none(): Memory {
    return new Memory(undefined)
  }

  static kept(): Memory {
    const file = join(contractsFolder, 'cache/mutation/verdicts.jsonl')
    mkdirSync(dirname(file), { recursive: true })
    return new Memory(file)
  }

  get(code: string): Verdict | undefined {
    return this.#verdicts.get(code)
  }

  set(code: string, verdict: Verdict): void {
    this.#verdicts.set(code, verdict)
    if (this.#file === undefined) return
    appendFileSync(this.#file, `${JSON.stringify([code, this.#testsOf(verdict), verdict])}\n`)
  }

  #testsOf(verdict: Verdict): string {
    const pattern = verdict.status === 'killed' ? (verdict.by.split(':')[0] ?? TESTS) : TESTS
    return this.#digests.get(pattern) ?? ''
  }
}

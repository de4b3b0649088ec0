// What earlier runs learned about mutants: one line of JSON each, in cache/mutation/. A kill is remembered while the
// killing test file is unchanged, a survival while all tests are.
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { contractsFolder } from '../foundry.ts'
import type { Code, Program } from './compiler.ts'
import { RUN_SETTINGS } from './workbench.ts'

/** Whether the tests told a mutant's code from the contract's, and which test did: `file:Contract.test`, or a whole pass. */
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

/** What every test depends on: its base, the network, the interfaces and forge's settings. */
const SUPPORT = [
  'test/*.sol',
  'test/invariant/{AccessHandler,Ghosts,Model}.sol',
  'test/model/NaiveBooks.sol',
  'devnet/*.sol',
  'src/interfaces/*.sol',
  'foundry.toml',
]

const TESTS = 'test/**/*.t.sol'

/** A file of JSON lines; without a name it keeps nothing. */
class Lines<Line> {
  readonly #file: string | undefined

  constructor(name: string | undefined) {
    this.#file = name === undefined ? undefined : join(contractsFolder, 'cache/mutation', name)
  }

  read(): readonly Line[] {
    if (this.#file === undefined || !existsSync(this.#file)) return []
    const lines = readFileSync(this.#file, 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line) as Line)
  }

  append(line: Line): void {
    if (this.#file === undefined) return
    mkdirSync(dirname(this.#file), { recursive: true })
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

/** Names a program: its sources and settings. */
export const programDigest = (program: Program): string => digestOf([JSON.stringify(program)])

/** Verdicts by code digest, and code digests by program digest. */
export class Memory {
  readonly #verdicts = new Map<string, Verdict>()
  /** null for what does not compile */
  readonly #codes = new Map<string, string | null>()
  readonly #verdictLines: Lines<readonly [code: string, tests: string, verdict: Verdict]>
  readonly #codeLines: Lines<readonly [program: string, code: string | null]>
  /** Digests of the tests behind a verdict, by pattern, taken now so that later edits do not matter. */
  readonly #digests = new Map(
    [TESTS, ...globSync(TESTS, { cwd: contractsFolder })].map((pattern) => [
      pattern,
      filesDigest([...SUPPORT, pattern]),
    ]),
  )

  /** @param isKept whether it outlasts the run */
  constructor(isKept: boolean) {
    this.#verdictLines = new Lines(isKept ? 'verdicts.jsonl' : undefined)
    this.#codeLines = new Lines(isKept ? 'codes.jsonl' : undefined)
    for (const [code, tests, verdict] of this.#verdictLines.read()) {
      if (tests === this.#testsOf(verdict)) this.#verdicts.set(code, verdict)
    }
    for (const [program, code] of this.#codeLines.read()) this.#codes.set(program, code)
  }

  verdictOf(code: string): Verdict | undefined {
    return this.#verdicts.get(code)
  }

  keepVerdict(code: string, verdict: Verdict): void {
    this.#verdicts.set(code, verdict)
    this.#verdictLines.append([code, this.#testsOf(verdict), verdict])
  }

  /** Digest of a program's code; null if it does not compile, undefined if unknown. */
  codeOf(program: string): string | null | undefined {
    return this.#codes.get(program)
  }

  keepCode(program: string, code: string | null): void {
    this.#codes.set(program, code)
    this.#codeLines.append([program, code])
  }

  #testsOf(verdict: Verdict): string {
    const pattern = verdict.status === 'killed' ? (verdict.by.split(':')[0] ?? TESTS) : TESTS
    return this.#digests.get(pattern) ?? ''
  }
}

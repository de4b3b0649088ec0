// A built copy of the package in the system's temporary folder, in which one mutant after another replaces the contract's
// artifact. Nothing is compiled there: forge finds all sources already built, and its `solc` refuses.
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { contractsFolder, forge, forgeBinary, WHOLE_BUILD } from '../foundry.ts'
import { type Code, solcVersion, TARGETS } from './compiler.ts'

/** The outcome of a test run. `by` names the first failure: `file:Contract.test`. */
type TestRun =
  | { readonly status: 'passed' }
  | { readonly status: 'failed'; readonly by: string }
  | { readonly status: 'timed out' }

/** A group of tests that run together. */
export type TestPass = {
  readonly name: string
  readonly filter: readonly string[]
  readonly timeoutMs: number
}

/** The excluded tests never deploy the contract. */
const UNIT_TESTS = [
  '--match-path=test/unit/*',
  '--no-match-path=test/unit/{ExchangeRate,ScheduleService,Stablecoin}.t.sol',
]

/** 1 s on an idle core: a mutant that takes 60 times as long never ends. */
const UNIT_TIMEOUT_MS = 60_000

/** For unoptimized code: all tests that do not measure gas, first those that take no time and kill nearly every mutant. */
export const DRAFT_PASSES: readonly TestPass[] = [
  {
    name: 'unit, without the optimizer',
    filter: [
      ...UNIT_TESTS,
      '--no-match-contract=GasTest',
      '--no-match-test=^testFuzz|1000Periods$',
    ],
    timeoutMs: UNIT_TIMEOUT_MS,
  },
  {
    name: 'unit and fuzz, without the optimizer',
    filter: [...UNIT_TESTS, '--no-match-contract=GasTest'],
    timeoutMs: UNIT_TIMEOUT_MS,
  },
]

/** Fast tests first. */
export const PASSES: readonly TestPass[] = [
  { name: 'unit and fuzz', filter: UNIT_TESTS, timeoutMs: UNIT_TIMEOUT_MS },
  {
    name: 'invariants and the second model',
    filter: ['--match-path=test/{invariant,model}/*'],
    timeoutMs: 200_000, // 3 s on an idle core
  },
]

/** A fixed seed: a mutant lives or dies the same way each time. */
const FUZZ_SEED = '0x7a11'

const ENVIRONMENT = {
  ...WHOLE_BUILD,
  FOUNDRY_PROFILE: 'default',
  // a quarter of `npm test`: a survivor here may still be killed there
  FOUNDRY_FUZZ_RUNS: '64',
  FOUNDRY_INVARIANT_RUNS: '5',
  FOUNDRY_INVARIANT_CHECK_INTERVAL: '1', // as the long runs do
  FOUNDRY_DISABLE_NIGHTLY_WARNING: '1',
  FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT: '0', // a failing walk is enough, however long it is
}

/** Everything that decides how tests run. */
export const RUN_SETTINGS = JSON.stringify([DRAFT_PASSES, PASSES, FUZZ_SEED, ENVIRONMENT])

const COPIED = ['src', 'test', 'devnet', 'tools', 'foundry.toml', 'snapshots', 'cache/whole']

type Suites = Readonly<
  Record<string, { readonly test_results: Readonly<Record<string, { readonly status: string }>> }>
>

function failedTest(stdout: string): string | undefined {
  const start = stdout.indexOf('{"')
  if (start < 0) return undefined
  const suites = JSON.parse(stdout.slice(start)) as Suites
  for (const [suite, { test_results: results }] of Object.entries(suites)) {
    const failed = Object.entries(results).find(([, { status }]) => status === 'Failure')
    if (failed) return `${suite}.${failed[0].split('(')[0] ?? failed[0]}`
  }
  return undefined
}

/** The fields of forge's artifact that a mutant replaces. */
type Artifact = { bytecode: { object: string }; deployedBytecode: { object: string } }

/** The fields of forge's build info that matter here. */
type BuildCache = {
  readonly profiles: { readonly default: { readonly solc: { readonly outputSelection: unknown } } }
  readonly paths: { libraries: readonly string[] }
}

type ForgeEnd = {
  readonly exitCode: number | null
  readonly isTimedOut: boolean
  readonly stdout: string
  readonly stderr: string
}

/** See the top of this file. Always close it: it holds a folder. */
export class Workbench {
  readonly #folder: string
  readonly #running = new Set<ChildProcess>()

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Builds the package where scripts/test.ts builds it. @throws Error if it does not compile. */
  static build(): void {
    const build = forge(['build'], WHOLE_BUILD)
    if (build.exitCode !== 0) throw new Error(`forge build failed:\n${build.stdout}${build.stderr}`)
  }

  /** Copies the built package. The bench joins `opened` before anything can fail, so that it is always closed. */
  static open(opened: Workbench[]): Workbench {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-mutation-'))
    const bench = new Workbench(folder)
    opened.push(bench)
    for (const path of COPIED) {
      cpSync(join(contractsFolder, path), join(folder, path), { recursive: true })
    }
    symlinkSync(join(contractsFolder, 'node_modules'), join(folder, 'node_modules'))
    bench.#adoptBuild()
    bench.#refuseToCompile()
    return bench
  }

  /** The solc settings that forge built with. */
  settings(): object {
    const { outputSelection: _, ...settings } = this.#buildCache().profiles.default.solc
    return settings
  }

  /** Each target's code in its artifact. */
  codes(): readonly Code[] {
    return TARGETS.map((_, index) => {
      const { bytecode, deployedBytecode } = this.#artifact(index)
      return { creation: bytecode.object, runtime: deployedBytecode.object }
    })
  }

  /** Replaces the contract's code with a mutant's. */
  place(codes: readonly Code[]): void {
    for (const [index, { creation, runtime }] of codes.entries()) {
      const artifact = this.#artifact(index)
      artifact.bytecode.object = creation
      artifact.deployedBytecode.object = runtime
      writeFileSync(this.#artifactFile(index), JSON.stringify(artifact))
    }
  }

  /** Runs a pass against the placed code, up to the first failing test. */
  async run(pass: TestPass): Promise<TestRun> {
    for (const kept of ['fuzz', 'invariant']) {
      // otherwise forge first retries what failed for another mutant
      rmSync(join(this.#folder, WHOLE_BUILD['FOUNDRY_CACHE_PATH'] ?? '', kept), {
        recursive: true,
        force: true,
      })
    }
    const commandLine = [
      'test',
      '--json',
      '--fail-fast',
      `--fuzz-seed=${FUZZ_SEED}`,
      ...pass.filter,
    ]
    const { exitCode, isTimedOut, stdout, stderr } = await this.#forge(commandLine, pass.timeoutMs)
    if (exitCode === 0) return { status: 'passed' }
    if (isTimedOut) return { status: 'timed out' }
    const by = failedTest(stdout)
    if (by === undefined)
      throw new Error(`forge test failed without a failed test:\n${stdout}${stderr}`)
    return { status: 'failed', by }
  }

  /** Ends anything still running and removes the copy. */
  close(): void {
    for (const child of this.#running) child.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #buildCacheFile(): string {
    return join(this.#folder, WHOLE_BUILD['FOUNDRY_CACHE_PATH'] ?? '', 'solidity-files-cache.json')
  }

  #buildCache(): BuildCache {
    return JSON.parse(readFileSync(this.#buildCacheFile(), 'utf8')) as BuildCache
  }

  /** forge resolves the link to node_modules, and rebuilds everything if its libraries have moved. */
  #adoptBuild(): void {
    const cache = this.#buildCache()
    cache.paths.libraries = [realpathSync(join(this.#folder, 'node_modules'))]
    writeFileSync(this.#buildCacheFile(), JSON.stringify(cache))
  }

  #artifactFile(index: number): string {
    const target = TARGETS[index]
    if (!target) throw new Error(`no target ${index}`)
    const { source, contract } = target
    return join(
      this.#folder,
      WHOLE_BUILD['FOUNDRY_OUT'] ?? '',
      basename(source),
      `${contract}.json`,
    )
  }

  #artifact(index: number): Artifact {
    return JSON.parse(readFileSync(this.#artifactFile(index), 'utf8')) as Artifact
  }

  #refuseToCompile(): void {
    const shim = join(this.#folder, 'tools/solc.mjs')
    const lines = [
      '#!/bin/sh',
      `if [ "$1" = --version ]; then printf 'solc\\nVersion: ${solcVersion()}\\n'; exit 0; fi`,
      'echo "nothing is compiled here" >&2',
      'exit 1',
    ]
    writeFileSync(shim, `${lines.join('\n')}\n`)
    chmodSync(shim, 0o755)
  }

  async #forge(commandLine: readonly string[], timeoutMs: number): Promise<ForgeEnd> {
    const child = spawn(forgeBinary(), commandLine, {
      cwd: this.#folder,
      env: { ...process.env, ...ENVIRONMENT },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#running.add(child)
    let isTimedOut = false
    const timer = setTimeout(() => {
      isTimedOut = true
      child.kill('SIGKILL')
    }, timeoutMs)
    try {
      const ended = Promise.withResolvers<number | null>()
      child.once('error', ended.reject).once('close', ended.resolve)
      const [stdout, stderr, exitCode] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        ended.promise,
      ])
      return { exitCode, isTimedOut, stdout, stderr }
    } finally {
      clearTimeout(timer)
      this.#running.delete(child)
    }
  }
}

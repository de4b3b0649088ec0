// A built copy of the package, in which one mutant after another replaces the contract's artifact. Nothing is compiled
// there: forge finds all sources already built, and its `solc` refuses. One run at a time: the copy has a fixed place.
import {
  chmodSync,
  cpSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { contractsFolder, type ForgeRun, forge, WHOLE_BUILD } from '../foundry.ts'
import { type Code, type Settings, solcVersion, TARGET } from './compiler.ts'

/** Whether the tests told a mutant's code from the contract's; `by` names the test: `file:Contract.test`, or those that did not end. */
export type Verdict =
  | { readonly status: 'killed' | 'timed out'; readonly by: string }
  | { readonly status: 'survived' }

/** Tests that run together, in turn; the fast ones, which kill nearly every mutant, first. */
const PASSES = [
  {
    name: 'unit and fuzz',
    // the excluded tests never deploy the contract
    filter: [
      '--match-path=test/unit/*',
      '--no-match-path=test/unit/{ExchangeRate,ScheduleService,Stablecoin}.t.sol',
      '--no-match-test=PaysForBookingIt', // a figure of optimized code
    ],
    timeoutMs: 60_000, // 1 s on an idle core: a mutant that takes 60 times as long never ends
  },
  {
    name: 'invariants and the second model',
    filter: ['--match-path=test/{invariant,model}/*'],
    timeoutMs: 200_000, // 3 s on an idle core
  },
] as const

const ENVIRONMENT = {
  ...WHOLE_BUILD,
  FOUNDRY_PROFILE: 'default',
  // a quarter of `npm test`: a survivor here may still be killed there
  FOUNDRY_FUZZ_RUNS: '64',
  FOUNDRY_INVARIANT_RUNS: '5',
  FOUNDRY_INVARIANT_CHECK_INTERVAL: '1', // as the long runs do
  FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT: '0', // a failing walk is enough, however long it is
}

/** A fixed seed: a mutant lives or dies the same way each time. */
const COMMAND = ['test', '--json', '--fail-fast', '--fuzz-seed=0x7a11']

const BENCH = join(contractsFolder, 'cache/mutation/bench')
const BUILD = join(BENCH, WHOLE_BUILD.FOUNDRY_CACHE_PATH)
const ARTIFACT = join(
  BENCH,
  WHOLE_BUILD.FOUNDRY_OUT,
  basename(TARGET.file),
  `${TARGET.contract}.json`,
)

const COPIED = ['src', 'test', 'devnet', 'tools', 'foundry.toml', 'snapshots', 'cache/whole']

type Suites = Readonly<
  Record<string, { readonly test_results: Readonly<Record<string, { readonly status: string }>> }>
>

/** The fields of forge's build info that matter here. */
type BuildCache = {
  readonly profiles: {
    readonly default: { readonly solc: Settings & { readonly outputSelection: unknown } }
  }
  readonly paths: { libraries: readonly string[] }
}

/** Builds the package where scripts/test.ts builds it, and copies it. @throws Error if it does not compile. */
export function openWorkbench(): Settings {
  const build = forge(['build'], WHOLE_BUILD)
  if (build.exitCode !== 0) throw new Error(`forge build failed:\n${build.stdout}${build.stderr}`)
  rmSync(BENCH, { recursive: true, force: true })
  for (const path of COPIED) {
    cpSync(join(contractsFolder, path), join(BENCH, path), { recursive: true })
  }
  symlinkSync(join(contractsFolder, 'node_modules'), join(BENCH, 'node_modules'))
  refuseToCompile()
  return adoptBuild()
}

function refuseToCompile(): void {
  const shim = join(BENCH, 'tools/solc.mjs')
  const lines = [
    '#!/bin/sh',
    `if [ "$1" = --version ]; then printf 'solc\\nVersion: ${solcVersion()}\\n'; exit 0; fi`,
    'echo "nothing is compiled here" >&2',
    'exit 1',
  ]
  writeFileSync(shim, `${lines.join('\n')}\n`)
  chmodSync(shim, 0o755)
}

/** forge resolves the link to node_modules, and rebuilds everything if its libraries have moved. */
function adoptBuild(): Settings {
  const file = join(BUILD, 'solidity-files-cache.json')
  const cache = JSON.parse(readFileSync(file, 'utf8')) as BuildCache
  cache.paths.libraries = [realpathSync(join(BENCH, 'node_modules'))]
  writeFileSync(file, JSON.stringify(cache))
  const { outputSelection: _, ...settings } = cache.profiles.default.solc
  return settings
}

/** The target's code in its artifact: forge's own until `judge` replaces it. */
export const artifactCode = (): Code => JSON.parse(readFileSync(ARTIFACT, 'utf8')) as Code

/** Replaces the contract's code and runs the tests up to the first that fails. */
export function judge(code: Code): Verdict {
  const artifact = artifactCode()
  artifact.bytecode.object = code.bytecode.object
  artifact.deployedBytecode.object = code.deployedBytecode.object
  writeFileSync(ARTIFACT, JSON.stringify(artifact))
  for (const { name, filter, timeoutMs } of PASSES) {
    for (const folder of ['fuzz', 'invariant']) {
      // otherwise forge first retries what failed for another mutant
      rmSync(join(BUILD, folder), { recursive: true, force: true })
    }
    const run = forge([...COMMAND, ...filter], ENVIRONMENT, { cwd: BENCH, timeout: timeoutMs })
    if (run.isTimedOut) return { status: 'timed out', by: name }
    if (run.exitCode !== 0) return { status: 'killed', by: failedTest(run) }
  }
  return { status: 'survived' }
}

function failedTest({ stdout, stderr }: ForgeRun): string {
  const start = stdout.indexOf('{"')
  const suites = start < 0 ? {} : (JSON.parse(stdout.slice(start)) as Suites)
  for (const [suite, { test_results: results }] of Object.entries(suites)) {
    const failed = Object.entries(results).find(([, { status }]) => status === 'Failure')
    if (failed) return `${suite}.${failed[0].split('(')[0] ?? failed[0]}`
  }
  throw new Error(`forge test failed without a failed test:\n${stdout}${stderr}`)
}

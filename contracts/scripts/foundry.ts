// Runs forge from this package's folder. It starts the platform package's real binary, not npm's wrapper, which leaves
// its child behind when killed and exits 0 whatever forge reports. If npm has no binary for this platform, it uses
// `forge` on PATH.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of this package: forge resolves `./tools/solc.mjs` against the working directory. */
export const contractsFolder = dirname(dirname(fileURLToPath(import.meta.url)))

const buildIn = (folder: string) => ({
  FOUNDRY_OUT: `${folder}/out`,
  FOUNDRY_CACHE_PATH: folder,
})

/** Build folder for full builds, tests included. */
export const WHOLE_BUILD = buildIn('cache/whole')

/** Folder for a build without the tests, for the artifacts. */
export const ARTIFACTS_FOLDER = 'cache/artifacts'

/** Build folder for the artifacts: a build of some folders makes forge forget the others. */
export const ARTIFACTS_BUILD = buildIn(ARTIFACTS_FOLDER)

/** One call's output can be long: the JSON of a whole test run with its traces, bytes. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** The platform package's binary, or `forge` on PATH. */
function forgeBinary(): string {
  const platform = `${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`
  const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/forge/package.json')
  try {
    return createRequire(wrapper).resolve(`@foundry-rs/forge-${platform}/bin/forge`)
  } catch {
    return 'forge'
  }
}

type ForgeRun = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }

/** Runs forge to its end and returns the result, whatever the exit code. Throws if forge cannot be started. */
export function forge(
  commandLine: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ForgeRun {
  const run = spawnSync(forgeBinary(), [...commandLine], {
    cwd: contractsFolder,
    env: { ...process.env, ...environment, FOUNDRY_DISABLE_NIGHTLY_WARNING: '1' },
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
  })
  if (run.error) throw new Error('forge could not be started', { cause: run.error })
  return { exitCode: run.status ?? 1, stdout: run.stdout, stderr: run.stderr }
}

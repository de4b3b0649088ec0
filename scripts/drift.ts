// Checks that the generated files match their sources; `--write` rewrites them. Part of `npm run check`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isCurrent, writeGenerated } from './drift/generated-file.ts'
import { generatedFiles } from './drift/generated-files.ts'

const isWriting = process.argv.includes('--write')

/** The contracts' artifacts come from the Solidity compiler and have their own script. */
async function areArtifactsCurrent(): Promise<boolean> {
  const script = spawn(
    process.execPath,
    ['scripts/artifacts.ts', ...(isWriting ? [] : ['--check'])],
    { cwd: fileURLToPath(new URL('../contracts', import.meta.url)), stdio: 'inherit' },
  )
  const [status] = await once(script, 'close')
  return status === 0
}

const artifacts = areArtifactsCurrent()
// The services import the artifacts, so the artifacts are written before the services run.
if (isWriting) await artifacts
const stale = (await generatedFiles()).filter((file) => !isCurrent(file))
for (const file of stale) {
  if (isWriting) writeGenerated(file)
  console.log(`${file.path} ${isWriting ? 'written' : 'is out of date; run: npm run generate'}`)
}
const isCurrentAll = (await artifacts) && (isWriting || stale.length === 0)
process.exitCode = isCurrentAll ? 0 : 1

// Checks that the generated files match their sources; `--write` rewrites them. Part of `npm run check`.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isCurrent, writeGenerated } from './drift/generated-file.ts'
import { generatedFiles } from './drift/generated-files.ts'

const isWriting = process.argv.includes('--write')

/** The contracts' artifacts come from the Solidity compiler and have a script of their own. */
function areArtifactsCurrent(): boolean {
  const { status } = spawnSync(
    process.execPath,
    ['scripts/artifacts.ts', ...(isWriting ? [] : ['--check'])],
    { cwd: fileURLToPath(new URL('../contracts', import.meta.url)), stdio: 'inherit' },
  )
  return status === 0
}

const stale = (await generatedFiles()).filter((file) => !isCurrent(file))
for (const file of stale) {
  if (isWriting) writeGenerated(file)
  console.log(`${file.path} ${isWriting ? 'written' : 'is out of date; run: npm run generate'}`)
}
const isCurrentAll = areArtifactsCurrent() && (isWriting || stale.length === 0)
process.exitCode = isCurrentAll ? 0 : 1

// `npm run files-run`: starts a local stack, measures how many files one request runs in each service and names them.
// `-- --write` saves lower counts in scripts/files-run.json, which `npm run check:debt` prints.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, spawnStack } from '../spawned-stack.ts'
import { measureRequests } from './measure-requests.ts'

const file = join(root, 'scripts/files-run.json')
const stack = await spawnStack()
try {
  const found = await measureRequests(stack)
  const counts: Record<string, number> = JSON.parse(readFileSync(file, 'utf8'))
  for (const [request, files] of Object.entries(found)) {
    console.log(`${request}: ${files.length} files\n  ${files.join('\n  ')}`)
    counts[request] = Math.min(counts[request] ?? Number.POSITIVE_INFINITY, files.length)
  }
  if (process.argv.includes('--write')) writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`)
} finally {
  await stack.interrupt()
}

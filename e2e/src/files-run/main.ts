// `npm run files-run`: starts a local stack, measures how many files one request runs in each service and names them.
// `-- --write` saves lower counts in scripts/files-run.json, which `npm run check:debt` prints: the most of several rounds, since
// a lucky one would be a count that the test cannot keep.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, spawnStack } from '../spawned-stack.ts'
import { measureRequests } from './measure-requests.ts'

const file = join(root, 'scripts/files-run.json')
const ROUNDS = 4
const isWriting = process.argv.includes('--write')
const stack = await spawnStack()
try {
  const found = await measureRequests(stack, isWriting ? ROUNDS : 1)
  const counts: Record<string, number> = JSON.parse(readFileSync(file, 'utf8'))
  for (const [request, files] of Object.entries(found)) {
    console.log(`${request}: ${files.length} files\n  ${files.join('\n  ')}`)
    counts[request] = Math.min(counts[request] ?? Number.POSITIVE_INFINITY, files.length)
  }
  if (isWriting) writeFileSync(file, `${JSON.stringify(counts, null, 2)}\n`)
} finally {
  await stack.interrupt()
}

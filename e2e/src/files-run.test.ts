// How many files a reader meets behind one request, measured, not listed by hand: scripts/files-run.json may only fall.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { measureRequests } from './files-run/measure-requests.ts'
import { root, type SpawnedStack, spawnStack } from './spawned-stack.ts'

const filesMax: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(join(root, 'scripts/files-run.json'), 'utf8'),
)

let stack: SpawnedStack
beforeAll(async () => {
  stack = await spawnStack()
})
afterAll(async () => {
  await stack.interrupt()
})

test('one warm request runs no more files than scripts/files-run.json says', async () => {
  const found = await measureRequests(stack)
  expect(Object.keys(found)).toEqual(Object.keys(filesMax))
  for (const [request, files] of Object.entries(found))
    expect(files.length, `${request}:\n${files.join('\n')}`).toBeLessThanOrEqual(
      filesMax[request] ?? 0,
    )
})

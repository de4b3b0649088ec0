import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NODE_ENVIRONMENT } from '@tallystick/service-kit/service-process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeStoreFolder, type StoreFolder } from '../adapters/records/sqlite-store.fixture.ts'
import { storeRecord, TEST_SEED } from '../adapters/records/sqlite-store-samples.fixture.ts'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

let folder: StoreFolder
let file: string
beforeEach(async () => {
  folder = makeStoreFolder()
  file = `${folder.databasePath}.out`
  const store = await folder.open()
  for (let count = 0; count < 20; count += 1)
    await store.append(storeRecord({ value: 'x'.repeat(50_000) }))
  await store.close()
})
afterEach(() => folder.remove())

/** Runs the command under a file size limit of 400 blocks of 512 bytes, which its output exceeds. */
const runShortOfSpace = (...words: readonly string[]) =>
  spawnSync('sh', ['-c', 'ulimit -f 400; exec "$0" "$@"', process.execPath, main, ...words], {
    encoding: 'utf8',
    env: {
      ...NODE_ENVIRONMENT,
      DATABASE_PATH: folder.databasePath,
      CHECKPOINT_KEY: Buffer.from(TEST_SEED).toString('base64'),
    },
  })

describe('a full disk is reported as such, and half a file is not left behind', () => {
  it.each([['export', '--output'], ['backup']])('%s', (...words) => {
    const { status, stderr } = runShortOfSpace(...words, file)
    expect(stderr).toContain(`${file} could not be written`)
    expect([status, stderr.split('\n').length]).toEqual([1, 2])
    expect(readdirSync(dirname(file)).filter((name) => name.includes('.out'))).toEqual([])
  })
})

// Where the records are if nobody says where: beside the code, never among it.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DEFAULT_DATABASE_PATH } from '../config.ts'
import { openStores } from './open-stores.ts'

const started = process.cwd()
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'care-place-'))
  process.chdir(folder)
})
afterEach(() => {
  process.chdir(started)
  rmSync(folder, { recursive: true, force: true })
})

const open = (databasePath: string) =>
  openStores(
    { DATABASE_PATH: databasePath, BASE_URL: 'https://care.test', SERVICE_NAME: 'care' },
    { clock: manualClock(0), onProblem: () => undefined },
  )

it('without DATABASE_PATH data lies under .local, for its owner alone, and nothing in the checkout’s root', async () => {
  await (await open(DEFAULT_DATABASE_PATH)).close()
  expect(readdirSync(folder)).toEqual(['.local'])
  expect(statSync('.local').mode & 0o777).toBe(0o700)
  expect(existsSync(DEFAULT_DATABASE_PATH)).toBe(true)
})

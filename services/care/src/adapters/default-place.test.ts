// Where the records are if nobody says where: beside the code, never among it.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DEFAULT_DATABASE_PATH } from '../config.ts'
import { TEA } from '../domain/record-store.fixture.ts'
import { openStores } from './open-stores.ts'
import { writeValues } from './sqlite-store-hooks.fixture.ts'

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

it('records in ./care.db, the default of an earlier release, are not passed over: it refuses, says what to do, and makes nothing', async () => {
  const former = await open('care.db')
  await writeValues(former.records, 'Take ten drops.')
  await former.close()
  const before = readdirSync(folder)
  await expect(open(DEFAULT_DATABASE_PATH)).rejects.toThrow(
    'there are records in ./care.db, the default of an earlier release: move care.db* to .local/, or set DATABASE_PATH=care.db',
  )
  expect(readdirSync(folder)).toEqual(before)
  // Either way that it names finds them again.
  const named = await open('care.db')
  expect(await named.records.latest(TEA)).toMatchObject({ kind: 'found' })
  await named.close()
  const moved = readdirSync(folder).filter((name) => name.startsWith('care.db'))
  mkdirSync('.local')
  for (const name of moved) renameSync(name, join('.local', name))
  const found = await open(DEFAULT_DATABASE_PATH)
  expect(await found.records.latest(TEA)).toMatchObject({ kind: 'found' })
  await found.close()
})

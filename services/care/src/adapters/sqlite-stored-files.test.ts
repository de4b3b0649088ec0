// Files that an earlier version wrote (stored/, before the journal store was a package of its own): they open unchanged, and
// every text that leaves the store is the same, byte for byte.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { collect, TEA } from '../domain/record-store.fixture.ts'
import { AUDIENCES } from '../wire/records.ts'
import { openSqliteRecordReader } from './sqlite-record-store.ts'
import { testKeyRing } from './sqlite-store.fixture.ts'
import { isIntact, useStoreFolder } from './sqlite-store-hooks.fixture.ts'
import { storeRecord, TEST_ORIGIN, TEST_SEED } from './sqlite-store-samples.fixture.ts'

const suite = useStoreFolder()
const keyRing = testKeyRing('key-1')

const stored = (name: string): Buffer =>
  readFileSync(fileURLToPath(new URL(`./stored/${name}`, import.meta.url)))
const exported = stored('care-export.ndjson').toString().trimEnd().split('\n')
const checkpointOf = (audience: string): string =>
  readFileSync(`${suite.folder.databasePath}.${audience}-checkpoint`, 'utf8')

function putStoredFiles(): void {
  const { databasePath } = suite.folder
  writeFileSync(databasePath, gunzipSync(stored('care.db.gz')))
  for (const audience of AUDIENCES)
    writeFileSync(
      `${databasePath}.${audience}-checkpoint`,
      stored(`care.db.${audience}-checkpoint`),
    )
}

it('records of an earlier version open, hold, are exported and signed as they were, and grow', async () => {
  putStoredFiles()
  const store = suite.folder.open({ keyRing })
  expect(await collect(store.exportLines({ audiences: AUDIENCES }))).toEqual(exported)
  expect(await isIntact(store)).toBe(true)
  for (const audience of AUDIENCES)
    expect(checkpointOf(audience)).toBe(stored(`care.db.${audience}-checkpoint`).toString())
  const request = { mac: 'cd'.repeat(32), expiresAtMs: 9e15 }
  expect(await store.append(storeRecord(), request)).toMatchObject({
    kind: 'repeated',
    subscribers: 5,
    record: { version: 2, value: 'two, by request' },
  })
  expect(await store.append(storeRecord({ value: 'four' }))).toMatchObject({
    kind: 'appended',
    record: { version: 4 },
  })
  await store.close()
  expect(checkpointOf('user').split('\n')[1]).toBe('5')
})

it('a command reads them beside the service, without its lock', async () => {
  putStoredFiles()
  const { databasePath } = suite.folder
  const service = suite.folder.open({ keyRing })
  const owner = { databasePath, checkpointSeed: TEST_SEED, origin: TEST_ORIGIN }
  const reader = openSqliteRecordReader({ ...owner, keyRing })
  await service.append(storeRecord({ value: 'not seen' }))
  expect(await collect(reader.exportLines({ audiences: AUDIENCES }))).toEqual(exported)
  await reader.close()
  expect(await service.latest(TEA)).toMatchObject({ latestVersion: 4 })
  await service.close()
})

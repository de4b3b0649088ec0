import { afterAll, beforeAll, expect, test } from 'vitest'
import { WRITE_SECRET } from '../testing/care.fixture.ts'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { sampleRecords, seedRecords } from './seed-records.ts'

let care: RunningCare
beforeAll(async () => {
  care = await startRunningCare()
})
afterAll(() => care.remove())

test('a fresh store gets every sample version; a second run writes nothing', async () => {
  const options = { baseUrl: care.url, writeSecret: WRITE_SECRET }
  const outcome = await seedRecords(options)
  const verdict = async () =>
    (await (await fetch(`${care.url}/verify`)).json()) as { versions: number }
  const open = sampleRecords.filter(({ audience }) => audience === undefined)
  expect(outcome).toMatchObject({ kind: 'seeded' })
  expect(await verdict()).toMatchObject({ versions: open.length, intact: true })
  expect(await seedRecords(options)).toEqual({ kind: 'already-there' })
  expect((await verdict()).versions).toBe(open.length)
})

test('one is stale at once, one was corrected, some are internal', async () => {
  const host = await openHost(care, 'care.read.user care.read.assistant')
  const read = async (uri: string) => JSON.stringify(await host.request('resources/read', { uri }))
  expect(await read('care://wren/exercise')).toContain('[STALE')
  expect(await read('care://heron/medication')).toContain('care/retraction')
  expect(await read('care-internal://fox/risk')).toContain('Fell twice')
  await host.close()
})

test('a wrong secret is an error that names the status', async () => {
  const fresh = await startRunningCare()
  const writeSecret = 'another-secret-0123456789-0123456789'
  await expect(seedRecords({ baseUrl: fresh.url, writeSecret })).rejects.toThrow('401')
  await fresh.remove()
})

// C25: any process serves any session and any stream, over one PostgreSQL, in processes as an operator starts them.
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  openClient,
  type RunningProcess,
  startCares,
  writeAt,
} from '../testing/several-cares.fixture.ts'

const TEA = 'care://ann/tea'
const POLL = { timeout: 10_000, interval: 10 }
const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')

describe.skipIf(reason !== undefined)(
  `C25: two processes${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let cares: Awaited<ReturnType<typeof startCares>>
    let first: RunningProcess
    let second: RunningProcess
    beforeAll(async () => {
      cares = await startCares()
      ;[first, second] = [await cares.start(), await cares.start()]
      await writeAt(first, { value: 'One sugar.' })
    }, 60_000)
    afterAll(() => cares.end())

    test('a session opened at one is used at the other, and hears there what was written here', async () => {
      const client = await openClient(first)
      expect((await client.call('ping', {}, second)).body.result).toEqual({})
      await client.subscribe(TEA, second)
      const stream = await client.stream(second)
      expect(await writeAt(first, { value: 'No sugar.' })).toMatchObject({ subscribers: 1 })
      await expect.poll(() => stream.updated, POLL).toEqual([TEA])
      expect((await client.end(first)).status).toBe(200)
      expect((await client.call('ping', {}, second)).status).toBe(404)
      await expect.poll(() => stream.hasEnded, POLL).toBe(true)
    })
  },
)

// C22 over several processes: the one that holds the lease delivers. It is stopped, woken and killed while events come.
import { fileURLToPath } from 'node:url'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { mintToken } from '@tallystick/jwt-lite'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterEach, describe, expect, it } from 'vitest'
import { useRecordServer } from '../adapters/records/postgres-store.fixture.ts'
import { sendSignedWrite } from '../seed/seed-records.ts'
import { testConfig, testEnvironment, WRITE_SECRET } from '../testing/care.fixture.ts'
import {
  EVENTS_AUDIENCE,
  EVENTS_ENVIRONMENT,
  eventHost,
  startReceiver,
} from '../testing/event-receiver.fixture.ts'
import { makeStorePlace } from '../testing/store-place.fixture.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))
const POLL = { interval: 50 }
const WRITES = 10

const token = mintToken({
  sub: 'host',
  scope: 'care.read.user',
  audience: EVENTS_AUDIENCE,
  typ: 'care+jwt',
  key: testConfig().TOKEN_SECRET,
  nowSeconds: Date.now() / 1_000,
  jti: 'host',
})

const ends: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

describe.skipIf(postgresMissing !== undefined)(
  `C22: events of two processes${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    it('none is lost and none out of order, whichever process is stopped, woken or killed; one that comes again has its first id', async () => {
      const place = await makeStorePlace({ isOnDisk: true, engine: 'postgres' })
      ends.push(() => place.remove())
      const receiver = await startReceiver()
      ends.push(() => receiver.close())
      const start = async (name: string) => {
        const process = startServiceProcess([MAIN], {
          ...testEnvironment,
          ...EVENTS_ENVIRONMENT,
          ...place.environment,
          DATABASE_PATH: `${place.environment.DATABASE_PATH}-${name}`,
          HOST: '127.0.0.1',
          PORT: '0',
          LOG_LEVEL: 'info',
        })
        ends.push(() => {
          process.kill('SIGKILL')
          return process.ended
        })
        return { process, url: await process.url() }
      }
      const acknowledged: string[] = []
      const write = async ({ url }: { readonly url: string }): Promise<void> => {
        const answer = await sendSignedWrite({
          baseUrl: url,
          serviceName: 'care',
          writeSecret: WRITE_SECRET,
          body: { patient: 'ann', domain: 'tea', value: `${acknowledged.length}`, authorId: 'dr' },
          unixMs: Date.now(),
        })
        const { uri, version } = (await answer.json()) as { uri: string; version: number }
        acknowledged.push(`${uri}/${version}`)
      }
      /** What the receiver has heard, in the order of the first time. */
      const heard = () => [...new Set(receiver.got.map(({ event }) => event.data.uri))]
      const hearsAll = async (): Promise<void> => {
        await expect.poll(heard, POLL).toEqual(acknowledged)
      }

      const first = await start('first')
      const second = await start('second')
      // At the process that does not deliver.
      await eventHost(second, token).subscribe(`${receiver.url}/host`)
      for (let at = 0; at < WRITES; at += 1) await write(at % 2 === 0 ? first : second)
      await hearsAll()

      first.process.kill('SIGSTOP')
      for (let at = 0; at < WRITES; at += 1) await write(second)
      await hearsAll()
      first.process.kill('SIGCONT')
      for (let at = 0; at < WRITES; at += 1) await write(at % 2 === 0 ? first : second)
      await hearsAll()

      for (let at = 0; at < WRITES; at += 1) await write(first)
      second.process.kill('SIGKILL')
      for (let at = 0; at < WRITES; at += 1) await write(first)
      await hearsAll()
      const ids = new Map(receiver.got.map(({ event }) => [event.data.uri, event.eventId]))
      for (const { event } of receiver.got) expect(event.eventId).toBe(ids.get(event.data.uri))
    })
  },
)

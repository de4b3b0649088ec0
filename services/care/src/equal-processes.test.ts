// C25: several processes serve one PostgreSQL, and each knows what the others did. Two services stand for two processes: they
// share nothing but the database and the place of the chains' keys.

import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { type Clock, pause, systemClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useRecordServer } from './adapters/records/postgres-store.fixture.ts'
import { type CareService, createCareService } from './service.ts'
import { joinSignature, testConfig } from './testing/care.fixture.ts'
import { tokenFor } from './testing/several-cares.fixture.ts'
import { makeStorePlace, type StorePlace } from './testing/store-place.fixture.ts'

const SEAL_KEYS = `k1:${Buffer.alloc(32, 5).toString('base64')}`

/** Ends a hang. */
const CANCELLED_MS_MAX = 120_000

const clockAt = (offsetMs: number): Clock => ({
  ...systemClock,
  unixMs: () => Date.now() + offsetMs,
})

const write = async ({ app }: CareService, body: object, unixMs = Date.now()) => {
  const payload = JSON.stringify({
    patient: 'ann',
    domain: 'tea',
    value: 'green',
    authorId: 'dr-osei',
    authorLabel: 'Dr Osei',
    ...body,
  })
  const timestamp = new Date(unixMs).toISOString()
  const signature = joinSignature({ timestamp, body: payload })
  const headers = { 'x-care-signature': signature, 'x-care-timestamp': timestamp }
  const answer = await app.inject({ method: 'POST', url: '/write', payload, headers })
  return { status: answer.statusCode, ...answer.json() }
}

const TEA = { patient: 'ann', domain: 'tea', audience: 'user' } as const

/** Sends messages of a session, which any process serves. */
async function openSession(first: CareService) {
  const headers = {
    host: 'care.test',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    authorization: `Bearer ${tokenFor('care.read.user')}`,
  }
  const post = ({ app }: CareService, message: object, sessionId = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { ...headers, ...sessionId },
      payload: { jsonrpc: '2.0', ...message },
    })
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const opened = await post(first, { id: 0, method: 'initialize', params })
  const id = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
  return (service: CareService, message: object) => post(service, message, id)
}

/** Opens a session that is subscribed to the record. */
async function followTea(service: CareService): Promise<void> {
  const send = await openSession(service)
  const params = { uri: 'care://ann/tea' }
  const subscribed = await send(service, { id: 1, method: 'resources/subscribe', params })
  expect(subscribed.json()).toMatchObject({ result: {} })
}

describe.skipIf(postgresMissing !== undefined)(
  `C25: equal processes${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    let place: StorePlace
    let services: CareService[]
    const start = async (
      name: string,
      { clock = systemClock, environment = {} }: { clock?: Clock; environment?: object } = {},
    ): Promise<CareService> => {
      const own = {
        ...place.environment,
        DATABASE_PATH: `${place.environment.DATABASE_PATH}-${name}`,
        ...environment,
      }
      const service = await createCareService({ config: testConfig(own), clock })
      await service.app.ready()
      services.push(service)
      return service
    }
    beforeEach(async () => {
      services = []
      place = await makeStorePlace({ isOnDisk: true, engine: 'postgres' })
    })
    afterEach(async () => {
      for (const { app, close } of services) {
        await app.close()
        await close()
      }
      await place.remove()
    })

    it('a writer is asked about a name that another process has just written', async () => {
      const [left, right] = [await start('one'), await start('other')]
      await write(left, { patient: 'ann' })
      const answer = await write(right, { patient: 'Ann' })
      expect(answer.warning).toEqual({ reason: 'alike_names', names: ['ann'] })
    })

    it('a write is known at every process before it is answered anywhere: to reads and to /verify', async () => {
      const [left, right] = [await start('one'), await start('other')]
      await write(left, { value: 'green' })
      for (let version = 2; version <= 20; version += 1) {
        await write(left, { value: `camomile ${version}` })
        const answer = await right.app.inject({ method: 'GET', url: '/verify' })
        expect(answer.json()).toMatchObject({ chains: [{ versions: version, intact: true }] })
        expect(
          await right.store.latest({ patient: 'ann', domain: 'tea', audience: 'user' }),
        ).toMatchObject({ record: { version } })
      }
      expect((await write(right, { value: 'black' })).version).toBe(21)
    })

    it('a signed write that is sent again to another process gets its first answer', async () => {
      const [left, right] = [await start('one'), await start('other')]
      const unixMs = Date.now()
      const first = await write(left, { value: 'once' }, unixMs)
      expect(await write(right, { value: 'once' }, unixMs)).toEqual(first)
      const again = Date.now()
      const both = await Promise.all(
        [left, right].map((service) => write(service, { value: 'at once' }, again)),
      )
      expect(both[0]).toEqual(both[1])
      expect(both[0]?.version).toBe(2)
    })

    it('C14: a signed write that is sent again elsewhere before its followers were counted, or after that process died, is told the same count', async () => {
      const [left, right] = [await start('one'), await start('other')]
      await write(left, { value: 'before' })
      await followTea(right)
      const publish = left.hub.publish.bind(left.hub)
      const counting = Promise.withResolvers<void>()
      left.hub.publish = async (...published) => {
        await counting.promise
        return publish(...published)
      }
      const unixMs = Date.now()
      const first = write(left, { value: 'once' }, unixMs)
      await expect.poll(() => right.store.latest(TEA)).toMatchObject({ latestVersion: 2 })
      const again = await write(right, { value: 'once' }, unixMs)
      // Who follows it from now on did not follow it then.
      await followTea(right)
      counting.resolve()
      expect(again).toMatchObject({ version: 2, subscribers: 1, notified: true })
      expect(await first).toEqual(again)
      expect(await write(right, { value: 'once' }, unixMs)).toEqual(again)
    })

    it('a request is cancelled at whichever process runs it, and only by its own session', async () => {
      const [left, right] = [await start('one'), await start('other')]
      await write(left, {})
      const [send, sendOther] = [await openSession(left), await openSession(left)]
      const latest = left.store.latest.bind(left.store)
      const reading = Promise.withResolvers<void>()
      let begun = 0
      left.store.latest = async (slot) => {
        begun += 1
        await reading.promise
        return latest(slot)
      }
      const read = { method: 'resources/read', params: { uri: 'care://ann/tea' } }
      const [first, second] = [send(left, { id: 'x', ...read }), send(left, { id: 7, ...read })]
      await expect.poll(() => begun).toBe(2)
      const cancel = (by: typeof send, requestId: unknown) =>
        by(right, { method: 'notifications/cancelled', params: { requestId } })
      for (const [by, requestId] of [
        [sendOther, 'x'],
        [send, '7'],
        [send, 'x'],
      ] as const)
        expect((await cancel(by, requestId)).statusCode).toBe(202)
      // An end without an answer; read, it would have one.
      await Promise.race([first, pause(systemClock, CANCELLED_MS_MAX)])
      reading.resolve()
      expect([(await first).statusCode, (await first).body]).toEqual([202, ''])
      expect((await second).json()).toMatchObject({ id: 7, result: {} })
    })

    it('writtenAt follows the database’s clock: two processes with clocks five minutes apart never write into the past', async () => {
      const both = [
        await start('behind', { clock: clockAt(-150_000) }),
        await start('ahead', { clock: clockAt(150_000) }),
      ]
      const times: number[] = []
      for (let count = 0; count < 10; count += 1)
        for (const service of both) {
          const { status, writtenAt } = await write(service, { value: `${count}` })
          expect(status).toBe(200)
          times.push(Date.parse(writtenAt))
        }
      expect(times.toSorted((left, right) => left - right)).toEqual(times)
      // Neither is minutes away from the database.
      expect(Math.abs(Date.now() - (times.at(-1) ?? 0))).toBeLessThan(60_000)
      expect(Math.max(...times) - Math.min(...times)).toBeLessThan(60_000)
    })

    it('a machine’s clock that is set an hour ahead or back changes neither times of writing nor how old sessions are', async () => {
      let aheadMs = 0
      const clock = { ...systemClock, unixMs: () => Date.now() + aheadMs }
      const service = await start('set', { clock })
      const send = await openSession(service)
      for (aheadMs of [3_600_000, -3_600_000]) {
        const { writtenAt } = await write(service, { value: `${aheadMs}` })
        expect(Math.abs(Date.now() - Date.parse(writtenAt))).toBeLessThan(60_000)
        expect((await send(service, { id: 1, method: 'ping' })).statusCode).toBe(200)
      }
    })

    it('two processes that begin one chain at once seal it under one key', async () => {
      const environment = { SEAL_KEYS }
      const both = [await start('one', { environment }), await start('other', { environment })]
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          both.map((service, writer) => write(service, { domain: `d${at}`, value: `${writer}` })),
        ).flat(),
      )
      expect(answers.every(({ status }) => status === 200)).toBe(true)
      for (const { store } of both)
        for (let at = 0; at < 20; at += 1) {
          const slot = { patient: 'ann', domain: `d${at}`, audience: 'user' } as const
          for (const version of [1, 2])
            expect(await store.version(slot, version)).toMatchObject({ kind: 'found' })
        }
    })
  },
)

// C36: the service goes away behind a real nginx, by SIGTERM or SIGKILL, and comes back: official clients, unmodified and with
// their own settings, lose no correction. The absences run side by side; a long run has all of them.
import { fileURLToPath } from 'node:url'
import * as sdk2 from '@modelcontextprotocol/client'
import * as sdk1 from '@modelcontextprotocol/sdk/client/index.js'
import * as sdk1Http from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { mintToken } from '@tallystick/jwt-lite'
import { freePort, pause, systemClock } from '@tallystick/service-kit'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterAll, describe, expect, it } from 'vitest'
import { sendSignedWrite } from '../seed/seed-records.ts'
import { RESOURCE, testConfig, testEnvironment, WRITE_SECRET } from '../testing/care.fixture.ts'
import { nginxMissing, startNginx } from '../testing/nginx.fixture.ts'
import { makeStorePlace } from '../testing/store-place.fixture.ts'
import { readValue, TEA } from './official-client.fixture.ts'

type Signal = 'SIGTERM' | 'SIGKILL'
type Absence = { readonly seconds: number; readonly signal: Signal }

const isLong = process.env['TALLYSTICK_LONG'] === '1'
const SIGNALS: readonly Signal[] = ['SIGTERM', 'SIGKILL']
const ABSENCES: readonly Absence[] = isLong
  ? [1, 5, 20].flatMap((seconds) => SIGNALS.map((signal) => ({ seconds, signal })))
  : [
      { seconds: 1, signal: 'SIGTERM' },
      { seconds: 5, signal: 'SIGKILL' },
    ]
const CARE = fileURLToPath(new URL('../main.ts', import.meta.url))
const CONFIG = testConfig()

/** What a host learns: the records it is told of, and that its client gave up. */
type Host = {
  readonly told: string[]
  hasGivenUp(): boolean
  read(): Promise<unknown>
  subscribe(): Promise<unknown>
  close(): Promise<void>
}

const token = (): string =>
  mintToken({
    sub: 'host',
    scope: 'care.read.user',
    audience: RESOURCE,
    typ: 'care+jwt',
    key: CONFIG.TOKEN_SECRET,
    nowSeconds: systemClock.unixMs() / 1_000,
    jti: crypto.randomUUID(),
  })
const requestInit = () => ({ headers: { Authorization: `Bearer ${token()}` } })
const givesUp = ({ message }: Error): boolean => message.startsWith('Maximum reconnection attempts')

async function connectFirst(url: URL): Promise<Host> {
  const client = new sdk1.Client({ name: 'host', version: '1' })
  const messages: string[] = []
  let hasGivenUp = false
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    messages.push(params.uri)
  })
  Object.assign(client, { onerror: (error: Error) => (hasGivenUp ||= givesUp(error)) })
  await client.connect(
    new sdk1Http.StreamableHTTPClientTransport(url, { requestInit: requestInit() }),
  )
  return {
    told: messages,
    hasGivenUp: () => hasGivenUp,
    read: async () => readValue(await client.readResource({ uri: TEA })),
    subscribe: () => client.subscribeResource({ uri: TEA }),
    close: () => client.close(),
  }
}

async function connectSecond(url: URL): Promise<Host> {
  const client = new sdk2.Client({ name: 'host', version: '2' })
  const sentences: string[] = []
  let hasGivenUp = false
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    sentences.push(params.uri)
  })
  Object.assign(client, { onerror: (error: Error) => (hasGivenUp ||= givesUp(error)) })
  await client.connect(new sdk2.StreamableHTTPClientTransport(url, { requestInit: requestInit() }))
  return {
    told: sentences,
    hasGivenUp: () => hasGivenUp,
    read: async () => readValue(await client.readResource({ uri: TEA })),
    subscribe: () => client.subscribeResource({ uri: TEA }),
    close: () => client.close(),
  }
}

const closing: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** The service on a port of its own, as an operator starts it; stopped, it can be started again on what it stored. */
async function startCare(port: number) {
  const place = await makeStorePlace({ isOnDisk: true })
  closing.push(() => place.remove())
  const environment = {
    ...testEnvironment,
    ...place.environment,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'info',
  }
  const start = async () => {
    const startedMs = systemClock.unixMs()
    const running = startServiceProcess([CARE], environment)
    closing.push(() => running.kill('SIGKILL'))
    return { running, url: await running.url(), tookMs: systemClock.unixMs() - startedMs }
  }
  let served = await start()
  const write = async (value: string): Promise<void> => {
    const answer = await sendSignedWrite({
      baseUrl: served.url,
      serviceName: 'care',
      writeSecret: WRITE_SECRET,
      body: { patient: 'ann', domain: 'tea', value, authorId: 'dr-osei' },
      unixMs: systemClock.unixMs(),
    })
    expect(answer.status).toBe(200)
  }
  return {
    write,
    /** Away that long, as far as the time that a start takes on this machine lets it. */
    async goAway({ seconds, signal }: Absence): Promise<void> {
      served.running.kill(signal)
      await served.running.ended
      await pause(systemClock, Math.max(0, seconds * 1_000 - served.tookMs))
      served = await start()
    },
  }
}

/** What both hosts were told before and after an absence, whether they gave up, and what they read then. */
async function hostsAfter(
  absence: Absence,
  ports: { readonly service: number; readonly proxy: number },
) {
  const care = await startCare(ports.service)
  await care.write('One sugar.')
  const url = new URL(`http://127.0.0.1:${ports.proxy}/mcp`)
  const hosts = await Promise.all([connectFirst(url), connectSecond(url)])
  for (const host of hosts) {
    closing.push(() => host.close())
    await host.subscribe()
  }
  await care.write('Two sugars.')
  for (const { told } of hosts) await expect.poll(() => told).toEqual([TEA])
  await care.goAway(absence)
  // None is lost and none repeated.
  for (const value of ['Honey.', 'No sugar.']) await care.write(value)
  return Promise.all(
    hosts.map(async (host) => {
      await expect.poll(() => host.told.length === 3 || host.hasGivenUp()).toBe(true)
      return [host.told, host.hasGivenUp(), await host.read()]
    }),
  )
}

describe.skipIf(nginxMissing !== undefined)(
  `C36: behind nginx, both official clients hear what was corrected ${nginxMissing ?? ''}`,
  () => {
    it(`after ${ABSENCES.map(({ seconds, signal }) => `${seconds} s by ${signal}`).join(', ')}`, async () => {
      const services = await Promise.all(ABSENCES.map(freePort))
      const nginx = await startNginx(services)
      closing.push(() => nginx.close())
      const heard = await Promise.all(
        ABSENCES.map((absence, at) =>
          hostsAfter(absence, { service: services[at] ?? 0, proxy: nginx.ports[at] ?? 0 }),
        ),
      )
      const all = [[TEA, TEA, TEA], false, 'No sugar.']
      expect(heard).toEqual(ABSENCES.map(() => [all, all]))
    })
  },
)

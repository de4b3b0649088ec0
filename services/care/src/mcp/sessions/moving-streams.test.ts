// C25: streams that move between three processes all the time, while records are written and processes are killed and stopped.
import * as sdk2 from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { pause, systemClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRoundRobin, type RoundRobin } from '../../testing/round-robin.fixture.ts'
import {
  openClient,
  type RunningProcess,
  startCares,
  tokenFor,
  USER,
  writeAt,
} from '../../testing/several-cares.fixture.ts'
import type { EventReader } from './event-reader.fixture.ts'

const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')
const URIS = Array.from({ length: 12 }, (_, at) => `care://p${at}/d`)
const RAW_SESSIONS = 24
/** How long records are written and streams moved. */
const LOAD_MS = 8_000
/** Longer than a silent process is remembered. */
const STOPPED_MS = 13_000
const some = <Item>(items: readonly Item[]): Item =>
  items[Math.floor(Math.random() * items.length)] as Item

/** Whatever comes of it: a killed process does not answer, and a stopped one answers when it is woken. */
const inTime = (asking: Promise<unknown>): Promise<unknown> =>
  Promise.race([asking.catch(() => undefined), pause(systemClock, 1_000)])

/** A session and what it has heard. */
type Hearing = { readonly sessionId: string; readonly heard: string[]; readonly ids: string[] }

/** A session whose stream goes from process to process. */
async function openMoving(anyProcess: () => RunningProcess) {
  const client = await openClient(anyProcess())
  await client.call('logging/setLevel', { level: 'error' }, anyProcess())
  for (const uri of [some(URIS), some(URIS)]) await client.subscribe(uri, anyProcess())
  const hearing: Hearing = { sessionId: client.sessionId, heard: [], ids: [] }
  let stream: EventReader = await client.stream(anyProcess())
  let lastEventId = stream.lastEventId
  let moving: Promise<void> | undefined
  let taken = 0
  /** What an abandoned stream tells later does not count: the new one tells it, too. */
  const take = (): void => {
    for (const { id, message } of stream.events.slice(taken)) {
      lastEventId = id ?? lastEventId
      if (message?.method !== 'notifications/resources/updated') continue
      hearing.heard.push(String(message.params?.['uri']))
      hearing.ids.push(id ?? '')
    }
    taken = stream.events.length
  }
  const moveOn = async (): Promise<void> => {
    if (Math.random() < 0.5) stream.drop()
    take()
    try {
      stream = await client.stream(anyProcess(), lastEventId)
      taken = 0
    } catch {
      // That process was killed meanwhile.
    }
  }
  return {
    client,
    hearing,
    take,
    /** One at a time: a stopped process holds a move up until it is woken. */
    move: (): Promise<void> => {
      moving ??= moveOn().finally(() => {
        moving = undefined
      })
      return moving
    },
  }
}

/** An official client of either line behind the proxy, subscribed to some records. */
async function openOfficial(url: string, line: 1 | 2) {
  const heard: string[] = []
  const at = new URL(`${url}/mcp`)
  const requestInit = { headers: { authorization: `Bearer ${tokenFor(USER, `line-${line}`)}` } }
  const uris = URIS.slice(0, 4)
  if (line === 1) {
    const client = new Client({ name: 'host', version: '1' })
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void heard.push(params.uri),
    )
    const transport = new StreamableHTTPClientTransport(at, { requestInit })
    await client.connect(transport)
    for (const uri of uris) await client.subscribeResource({ uri })
    return { sessionId: transport.sessionId ?? '', heard, close: () => client.close() }
  }
  const client = new sdk2.Client({ name: 'host', version: '2' })
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.push(params.uri),
  )
  const transport = new sdk2.StreamableHTTPClientTransport(at, { requestInit })
  await client.connect(transport)
  for (const uri of uris) await client.subscribeResource({ uri })
  return { sessionId: transport.sessionId ?? '', heard, close: () => client.close() }
}

describe.skipIf(reason !== undefined)(
  `C25: three processes${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let cares: Awaited<ReturnType<typeof startCares>>
    let proxy: RoundRobin
    let processes: RunningProcess[]
    beforeAll(async () => {
      cares = await startCares({ SESSIONS_PER_SUB_MAX: '200' })
      processes = await Promise.all([cares.start(), cares.start(), cares.start()])
      proxy = await openRoundRobin(processes)
      for (const [at] of URIS.entries())
        await writeAt(some(processes), { patient: `p${at}`, domain: 'd', value: 'first' })
    })
    afterAll(async () => {
      proxy.close()
      await cares.end()
    })

    /** What each session is due, as the rows have it: versions of what it follows, from where it began to. */
    async function listDue(sessionId: string): Promise<readonly string[]> {
      const { rows } = await cares.sql(`SELECT s.uri FROM care.mcp_sessions n
        JOIN care.mcp_subscriptions s ON s.session = n.number
        JOIN care.chains c ON 'care://' || c.patient || '/' || c.domain = s.uri
        JOIN care.user_versions v ON v.chain = c.id AND v.place >= s.since
        WHERE n.id = '${sessionId}' ORDER BY v.place`)
      return rows.map(({ uri }: { readonly uri: string }) => uri)
    }

    test('streams move all the time, one process is killed, one stopped and woken: nobody misses, hears twice or out of order, official clients among them', async () => {
      let serving = [...processes]
      const anyProcess = (): RunningProcess => some(serving)
      const officials = await Promise.all([
        openOfficial(proxy.url, 1),
        openOfficial(proxy.url, 2),
        openOfficial(proxy.url, 1),
        openOfficial(proxy.url, 2),
      ])
      const movers = await Promise.all(
        Array.from({ length: RAW_SESSIONS }, () => openMoving(anyProcess)),
      )
      const endMs = performance.now() + LOAD_MS
      let [written, moves] = [0, 0]
      const keepDoing = async (ms: number, run: () => Promise<unknown>): Promise<void> => {
        while (performance.now() < endMs) {
          await run()
          await pause(systemClock, Math.random() * 2 * ms)
        }
      }
      const write = async (): Promise<void> => {
        const patient = `p${Math.floor(Math.random() * URIS.length)}`
        const body = { patient, domain: 'd', value: `${Math.random()}` }
        // What was not acknowledged is due all the same, if it was written.
        await inTime(writeAt(anyProcess(), body).then(() => (written += 1)))
      }
      const [stopped, killed] = processes as [RunningProcess, RunningProcess]
      const breakThem = async (): Promise<void> => {
        await pause(systemClock, LOAD_MS / 4)
        serving = processes.filter((each) => each !== stopped)
        proxy.targets = serving
        stopped.kill('SIGSTOP')
        await pause(systemClock, LOAD_MS / 4)
        serving = serving.filter((each) => each !== killed)
        proxy.targets = serving
        killed.kill('SIGKILL')
        await killed.ended
        const fresh = await cares.start()
        serving = [...serving, fresh]
        proxy.targets = serving
        await pause(systemClock, STOPPED_MS - LOAD_MS / 4)
        stopped.kill('SIGCONT')
      }
      await Promise.all([
        breakThem(),
        ...[1, 2, 3].map(() => keepDoing(15, write)),
        ...[1, 2, 3].map(() =>
          keepDoing(10, async () => {
            moves += 1
            await inTime(some(movers).move())
          }),
        ),
        keepDoing(20, () => inTime(some(movers).client.subscribe(some(URIS), anyProcess()))),
      ])
      // The first may be one that was under way, to a process that is gone.
      for (const { move } of movers) for (const _ of [1, 2]) await move()
      const hearings = [
        ...officials.map((each) => ({ ...each, ids: [] })),
        ...movers.map(({ hearing }) => hearing),
      ]
      for (const { heard, sessionId } of hearings) {
        const due = await listDue(sessionId)
        await expect
          .poll(
            () => {
              for (const { take } of movers) take()
              return heard.length
            },
            { interval: 50 },
          )
          .toBeGreaterThanOrEqual(due.length)
        expect(heard).toEqual(due)
      }
      for (const { ids } of hearings) expect(new Set(ids).size).toBe(ids.length)
      expect(written).toBeGreaterThan(20)
      expect(moves).toBeGreaterThan(20)
      for (const { close } of officials) await close()
    })
  },
)

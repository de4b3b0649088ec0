// What `/mcp` costs beside the SDK's own transport: CPU per request, memory per session, and how long a notification
// takes to reach a thousand subscribers. Both servers get the same requests and send the same notifications.
import { type Figure, judgeFigure } from '../figure.ts'
import { forEachSession, type LoadPath, McpLoad } from '../mcp-load.ts'
import { median, quantile } from '../quantile.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const REPEATS = 3
/** Sessions before the measured ones, which compile the code and make the first allocations. */
const WARM_SESSIONS = 2_500
const SESSIONS = 1_000
/** Requests of each kind, to warm up and to measure. */
const REQUESTS_PER_SESSION = 4
/** Rounds of notifications to all subscribers, and the warm-up rounds before them. */
const ROUNDS = 10
const WARM_ROUNDS = 3
/** Messages per write: the update and the notice. */
const FRAMES_PER_WRITE = 2
/** The start of every frame that carries a message. */
const FRAME_MARK = '"method":"notifications/'

/** CPU microseconds of each kind of request. */
type RequestCost = {
  /** `initialize` and `notifications/initialized` together. */
  readonly initialize: number
  readonly read: number
  readonly ping: number
}

type Cost = {
  readonly requests: RequestCost
  /** The same requests without a transport; only the baseline's server has them. */
  readonly bare: RequestCost | undefined
  readonly notificationMicros: number
  readonly idleHeapBytes: number
  readonly streamHeapBytes: number
  readonly fanOutP50Ms: number
  readonly fanOutP95Ms: number
}

/** A server under load, and how to make it notify all its subscribers. */
type Loaded = {
  readonly server: ServerProcess
  readonly load: McpLoad
  readonly tell: () => Promise<unknown>
  readonly hasBare: boolean
}

/** One value for all writes; only its version changes. */
const VALUE = 'No sugar, thank you; and a biscuit only on Sundays.'

const countFrames = (text: string): number => text.split(FRAME_MARK).length - 1

/** Notifies all subscribers and waits for the last frame; milliseconds from the request to each. */
async function fanOut({ load, tell }: Loaded, subscribers: number): Promise<readonly number[]> {
  const delays: number[] = []
  const all = Promise.withResolvers<void>()
  const startMs = performance.now()
  load.onPiece = (text) => {
    const elapsedMs = performance.now() - startMs
    for (let count = countFrames(text); count > 0; count -= 1) delays.push(elapsedMs)
    if (delays.length >= subscribers * FRAMES_PER_WRITE) all.resolve()
  }
  await Promise.all([tell(), all.promise])
  return delays
}

/** CPU microseconds per request, with several requests from each session. */
async function requestMicros(
  { server }: Loaded,
  ids: readonly string[],
  send: (id: string) => Promise<unknown>,
): Promise<number> {
  const all = Array.from({ length: REQUESTS_PER_SESSION }, () => ids).flat()
  return (await server.readCpuMicros(() => forEachSession(all, send))) / all.length
}

/** Opens sessions and makes requests in them, one kind at a time. */
async function requestCost(
  loaded: Loaded,
  sessions: number,
  path: LoadPath,
): Promise<RequestCost & { readonly ids: readonly string[] }> {
  const { server, load } = loaded
  let ids: readonly string[] = []
  const openMicros = await server.readCpuMicros(async () => {
    ids = await load.openSessions(sessions, path)
  })
  const read = await requestMicros(loaded, ids, (id) => load.read(id, path))
  const ping = await requestMicros(loaded, ids, (id) => load.ping(id, path))
  return { initialize: openMicros / sessions, read, ping, ids }
}

async function measureCost(loaded: Loaded): Promise<Cost> {
  const { server, load, hasBare } = loaded
  await requestCost(loaded, WARM_SESSIONS, '/mcp')
  if (hasBare) await requestCost(loaded, WARM_SESSIONS, '/bare')
  const { ids, ...requests } = await requestCost(loaded, SESSIONS, '/mcp')
  const bare = hasBare ? await requestCost(loaded, SESSIONS, '/bare') : undefined
  const before = await server.figures('collect')
  await load.openSessions(SESSIONS)
  const idle = await server.figures('collect')
  await forEachSession(ids, (id) => load.subscribe(id))
  const beforeStreams = await server.figures('collect')
  await forEachSession(ids, (id) => load.openStream(id))
  const withStreams = await server.figures('collect')
  for (let round = 0; round < WARM_ROUNDS; round += 1) await fanOut(loaded, SESSIONS)
  const delays: number[] = []
  const notifyCpu = await server.readCpuMicros(async () => {
    for (let round = 0; round < ROUNDS; round += 1) delays.push(...(await fanOut(loaded, SESSIONS)))
  })
  const idleHeapBytes = (idle.heapBytes - before.heapBytes) / SESSIONS
  return {
    requests,
    bare,
    notificationMicros: notifyCpu / (ROUNDS * SESSIONS * FRAMES_PER_WRITE),
    idleHeapBytes,
    streamHeapBytes: idleHeapBytes + (withStreams.heapBytes - beforeStreams.heapBytes) / SESSIONS,
    fanOutP50Ms: quantile(delays, 0.5),
    fanOutP95Ms: quantile(delays, 0.95),
  }
}

async function startCare(databasePath: string): Promise<Loaded> {
  const server = await ServerProcess.start('care-server.ts', [databasePath, 'clear'])
  const load = new McpLoad(server.url)
  await load.write(VALUE)
  return { server, load, tell: () => load.write(VALUE), hasBare: false }
}

async function startSdk(databasePath: string): Promise<Loaded> {
  const server = await ServerProcess.start('sdk-server.ts', [databasePath])
  const load = new McpLoad(server.url)
  return { server, load, tell: () => load.post('/tell', '{}'), hasBare: true }
}

async function endAfter<Result>(
  loaded: Loaded,
  work: (loaded: Loaded) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(loaded)
  } finally {
    loaded.load.close()
    await loaded.server.stop()
  }
}

type CostPart = (cost: Cost) => number

/** The reported requests, by kind and by name. */
const REQUESTS = [
  ['initialize', 'initialize and initialized'],
  ['read', 'read'],
  ['ping', 'ping'],
] as const

function readFigures(ours: readonly Cost[], sdk: readonly Cost[]): readonly Figure[] {
  const against = (name: string, unit: string, pick: CostPart) => ({
    name,
    unit,
    value: median(ours.map(pick)),
    baseline: { name: "the SDK's transport", value: median(sdk.map(pick)) },
  })
  const times = { kind: 'ratio', times: 3 } as const
  return [
    ...REQUESTS.flatMap(([kind, words]) => {
      const floor = median(sdk.map(({ bare }) => bare?.[kind] ?? 0))
      return [
        judgeFigure({
          ...against(
            `CPU per ${words}, transport alone`,
            'µs',
            (cost) => cost.requests[kind] - floor,
          ),
          aim: times,
        }),
        judgeFigure({
          ...against(`CPU per ${words}, whole request`, 'µs', (cost) => cost.requests[kind]),
          aim: { kind: 'none' },
        }),
      ]
    }),
    judgeFigure({
      ...against('CPU per notification', 'µs', (cost) => cost.notificationMicros),
      aim: times,
    }),
    judgeFigure({
      ...against('heap per idle session', 'KB', (cost) => cost.idleHeapBytes / 1024),
      aim: { kind: 'at-most', value: 8 },
    }),
    judgeFigure({
      ...against('heap per session with a stream', 'KB', (cost) => cost.streamHeapBytes / 1024),
      aim: times,
    }),
    judgeFigure({
      ...against('fan-out to 1,000 subscribers, p50', 'ms', (cost) => cost.fanOutP50Ms),
      aim: { kind: 'at-most', value: 50 },
    }),
    judgeFigure({
      ...against('fan-out to 1,000 subscribers, p95', 'ms', (cost) => cost.fanOutP95Ms),
      aim: { kind: 'at-most', value: 50 },
    }),
  ]
}

/** The care service's MCP endpoint against the SDK's transport, in alternation. */
export async function measureCareMcp(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const ours: Cost[] = []
  const sdk: Cost[] = []
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    ours.push(await endAfter(await startCare(folder.file(`care-${repeat}.db`)), measureCost))
    sdk.push(await endAfter(await startSdk(folder.file(`sdk-${repeat}.db`)), measureCost))
  }
  return readFigures(ours, sdk)
}

// What equal processes over one PostgreSQL cost beside one alone: writes, reads and notifications of care, and paid grades, a
// second and in CPU of all of them; and how soon one hears what another acknowledged. Each process has clients of its own, so that
// three have three times those of one. CPU is the judge: all processes, their clients and PostgreSQL share this machine.
import { setTimeout as pauseFor } from 'node:timers/promises'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import { ownPostgresMissing, startPostgres } from '@tallystick/journal-store/postgres-server'
import type { PaymentRequired } from '@x402/core/types'
import { POSTGRES_RECORDS } from '../../../services/care/src/adapters/schemas/postgres-record-database.ts'
import { openPostgresGradingStore } from '../../../services/grading/src/adapters/postgres-grading-store.ts'
import { POSTGRES_LEDGER } from '../../../services/grading/src/adapters/postgres-schema.ts'
import { fill } from '../../../services/grading/src/testing/xlayer.fixture.ts'
import { gradeExample } from '../../../services/grading/src/wire/examples.ts'
import {
  COUNTS,
  type Compared,
  type Count,
  compareCpu,
  compareRequests,
  medianAt,
  type Rounds,
  takeTurns,
  takeTurnsApart,
} from '../compare-counts.ts'
import { type Figure, judgeFigure } from '../figure.ts'
import { forEachSession, McpLoad } from '../mcp-load.ts'
import { type Load, type Machine, measureLoad } from '../measure-load.ts'
import { LANES } from '../paid-cost.ts'
import { gradingEnvironment } from '../paid-holds.ts'
import { quantileOfBatches } from '../quantile.ts'
import { postRequest, runLanes } from '../raw-load.ts'
import type { PaymentNetworkFacts } from '../server/payment-network-facts.ts'
import { ServerProcess } from '../server-process.ts'
import { signDollars } from '../sign-payments.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Of each process in one round. */
const [WRITES, READS, GRADES] = [400, 800, 120] as const
/** That reads are made in; and chains that a process's clients write to. */
const SESSIONS = 16
/** Hundredths. */
const FIRST_ODDS = 150
/** Streams of each process, and the writes in one round that all of them hear. */
const [STREAMS, TOLD] = [100, 20] as const
/** Streams over all processes, and the writes in one round whose way to one of them is measured. */
const [HEARING, HEARD] = [6, 100] as const
/** Between two such writes, milliseconds. */
const QUIET_MS = 5
/** A stream may hear before its writer has the answer. */
const DELAY_MS_MIN = 0.001
const HEARD_AIMS = [
  ['p50', 0.5, 2],
  ['p95', 0.95, 10],
] as const
/** A write's messages to a stream: the update and the notice. */
const FRAMES_PER_WRITE = 2
const FRAME_MARK = '"method":"notifications/'

type Place = {
  readonly folder: ReturnType<typeof temporaryFolder>
  readonly server: ReturnType<typeof startPostgres>
  readonly databaseFolder: string
}

const pause = (ms: number): Promise<void> => pauseFor(ms)

let started = 0
/** For the files of a process that begins. */
const newFile = ({ folder }: Pick<Place, 'folder'>): string =>
  folder.file(`process-${(started += 1)}`)

type CareCluster = Machine & { readonly loads: readonly McpLoad[] }

async function startCares(count: Count, place: Place): Promise<CareCluster> {
  const { databaseFolder, server } = place
  const database = await server.database()
  await migratePostgresStore(POSTGRES_RECORDS, { url: database.owner, pause })
  const servers = await Promise.all(
    Array.from({ length: count }, () =>
      ServerProcess.start('care-server.ts', [newFile(place), database.as('care_app')]),
    ),
  )
  return { servers, databaseFolder, loads: servers.map(({ url }) => new McpLoad(url)) }
}

/** Asks every process so often, all of them at once. */
const askEach = (
  { loads }: CareCluster,
  times: number,
  ask: (load: McpLoad, at: number, index: number) => Promise<unknown>,
): Promise<unknown> =>
  Promise.all(
    loads.map((load, at) =>
      forEachSession([...Array(times).keys()], (index) => ask(load, at, index)),
    ),
  )

/** Writes to chains of each process's own clients, and reads in sessions that were opened at the first. */
async function measureRequests(cluster: CareCluster, sessions: readonly string[]) {
  const { loads } = cluster
  const author = { authorId: 'dr-osei', authorLabel: 'Dr Osei' }
  const write = (load: McpLoad, at: number, index: number) =>
    load.writeRecord({
      patient: `patient-${at}-${index % SESSIONS}`,
      domain: 'note',
      value: `note ${index}`,
      ...author,
    })
  const read = (load: McpLoad, _: number, index: number) =>
    load.read(sessions[index % SESSIONS] ?? '')
  return {
    writes: await measureLoad(cluster, WRITES * loads.length, () =>
      askEach(cluster, WRITES, write),
    ),
    reads: await measureLoad(cluster, READS * loads.length, () => askEach(cluster, READS, read)),
  }
}

/** Streams that follow the one record, dealt out over all processes: the loads that have each process's. */
async function openStreams(
  { loads, servers }: CareCluster,
  count: number,
): Promise<readonly McpLoad[]> {
  const ids = (await loads[0]?.openSessions(count)) ?? []
  await forEachSession(ids, async (id) => loads[0]?.subscribe(id))
  const streams = servers.map(({ url }) => new McpLoad(url))
  await forEachSession([...ids.keys()], async (at) =>
    streams[at % streams.length]?.openStream(ids[at] ?? ''),
  )
  return streams
}

type Told = { readonly load: Load; readonly delaysMs: readonly number[] }

/** Writes at the first process that all streams are told of; each delay is from the answer to the last process's first frame. */
async function measureTold(
  cluster: CareCluster,
  messages: {
    readonly streams: readonly McpLoad[]
    readonly count: number
    readonly writes: number
  },
): Promise<Told> {
  const due = messages.count * FRAMES_PER_WRITE
  let [frames, heardMs] = [0, 0]
  let all = Promise.withResolvers<void>()
  for (const stream of messages.streams)
    stream.onPiece = (text) => {
      if (stream === messages.streams.at(-1) && heardMs === 0) heardMs = performance.now()
      frames += text.split(FRAME_MARK).length - 1
      if (frames >= due) all.resolve()
    }
  const delaysMs: number[] = []
  const load = await measureLoad(cluster, messages.writes * due, async () => {
    for (let count = 0; count < messages.writes; count += 1) {
      ;[frames, heardMs] = [0, 0]
      all = Promise.withResolvers<void>()
      await cluster.loads[0]?.write(`note ${count}`)
      const answeredMs = performance.now()
      await all.promise
      delaysMs.push(Math.max(heardMs - answeredMs, DELAY_MS_MIN))
      await pause(QUIET_MS)
    }
  })
  return { load, delaysMs }
}

/** Opens streams at all clusters, and measures them in turn. */
async function takeTold(
  clusters: ReadonlyMap<Count, CareCluster>,
  { countAt, writes }: { readonly countAt: (processes: number) => number; readonly writes: number },
): Promise<Rounds<Told>> {
  const opened = new Map<CareCluster, readonly McpLoad[]>()
  const countServers = ({ servers }: CareCluster): number => countAt(servers.length)
  for (const cluster of clusters.values())
    opened.set(cluster, await openStreams(cluster, countServers(cluster)))
  try {
    return await takeTurns(clusters, (cluster) => {
      const streams = opened.get(cluster) ?? []
      return measureTold(cluster, { streams, count: countServers(cluster), writes })
    })
  } finally {
    for (const stream of [...opened.values()].flat()) stream.close()
  }
}

function heardFigures(rounds: Rounds<Told>): readonly Figure[] {
  const delaysAt = (count: Count) => (rounds.get(count) ?? []).flatMap(({ delaysMs }) => delaysMs)
  const quantileAt = (count: Count, share: number): number =>
    quantileOfBatches(delaysAt(count), { batchSize: HEARD, share })
  const perNotification = medianAt(rounds, ({ load }) => load.cpuMicros)
  const perWriteAt = (count: Count): number => perNotification(count) * HEARING * FRAMES_PER_WRITE
  return [
    ...HEARD_AIMS.map(([name, share, aimMs]) =>
      judgeFigure({
        name: `acknowledged to heard at another process, ${name}`,
        value: quantileAt(3, share),
        unit: 'ms',
        baseline: { name: 'at the same process, one alone', value: quantileAt(1, share) },
        aim: { kind: 'at-most', value: aimMs },
      }),
    ),
    judgeFigure({
      name: 'CPU that each further process with a stream adds to a write',
      value: (perWriteAt(3) - perWriteAt(1)) / 2,
      unit: 'µs',
      baseline: {
        name: `a write that ${HEARING} streams of one process hear`,
        value: perWriteAt(1),
      },
      aim: { kind: 'none' },
    }),
  ]
}

async function stopCares(clusters: Iterable<CareCluster>): Promise<void> {
  for (const { loads, servers } of clusters) {
    for (const load of loads) load.close()
    for (const server of servers) await server.stop()
  }
}

/** Opens sessions at all clusters, and measures requests in turn. */
async function takeRequests(
  clusters: ReadonlyMap<Count, CareCluster>,
  place: Place,
): Promise<Compared<Awaited<ReturnType<typeof measureRequests>>>> {
  const ones: CareCluster[] = []
  try {
    for (const _ of COUNTS) ones.push(await startCares(1, place))
    const sessions = new Map<CareCluster, readonly string[]>()
    for (const cluster of [...clusters.values(), ...ones]) {
      await cluster.loads[0]?.write('the first')
      sessions.set(cluster, (await cluster.loads[0]?.openSessions(SESSIONS)) ?? [])
    }
    const measure = (cluster: CareCluster) => measureRequests(cluster, sessions.get(cluster) ?? [])
    return {
      equal: await takeTurns(clusters, measure),
      apart: await takeTurnsApart(ones, measure),
    }
  } finally {
    await stopCares(ones)
  }
}

async function measureCare(place: Place): Promise<readonly Figure[]> {
  const clusters = new Map<Count, CareCluster>()
  try {
    for (const count of COUNTS) clusters.set(count, await startCares(count, place))
    const requests = await takeRequests(clusters, place)
    const heard = await takeTold(clusters, { countAt: () => HEARING, writes: HEARD })
    const hearings = await takeTold(clusters, { countAt: (count) => STREAMS * count, writes: TOLD })
    return [
      ...compareRequests('acknowledged writes', requests, ({ writes }) => writes),
      ...compareRequests('reads over MCP', requests, ({ reads }) => reads),
      ...compareCpu(
        'notifications',
        medianAt(hearings, ({ load }) => load.cpuMicros),
      ),
      ...heardFigures(heard),
    ]
  } finally {
    await stopCares(clusters.values())
  }
}

type GradingCluster = Machine & { readonly facts: PaymentNetworkFacts }

async function startGradings(
  count: Count,
  {
    databaseFolder,
    facts,
    folder,
    network,
    server,
  }: Place & Pick<GradingCluster, 'facts' | 'network'>,
): Promise<GradingCluster> {
  const database = await server.database()
  await migratePostgresStore(POSTGRES_LEDGER, { url: database.owner, pause })
  const databaseUrl = database.as('grading_app')
  const store = await openPostgresGradingStore({
    url: databaseUrl,
    pause,
    databasePath: newFile({ folder }),
    checkpointSeed: new Uint8Array(32).fill(7),
    origin: 'localhost/ledger',
  })
  await fill({ store })
  await store.close()
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const environment = gradingEnvironment(facts, {
        DATABASE_PATH: newFile({ folder }),
        DATABASE_URL: databaseUrl,
      })
      return ServerProcess.start('grading-server.ts', [JSON.stringify(environment)])
    }),
  )
  return { servers, databaseFolder, network, facts }
}

/** Of another pick each: they differ in their odds. */
const gradeBody = (at: number): string =>
  JSON.stringify({
    pick: { ...gradeExample.pick, odds: ((FIRST_ODDS + at) / 100).toFixed(2), confirmed: true },
  })

let signed = 0

/** Grades, each of another pick, paid ahead by payers of each process's own. */
async function measureGrades(cluster: GradingCluster): Promise<Load> {
  const { facts, servers } = cluster
  const url = new URL('/api/grade', servers[0]?.url)
  const headers = { 'content-type': 'application/json' }
  const challenge = await fetch(url, { method: 'POST', headers, body: gradeBody(0) })
  const offer = (await challenge.json()) as PaymentRequired
  const requests = await Promise.all(
    servers.map((server, at) =>
      Promise.all(
        Array.from({ length: GRADES }, async (_, index) => {
          const key = facts.evmPayerKeys[at * LANES + (index % LANES)] ?? ''
          const body = gradeBody((signed += 1))
          const header = await signDollars(offer, key)
          return postRequest(new URL(url.pathname, server.url), body, {
            'payment-signature': header,
          })
        }),
      ),
    ),
  )
  const run = (server: ServerProcess, at: number) =>
    runLanes({
      url: server.url,
      lanes: LANES,
      count: GRADES,
      status: 200,
      request: (index) => requests[at]?.[index] ?? Buffer.of(),
    })
  return measureLoad(cluster, GRADES * servers.length, () => Promise.all(servers.map(run)))
}

async function measureGrading(place: Place): Promise<readonly Figure[]> {
  const network = await ServerProcess.start('instant-network-server.ts', [String(3 * LANES)])
  const facts = JSON.parse(network.details) as PaymentNetworkFacts
  const clusters = new Map<Count, GradingCluster>()
  const ones: GradingCluster[] = []
  const start = (count: Count) => startGradings(count, { ...place, network, facts })
  try {
    for (const count of COUNTS) clusters.set(count, await start(count))
    for (const _ of COUNTS) ones.push(await start(1))
    const grades = {
      equal: await takeTurns(clusters, measureGrades),
      apart: await takeTurnsApart(ones, measureGrades),
    }
    return compareRequests('paid grades', grades, (load) => load)
  } finally {
    for (const { servers } of [...clusters.values(), ...ones])
      for (const server of servers) await server.stop()
    await network.stop()
  }
}

/** Needs Debian's PostgreSQL, or that of PG_BIN; a server that waits for the disk. */
export async function measureProcesses(): Promise<readonly Figure[]> {
  if (ownPostgresMissing !== undefined) throw new Error(ownPostgresMissing)
  using folder = temporaryFolder()
  const server = startPostgres({ isDurable: true, isOwn: true })
  const { socketFolder: databaseFolder = '' } = server
  try {
    const place = { folder, server, databaseFolder }
    return [...(await measureCare(place)), ...(await measureGrading(place))]
  } finally {
    server.end()
  }
}

// What equal processes over one PostgreSQL cost beside one alone: writes, reads and notifications of care, and paid grades, a
// second and in CPU of all of them; and how soon one hears what another acknowledged. Each process has clients of its own, so that
// three have three times those of one.
import { setTimeout as pauseFor } from 'node:timers/promises'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import { postgresMissing, startPostgres } from '@tallystick/journal-store/postgres-server'
import type { PaymentRequired } from '@x402/core/types'
import { POSTGRES_RECORDS } from '../../../services/care/src/adapters/schemas/postgres-record-database.ts'
import { openPostgresGradingStore } from '../../../services/grading/src/adapters/postgres-grading-store.ts'
import { POSTGRES_LEDGER } from '../../../services/grading/src/adapters/postgres-schema.ts'
import { fill } from '../../../services/grading/src/testing/xlayer.fixture.ts'
import { gradeExample } from '../../../services/grading/src/wire/examples.ts'
import { type Aim, type Figure, judgeFigure } from '../figure.ts'
import { forEachSession, McpLoad } from '../mcp-load.ts'
import { LANES } from '../paid-cost.ts'
import { gradingEnvironment } from '../paid-holds.ts'
import { median, quantileOfBatches } from '../quantile.ts'
import { postRequest, runLanes } from '../raw-load.ts'
import type { PaymentNetworkFacts } from '../server/payment-network-facts.ts'
import { ServerProcess } from '../server-process.ts'
import { signDollars } from '../sign-payments.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const COUNTS = [1, 2, 3] as const
type Count = (typeof COUNTS)[number]
/** The first round warms up. */
const ROUNDS = 4
/** Of each process in one round. */
const [WRITES, READS, GRADES] = [400, 800, 120] as const
/** That reads are made in; and chains that a process's clients write to. */
const SESSIONS = 16
/** Hundredths. */
const FIRST_ODDS = 150
/** Streams over all processes, and the writes in one round that all of them hear. */
const [STREAMS, TOLD] = [300, 10] as const
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

type Servers = readonly ServerProcess[]
type Load = { readonly cpuMicros: number; readonly perSecond: number }

/** What so many requests take, all processes together. */
async function measureLoad(
  servers: Servers,
  requests: number,
  run: () => Promise<unknown>,
): Promise<Load> {
  const readCpu = async (): Promise<number> =>
    (await Promise.all(servers.map((server) => server.figures()))).reduce(
      (sum, { cpuMicros }) => sum + cpuMicros,
      0,
    )
  const [before, startMs] = [await readCpu(), performance.now()]
  await run()
  const wallMs = performance.now() - startMs
  return {
    cpuMicros: ((await readCpu()) - before) / requests,
    perSecond: (requests * 1_000) / wallMs,
  }
}

/** Measures clusters in turn; the rounds of each. */
async function takeTurns<Cluster, Round>(
  clusters: ReadonlyMap<Count, Cluster>,
  measure: (cluster: Cluster) => Promise<Round>,
): Promise<ReadonlyMap<Count, readonly Round[]>> {
  const rounds = new Map<Count, Round[]>(COUNTS.map((count) => [count, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [count, cluster] of clusters) {
      const measured = await measure(cluster)
      if (round > 0) rounds.get(count)?.push(measured)
    }
  return rounds
}

type Rounds<Round> = ReadonlyMap<Count, readonly Round[]>

/** Not a tenth more CPU; and twice the processes serve 1.7 times as much, where the machine has room for them. */
const AIMS: Readonly<Record<Count, Readonly<Record<keyof Load, Aim>>>> = {
  1: { cpuMicros: { kind: 'none' }, perSecond: { kind: 'none' } },
  2: { cpuMicros: { kind: 'ratio', times: 0.91 }, perSecond: { kind: 'ratio', times: 1.7 } },
  3: { cpuMicros: { kind: 'ratio', times: 0.91 }, perSecond: { kind: 'none' } },
}

/** Of two and three processes beside one, as the median of their rounds. */
function compareCounts<Round>(
  what: string,
  rounds: Rounds<Round>,
  pick: (round: Round) => Load,
): readonly Figure[] {
  const valueAt = (count: Count, part: keyof Load): number =>
    median((rounds.get(count) ?? []).map((round) => pick(round)[part]))
  return COUNTS.slice(1).flatMap((count) =>
    (['perSecond', 'cpuMicros'] as const).map((part) =>
      judgeFigure({
        name: `${part === 'cpuMicros' ? 'CPU, each of the ' : ''}${what}, ${count} processes`,
        value: valueAt(count, part),
        unit: part === 'cpuMicros' ? 'µs' : '/s',
        baseline: { name: 'one process', value: valueAt(1, part) },
        higherIsBetter: part === 'perSecond',
        aim: AIMS[count][part],
      }),
    ),
  )
}

type Place = {
  readonly folder: ReturnType<typeof temporaryFolder>
  readonly server: ReturnType<typeof startPostgres>
}

const pause = (ms: number): Promise<void> => pauseFor(ms)

type CareCluster = { readonly servers: Servers; readonly loads: readonly McpLoad[] }

async function startCares(count: Count, { folder, server }: Place): Promise<CareCluster> {
  const database = await server.database()
  await migratePostgresStore(POSTGRES_RECORDS, { url: database.owner, pause })
  const servers = await Promise.all(
    Array.from({ length: count }, (_, at) => {
      const path = folder.file(`care-${count}-${at}`)
      return ServerProcess.start('care-server.ts', [path, database.as('care_app')])
    }),
  )
  return { servers, loads: servers.map(({ url }) => new McpLoad(url)) }
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
  const { loads, servers } = cluster
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
    writes: await measureLoad(servers, WRITES * loads.length, () =>
      askEach(cluster, WRITES, write),
    ),
    reads: await measureLoad(servers, READS * loads.length, () => askEach(cluster, READS, read)),
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
  { loads, servers }: CareCluster,
  told: { readonly streams: readonly McpLoad[]; readonly count: number; readonly writes: number },
): Promise<Told> {
  const due = told.count * FRAMES_PER_WRITE
  let [frames, heardMs] = [0, 0]
  let all = Promise.withResolvers<void>()
  for (const stream of told.streams)
    stream.onPiece = (text) => {
      if (stream === told.streams.at(-1) && heardMs === 0) heardMs = performance.now()
      frames += text.split(FRAME_MARK).length - 1
      if (frames >= due) all.resolve()
    }
  const delaysMs: number[] = []
  const load = await measureLoad(servers, told.writes * due, async () => {
    for (let count = 0; count < told.writes; count += 1) {
      ;[frames, heardMs] = [0, 0]
      all = Promise.withResolvers<void>()
      await loads[0]?.write(`note ${count}`)
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
  size: { readonly count: number; readonly writes: number },
): Promise<Rounds<Told>> {
  const opened = new Map<CareCluster, readonly McpLoad[]>()
  for (const cluster of clusters.values())
    opened.set(cluster, await openStreams(cluster, size.count))
  try {
    return await takeTurns(clusters, (cluster) =>
      measureTold(cluster, { ...size, streams: opened.get(cluster) ?? [] }),
    )
  } finally {
    for (const stream of [...opened.values()].flat()) stream.close()
  }
}

function heardFigures(rounds: Rounds<Told>): readonly Figure[] {
  const delaysAt = (count: Count) => (rounds.get(count) ?? []).flatMap(({ delaysMs }) => delaysMs)
  const quantileAt = (count: Count, share: number): number =>
    quantileOfBatches(delaysAt(count), { batchSize: HEARD, share })
  return HEARD_AIMS.map(([name, share, aimMs]) =>
    judgeFigure({
      name: `acknowledged to heard at another process, ${name}`,
      value: quantileAt(3, share),
      unit: 'ms',
      baseline: { name: 'at the same process, one alone', value: quantileAt(1, share) },
      aim: { kind: 'at-most', value: aimMs },
    }),
  )
}

async function measureCare(place: Place): Promise<readonly Figure[]> {
  const clusters = new Map<Count, CareCluster>()
  try {
    for (const count of COUNTS) clusters.set(count, await startCares(count, place))
    const sessions = new Map<CareCluster, readonly string[]>()
    for (const cluster of clusters.values()) {
      await cluster.loads[0]?.write('the first')
      sessions.set(cluster, (await cluster.loads[0]?.openSessions(SESSIONS)) ?? [])
    }
    const requests = await takeTurns(clusters, (cluster) =>
      measureRequests(cluster, sessions.get(cluster) ?? []),
    )
    const heard = await takeTold(clusters, { count: HEARING, writes: HEARD })
    const told = await takeTold(clusters, { count: STREAMS, writes: TOLD })
    return [
      ...compareCounts('acknowledged writes', requests, ({ writes }) => writes),
      ...compareCounts('reads over MCP', requests, ({ reads }) => reads),
      ...compareCounts('notifications', told, ({ load }) => load).filter(
        ({ unit }) => unit === 'µs',
      ),
      ...heardFigures(heard),
    ]
  } finally {
    for (const { loads, servers } of clusters.values()) {
      for (const load of loads) load.close()
      for (const server of servers) await server.stop()
    }
  }
}

type GradingCluster = { readonly servers: Servers; readonly facts: PaymentNetworkFacts }

async function startGradings(
  count: Count,
  { facts, folder, server }: Place & Pick<GradingCluster, 'facts'>,
): Promise<GradingCluster> {
  const database = await server.database()
  await migratePostgresStore(POSTGRES_LEDGER, { url: database.owner, pause })
  const databaseUrl = database.as('grading_app')
  const store = await openPostgresGradingStore({
    url: databaseUrl,
    pause,
    databasePath: folder.file(`filling-${count}`),
    checkpointSeed: new Uint8Array(32).fill(7),
    origin: 'localhost/ledger',
  })
  await fill({ store })
  await store.close()
  const servers = await Promise.all(
    Array.from({ length: count }, (_, at) => {
      const environment = gradingEnvironment(facts, {
        DATABASE_PATH: folder.file(`grading-${count}-${at}`),
        DATABASE_URL: databaseUrl,
      })
      return ServerProcess.start('grading-server.ts', [JSON.stringify(environment)])
    }),
  )
  return { servers, facts }
}

/** Of another pick each: they differ in their odds. */
const gradeBody = (at: number): string =>
  JSON.stringify({
    pick: { ...gradeExample.pick, odds: ((FIRST_ODDS + at) / 100).toFixed(2), confirmed: true },
  })

let signed = 0

/** Grades, each of another pick, paid ahead by payers of each process's own. */
async function measureGrades({ facts, servers }: GradingCluster): Promise<Load> {
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
  return measureLoad(servers, GRADES * servers.length, () => Promise.all(servers.map(run)))
}

async function measureGrading(place: Place): Promise<readonly Figure[]> {
  const network = await ServerProcess.start('instant-network-server.ts', [String(3 * LANES)])
  const facts = JSON.parse(network.details) as PaymentNetworkFacts
  const clusters = new Map<Count, GradingCluster>()
  try {
    for (const count of COUNTS) clusters.set(count, await startGradings(count, { ...place, facts }))
    return compareCounts('paid grades', await takeTurns(clusters, measureGrades), (load) => load)
  } finally {
    for (const { servers } of clusters.values()) for (const server of servers) await server.stop()
    await network.stop()
  }
}

/** Needs Debian's PostgreSQL, or that of PG_BIN; a server that waits for the disk. */
export async function measureProcesses(): Promise<readonly Figure[]> {
  if (postgresMissing !== undefined) throw new Error(postgresMissing)
  using folder = temporaryFolder()
  const server = startPostgres({ isDurable: true })
  try {
    return [
      ...(await measureCare({ folder, server })),
      ...(await measureGrading({ folder, server })),
    ]
  } finally {
    server.end()
  }
}

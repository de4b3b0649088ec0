// What metering costs inside an open window: calls per second and their latency, beside waiting for one transaction per
// call; what it adds to a call; and how many transactions a call takes, by load.
import { setTimeout as pause } from 'node:timers/promises'
import { type Figure, judgeFigure } from '../figure.ts'
import { control, likeTestnet } from '../ledger-control.ts'
import { type Servers, withBoth } from '../metering-servers.ts'
import { accessPath } from '../payment-network.ts'
import { median, quantile } from '../quantile.ts'
import { getRequest, type LaneTimes, runLanes } from '../raw-load.ts'
import type { ServerProcess } from '../server-process.ts'
import type { FigureValues } from '../suite-result.ts'

const REPEATS = 3
/** Calls under way at once, each by its own agent; the last is the load of the headline figures. */
const LOADS = [1, 8, 32] as const
const HEADLINE_LANES = 32
const CALLS_PER_LANE = 40
const LEAST_CALLS = 120
/** The naive way takes about ten milliseconds per call. */
const NAIVE_CALLS = 96

const agents = Array.from(
  { length: HEADLINE_LANES },
  (_, index): `0x${string}` => `0x${(index + 0xa00).toString(16).padStart(40, '0')}`,
)

/** How far reads, receipts included, lag in the last part: less than on Hedera, where it is three to eight seconds. */
const LAG_MS = 1_000
const LAGGED_CALLS = 5

const RECEIPTS_POLL_MS = 100

type Run = LaneTimes & { readonly perSecond: number; readonly cpuMicros: number }

async function call(
  server: ServerProcess,
  load: {
    readonly lanes: number
    readonly count: number
    readonly path: (agent: string) => string
  },
): Promise<Run> {
  const url = new URL(server.url)
  const requests = agents.map((agent) => getRequest(url, load.path(agent)))
  const before = await server.figures()
  const times = await runLanes({
    url: server.url,
    lanes: load.lanes,
    count: load.count,
    status: 200,
    request: (index) => requests[index % load.lanes] ?? Buffer.of(),
  })
  const { cpuMicros } = await server.figures()
  return {
    ...times,
    perSecond: (load.count * 1000) / times.wallMs,
    cpuMicros: (cpuMicros - before.cpuMicros) / load.count,
  }
}

/** Counts from the service's own metrics, once every call's transaction has its receipt. */
async function recorded(access: ServerProcess): Promise<{ calls: number; transactions: number }> {
  for (;;) {
    const text = await (await fetch(new URL('/metrics', access.url))).text()
    const read = (name: string): number =>
      Number(new RegExp(`^access_usage_${name} (\\d+)$`, 'm').exec(text)?.[1])
    if (read('open_batch_calls') + read('sealed_batches') + read('sent_batches') === 0)
      return { calls: read('accepted_calls_total'), transactions: read('transactions_sent_total') }
    await pause(RECEIPTS_POLL_MS)
  }
}

type Metered = Run & { readonly transactionsPerCall: number }

async function callMetered(access: ServerProcess, lanes: number): Promise<Metered> {
  const before = await recorded(access)
  const count = Math.max(LEAST_CALLS, lanes * CALLS_PER_LANE)
  const run = await call(access, { lanes, count, path: accessPath })
  const after = await recorded(access)
  const transactions = after.transactions - before.transactions
  return { ...run, transactionsPerCall: transactions / (after.calls - before.calls) }
}

type Round = {
  readonly metered: ReadonlyMap<number, Metered>
  readonly inTurn: Run
  readonly overlapping: Run
  readonly unmetered: Run
  readonly oneInTurn: Run
  readonly lagged: { readonly metered: Metered; readonly inTurn: Run }
}

const naivePath =
  (route: string) =>
  (agent: string): string =>
    `/${route}?agent=${agent}`

async function measureRound({ access, ledgerUrl, naive }: Servers): Promise<Round> {
  const metered = new Map<number, Metered>()
  for (const lanes of LOADS) metered.set(lanes, await callMetered(access, lanes))
  const naively = (route: string, load: { lanes: number; count: number }): Promise<Run> =>
    call(naive, { ...load, path: naivePath(route) })
  await control(ledgerUrl, 'setReadLagMs', LAG_MS)
  const lagged = {
    metered: await callMetered(access, HEADLINE_LANES),
    inTurn: await naively('in-turn', { lanes: LAGGED_CALLS, count: LAGGED_CALLS }),
  }
  await control(ledgerUrl, 'setReadLagMs', 0)
  return {
    lagged,
    metered,
    unmetered: await naively('unmetered', { lanes: 1, count: LEAST_CALLS }),
    oneInTurn: await naively('in-turn', { lanes: 1, count: NAIVE_CALLS }),
    inTurn: await naively('in-turn', { lanes: HEADLINE_LANES, count: NAIVE_CALLS }),
    overlapping: await naively('overlapping', { lanes: HEADLINE_LANES, count: NAIVE_CALLS }),
  }
}

const p50 = (run: Run): number => median(run.delaysMs)

const HEADLINE = `${HEADLINE_LANES} agents at once`

const NAMES = {
  perSecond: `metered calls, ${HEADLINE}`,
  lagged: `metered calls, ${HEADLINE}, reads that lag ${LAG_MS / 1000} s`,
  delay: (name: string): string => `metered call, ${HEADLINE}, ${name}`,
  added: 'added by metering to the read of a window, one agent, p50',
  cpu: 'metered call, CPU of the server',
  transactions: (lanes: number): string => `transactions per call, ${lanes} at once`,
}

function laggedFigure(rounds: readonly Round[]): Figure {
  const perSecond = (pick: (lagged: Round['lagged']) => Run): number =>
    median(rounds.map(({ lagged }) => pick(lagged).perSecond))
  return judgeFigure({
    name: NAMES.lagged,
    value: perSecond(({ metered }) => metered),
    unit: '/s',
    baseline: { name: 'a transaction each, in turn', value: perSecond(({ inTurn }) => inTurn) },
    higherIsBetter: true,
    aim: { kind: 'ratio', times: 20 },
  })
}

function readFigures(rounds: readonly Round[]): readonly Figure[] {
  const medianOver = (pick: (round: Round) => number): number => median(rounds.map(pick))
  const at = (lanes: number, pick: (run: Metered) => number): number =>
    medianOver(({ metered }) => {
      const run = metered.get(lanes)
      if (run === undefined) throw new Error(`nothing was measured with ${lanes} lanes`)
      return pick(run)
    })
  const perSecond = (base: 'inTurn' | 'overlapping', name: string, times?: number): Figure =>
    judgeFigure({
      name: NAMES.perSecond,
      value: at(HEADLINE_LANES, (run) => run.perSecond),
      unit: '/s',
      baseline: { name, value: medianOver((round) => round[base].perSecond) },
      higherIsBetter: true,
      aim: times === undefined ? { kind: 'none' } : { kind: 'ratio', times },
    })
  const delay = (share: number, name: string, aimMs?: number): Figure =>
    judgeFigure({
      name: NAMES.delay(name),
      value: at(HEADLINE_LANES, (run) => quantile(run.delaysMs, share)),
      unit: 'ms',
      baseline: {
        name: 'a transaction each, in turn',
        value: medianOver(({ inTurn }) => quantile(inTurn.delaysMs, share)),
      },
      aim: aimMs === undefined ? { kind: 'none' } : { kind: 'at-most', value: aimMs },
    })
  const readAloneMs = medianOver(({ unmetered }) => p50(unmetered))
  return [
    perSecond('inTurn', 'a transaction each, in turn', 20),
    perSecond('overlapping', 'a transaction each, overlapping'),
    laggedFigure(rounds),
    delay(0.5, 'p50'),
    delay(0.99, 'p99', 60),
    judgeFigure({
      name: NAMES.added,
      value: at(1, p50) - readAloneMs,
      unit: 'ms',
      baseline: {
        name: 'a transaction each, in turn',
        value: medianOver(({ oneInTurn }) => p50(oneInTurn)) - readAloneMs,
      },
      aim: { kind: 'at-most', value: 10 },
    }),
    judgeFigure({
      name: NAMES.cpu,
      value: at(HEADLINE_LANES, (run) => run.cpuMicros),
      unit: 'µs',
      baseline: {
        name: 'a transaction each, in turn',
        value: medianOver(({ inTurn }) => inTurn.cpuMicros),
      },
      aim: { kind: 'none' },
    }),
    ...LOADS.map((lanes) =>
      judgeFigure({
        name: NAMES.transactions(lanes),
        value: at(lanes, (run) => run.transactionsPerCall),
        unit: 'transactions',
        baseline: { name: 'a transaction each', value: 1 },
        aim: { kind: 'at-most', value: 1 },
      }),
    ),
  ]
}

/** Calls inside open windows. */
export function measureAccessMetering(): Promise<readonly Figure[]> {
  return withBoth(agents, async (servers) => {
    const rounds: Round[] = []
    for (let round = 0; round <= REPEATS; round += 1) {
      const measured = await measureRound(servers)
      // The first round warms up.
      if (round > 0) rounds.push(measured)
    }
    return readFigures(rounds)
  })
}

/** The service alone: a transaction each, waited for, would take minutes. */
export function accessMeteringLikeTestnet(): Promise<FigureValues> {
  return withBoth(agents, async ({ access, ledgerUrl, naive }) => {
    // Warms up.
    await callMetered(access, HEADLINE_LANES)
    return await likeTestnet(ledgerUrl, async () => {
      const metered = new Map<number, Metered>()
      for (const lanes of LOADS) metered.set(lanes, await callMetered(access, lanes))
      const [alone, many] = [metered.get(1), metered.get(HEADLINE_LANES)]
      if (alone === undefined || many === undefined) throw new Error('a load was not measured')
      const unmetered = await call(naive, {
        lanes: 1,
        count: LEAST_CALLS,
        path: naivePath('unmetered'),
      })
      return {
        [NAMES.perSecond]: many.perSecond,
        [NAMES.lagged]: many.perSecond,
        [NAMES.delay('p50')]: p50(many),
        [NAMES.delay('p99')]: quantile(many.delaysMs, 0.99),
        [NAMES.added]: p50(alone) - p50(unmetered),
        [NAMES.cpu]: many.cpuMicros,
        ...Object.fromEntries(
          [...metered].map(([lanes, run]) => [NAMES.transactions(lanes), run.transactionsPerCall]),
        ),
      }
    })
  })
}

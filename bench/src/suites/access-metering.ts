// What metering costs inside an open window: calls per second and their latency, beside waiting for one transaction per
// call; what it adds to a call; and how many transactions a call takes, by load.
import { type Figure, judgeFigure } from '../figure.ts'
import { openWindows } from '../open-windows.ts'
import {
  accessPath,
  deployAccess,
  HEDERA_CHAIN_ID,
  inPaymentNetwork,
  type PaymentNetwork,
  startAccess,
  TINYBAR_PER_HBAR,
} from '../payment-network.ts'
import { median, quantile } from '../quantile.ts'
import { getRequest, type LaneTimes, runLanes } from '../raw-load.ts'
import type { NaivePlan } from '../server/access-naive.ts'
import { ServerProcess } from '../server-process.ts'

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

type Servers = {
  readonly access: ServerProcess
  readonly naive: ServerProcess
  readonly ledgerUrl: string
}

/** Starts both over one contract with open windows and room for every call. */
async function startBoth(network: PaymentNetwork): Promise<Servers> {
  const { facts } = network
  const [second] = facts.hederaPayers
  if (second === undefined) throw new Error('the network has no payers')
  const { contract } = await deployAccess(network, {
    offer: { periodSeconds: 3_600, callsAllowed: 1_000_000 },
    recorders: [facts.recorder.evmAddress, second.evmAddress],
  })
  const { ledgerUrl } = facts
  await openWindows({
    ledgerUrl,
    contract,
    agents,
    payerKey: facts.owner.privateKey,
    valueTinybar: 12n * TINYBAR_PER_HBAR,
  })
  const recorderKey = second.privateKey
  const plan: NaivePlan = {
    ledgerUrl,
    contract,
    recorderKey,
    chainId: HEDERA_CHAIN_ID,
  }
  return {
    ledgerUrl,
    access: await startAccess(network, contract),
    naive: await ServerProcess.start('access-naive.ts', [JSON.stringify(plan)]),
  }
}

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

/** Counts from the service's own metrics. */
async function recorded(access: ServerProcess): Promise<{ calls: number; transactions: number }> {
  const text = await (await fetch(new URL('/metrics', access.url))).text()
  const read = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  return {
    calls: read('access_usage_accepted_calls_total'),
    transactions: read('access_usage_transactions_sent_total'),
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

async function setReadLag(ledgerUrl: string, ms: number): Promise<void> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'devnet_setReadLagMs',
    params: [ms],
  })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(ledgerUrl, { method: 'POST', headers, body })
  if ('error' in ((await answer.json()) as object)) throw new Error('the lag was not set')
}

async function measureRound({ access, ledgerUrl, naive }: Servers): Promise<Round> {
  const metered = new Map<number, Metered>()
  for (const lanes of LOADS) metered.set(lanes, await callMetered(access, lanes))
  const naively = (route: string, load: { lanes: number; count: number }): Promise<Run> =>
    call(naive, { ...load, path: (agent) => `/${route}?agent=${agent}` })
  await setReadLag(ledgerUrl, LAG_MS)
  const lagged = {
    metered: await callMetered(access, HEADLINE_LANES),
    inTurn: await naively('in-turn', { lanes: LAGGED_CALLS, count: LAGGED_CALLS }),
  }
  await setReadLag(ledgerUrl, 0)
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

function laggedFigure(rounds: readonly Round[]): Figure {
  const perSecond = (pick: (lagged: Round['lagged']) => Run): number =>
    median(rounds.map(({ lagged }) => pick(lagged).perSecond))
  return judgeFigure({
    name: `metered calls, ${HEADLINE}, reads that lag ${LAG_MS / 1000} s`,
    value: perSecond(({ metered }) => metered),
    unit: '/s',
    baseline: { name: 'a transaction each, in turn', value: perSecond(({ inTurn }) => inTurn) },
    higherIsBetter: true,
    aim: { kind: 'ratio', times: 20 },
  })
}

function figuresOf(rounds: readonly Round[]): readonly Figure[] {
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick))
  const at = (lanes: number, pick: (run: Metered) => number): number =>
    of(({ metered }) => {
      const run = metered.get(lanes)
      if (run === undefined) throw new Error(`nothing was measured with ${lanes} lanes`)
      return pick(run)
    })
  const perSecond = (base: 'inTurn' | 'overlapping', name: string, times?: number): Figure =>
    judgeFigure({
      name: `metered calls, ${HEADLINE}`,
      value: at(HEADLINE_LANES, (run) => run.perSecond),
      unit: '/s',
      baseline: { name, value: of((round) => round[base].perSecond) },
      higherIsBetter: true,
      aim: times === undefined ? { kind: 'none' } : { kind: 'ratio', times },
    })
  const delay = (share: number, name: string, aimMs?: number): Figure =>
    judgeFigure({
      name: `metered call, ${HEADLINE}, ${name}`,
      value: at(HEADLINE_LANES, (run) => quantile(run.delaysMs, share)),
      unit: 'ms',
      baseline: {
        name: 'a transaction each, in turn',
        value: of(({ inTurn }) => quantile(inTurn.delaysMs, share)),
      },
      aim: aimMs === undefined ? { kind: 'none' } : { kind: 'at-most', value: aimMs },
    })
  const readAloneMs = of(({ unmetered }) => p50(unmetered))
  return [
    perSecond('inTurn', 'a transaction each, in turn', 20),
    perSecond('overlapping', 'a transaction each, overlapping'),
    laggedFigure(rounds),
    delay(0.5, 'p50'),
    delay(0.99, 'p99', 60),
    judgeFigure({
      name: 'added by metering to the read of a window, one agent, p50',
      value: at(1, p50) - readAloneMs,
      unit: 'ms',
      baseline: {
        name: 'a transaction each, in turn',
        value: of(({ oneInTurn }) => p50(oneInTurn)) - readAloneMs,
      },
      aim: { kind: 'at-most', value: 10 },
    }),
    judgeFigure({
      name: 'metered call, CPU of the server',
      value: at(HEADLINE_LANES, (run) => run.cpuMicros),
      unit: 'µs',
      baseline: {
        name: 'a transaction each, in turn',
        value: of(({ inTurn }) => inTurn.cpuMicros),
      },
      aim: { kind: 'none' },
    }),
    ...LOADS.map((lanes) =>
      judgeFigure({
        name: `transactions per call, ${lanes} at once`,
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
  return inPaymentNetwork(1, async (network) => {
    const servers = await startBoth(network)
    try {
      const rounds: Round[] = []
      for (let round = 0; round <= REPEATS; round += 1) {
        const measured = await measureRound(servers)
        // The first round warms up.
        if (round > 0) rounds.push(measured)
      }
      return figuresOf(rounds)
    } finally {
      await servers.access.stop()
      await servers.naive.stop()
    }
  })
}

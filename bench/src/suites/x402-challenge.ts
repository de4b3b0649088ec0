// What a 402 costs on a route that reads no chain: our gate beside the bare application under it and beside
// @x402/express, plus `/access`, which does read one. Every server runs in its own process under the same lanes.
import { type Aim, type Figure, judgeFigure } from '../figure.ts'
import { likeTestnet } from '../ledger-control.ts'
import {
  accessPath,
  deployOffer,
  inPaymentNetwork,
  startAccess,
  startPaidServer,
} from '../payment-network.ts'
import { median } from '../quantile.ts'
import { getRequest, runLanes } from '../raw-load.ts'
import type { ServerProcess } from '../server-process.ts'
import type { FigureValues } from '../suite-result.ts'

const LANES = 16
const REPEATS = 7
const STRANGER = `0x${'22'.repeat(20)}`

type Target = {
  readonly server: ServerProcess
  readonly path: string
  readonly status: number
  /** Requests in one measurement; the same number warms up once before. */
  readonly count: number
}

type Cost = { readonly cpuMicros: number; readonly perSecond: number }

async function measure({ count, path, server, status }: Target): Promise<Cost> {
  const request = getRequest(new URL(server.url), path)
  let wallMs = 0
  const cpuMicros = await server.readCpuMicros(async () => {
    const times = await runLanes({
      url: server.url,
      lanes: LANES,
      count,
      status,
      request: () => request,
    })
    wallMs = times.wallMs
  })
  return { cpuMicros: cpuMicros / count, perSecond: (count * 1000) / wallMs }
}

/** The costs of every target, measured alternately, so that other load on the machine affects all alike. */
async function measureTurnAbout<Name extends string>(
  targets: Readonly<Record<Name, Target>>,
): Promise<Record<Name, Cost>> {
  const names = Object.keys(targets) as Name[]
  const rounds: Record<Name, Cost>[] = []
  for (let round = 0; round <= REPEATS; round += 1) {
    const costs = {} as Record<Name, Cost>
    for (const name of names) costs[name] = await measure(targets[name])
    // The first round warms up.
    if (round > 0) rounds.push(costs)
  }
  const middle = (name: Name): Cost => ({
    cpuMicros: median(rounds.map((costs) => costs[name].cpuMicros)),
    perSecond: median(rounds.map((costs) => costs[name].perSecond)),
  })
  return Object.fromEntries(names.map((name) => [name, middle(name)])) as Record<Name, Cost>
}

type Compared = { readonly name: string; readonly ours: Cost; readonly aim: Aim }

const ACCESS = '402 of /access, with its chain read'

const NAMES = {
  cpu: (name: string): string => `${name}, CPU of the server`,
  wall: (name: string): string => `${name}, wall`,
}

/** The CPU of a request, and requests a second, against one baseline. */
function compare(compared: Compared, baselineName: string, base: Cost): readonly Figure[] {
  const { aim, name, ours } = compared
  return [
    judgeFigure({
      name: NAMES.cpu(name),
      value: ours.cpuMicros,
      unit: 'µs',
      baseline: { name: baselineName, value: base.cpuMicros },
      aim,
    }),
    judgeFigure({
      name: NAMES.wall(name),
      value: ours.perSecond,
      unit: '/s',
      baseline: { name: baselineName, value: base.perSecond },
      higherIsBetter: true,
      aim,
    }),
  ]
}

const readChallenge = (server: ServerProcess): Target => ({
  server,
  path: accessPath(STRANGER),
  status: 402,
  count: 500,
})

/** The 402 of `/access` alone: no other server reads the chain. */
export function challengeLikeTestnet(): Promise<FigureValues> {
  return inPaymentNetwork(0, async (network) => {
    const access = await startAccess(network, await deployOffer(network))
    try {
      const { cost } = await likeTestnet(network.facts.ledgerUrl, () =>
        measureTurnAbout({ cost: readChallenge(access) }),
      )
      return { [NAMES.cpu(ACCESS)]: cost.cpuMicros, [NAMES.wall(ACCESS)]: cost.perSecond }
    } finally {
      await access.stop()
    }
  })
}

/** The 402 of a plain route, of `/access`, and of @x402/express. */
export function measureX402Challenge(): Promise<readonly Figure[]> {
  return inPaymentNetwork(0, async (network) => {
    const contract = await deployOffer(network)
    const servers = [
      await startPaidServer(network, 'ours'),
      await startPaidServer(network, 'express'),
      await startAccess(network, contract),
    ] as const
    const [ours, express, access] = servers
    try {
      const costs = await measureTurnAbout({
        bare: { server: ours, path: '/bare', status: 200, count: 10_000 },
        bare402: { server: ours, path: '/bare-402', status: 402, count: 10_000 },
        gate: { server: ours, path: '/paid', status: 402, count: 10_000 },
        expressBare: { server: express, path: '/bare', status: 200, count: 4_000 },
        express: { server: express, path: '/paid', status: 402, count: 4_000 },
        access: readChallenge(access),
      })
      const gate = { name: '402 of a plain route', ours: costs.gate }
      const none = { kind: 'none' } as const
      return [
        ...compare({ ...gate, aim: { kind: 'ratio', times: 0.85 } }, 'bare Fastify', costs.bare),
        ...compare({ ...gate, aim: none }, 'the same bytes from bare Fastify', costs.bare402),
        ...compare({ ...gate, aim: none }, '@x402/express', costs.express),
        ...compare(
          { name: 'bare Express', ours: costs.expressBare, aim: none },
          'bare Fastify',
          costs.bare,
        ),
        ...compare({ name: ACCESS, ours: costs.access, aim: none }, '@x402/express', costs.express),
      ]
    } finally {
      for (const server of servers) await server.stop()
    }
  })
}

// What a paid call costs on a plain route: our gate beside @x402/express at the same facilitator and chain, plus
// `/access`, which forwards the payment into its contract. The facilitator and the chains run in a separate process.
import { randomBytes } from 'node:crypto'
import { type Aim, type Figure, judgeFigure } from '../figure.ts'
import {
  accessPath,
  deployAccess,
  inPaymentNetwork,
  type PaymentNetwork,
  startAccess,
  startPaidServer,
} from '../payment-network.ts'
import { median } from '../quantile.ts'
import { getRequest, runLanes } from '../raw-load.ts'
import type { ServerProcess } from '../server-process.ts'
import { readOffer, signDollars, signHbar } from '../sign-payments.ts'

/** Payments under way at once; each lane has its own payer, because an agent pays for one call at a time. */
const LANES = 8
const CALLS = 120
/** One at a time, for the wait of a single caller. */
const SINGLE_CALLS = 20
const REPEATS = 3

type Cost = {
  readonly cpuMicros: number
  readonly perSecond: number
  readonly singleMs: number
}

/** Makes this many paid requests. */
type Sign = (server: ServerProcess, count: number) => Promise<readonly Buffer[]>

const dollarsOf =
  ({ facts }: PaymentNetwork): Sign =>
  async (server, count) => {
    const url = new URL('/paid', server.url)
    const offer = await readOffer(url)
    const keys = facts.evmPayerKeys
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const key = keys[index % keys.length] ?? ''
        const header = await signDollars(offer, key)
        return getRequest(url, '/paid', { 'payment-signature': header })
      }),
    )
  }

/** Purchases, each for a new agent. */
const purchasesOf =
  ({ facts }: PaymentNetwork): Sign =>
  async (server, count) =>
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const agent = `0x${randomBytes(20).toString('hex')}`
        const path = accessPath(agent)
        const url = new URL(path, server.url)
        const payer = facts.hederaPayers[index % facts.hederaPayers.length]
        if (payer === undefined) throw new Error('the network has no payers')
        const header = await signHbar(await readOffer(url), { agent, payer })
        return getRequest(url, path, { 'payment-signature': header })
      }),
    )

async function measure(server: ServerProcess, sign: Sign): Promise<Cost> {
  const run = async (count: number, lanes: number) => {
    const requests = await sign(server, count)
    const request = (index: number): Buffer => requests[index] ?? Buffer.of()
    const load = { url: server.url, lanes, count, status: 200, request }
    const before = await server.figures()
    const times = await runLanes(load)
    const after = await server.figures()
    return { ...times, cpuMicros: after.cpuMicros - before.cpuMicros }
  }
  const single = await run(SINGLE_CALLS, 1)
  const many = await run(CALLS, LANES)
  return {
    cpuMicros: many.cpuMicros / CALLS,
    perSecond: (CALLS * 1000) / many.wallMs,
    singleMs: median(single.delaysMs),
  }
}

type Target = { readonly server: ServerProcess; readonly sign: Sign }

async function measureTurnAbout<Name extends string>(
  targets: Readonly<Record<Name, Target>>,
): Promise<Record<Name, Cost>> {
  const names = Object.keys(targets) as Name[]
  const rounds: Record<Name, Cost>[] = []
  for (let round = 0; round <= REPEATS; round += 1) {
    const costs = {} as Record<Name, Cost>
    for (const name of names) costs[name] = await measure(targets[name].server, targets[name].sign)
    // The first round warms up.
    if (round > 0) rounds.push(costs)
  }
  const middle = (name: Name, part: keyof Cost): number =>
    median(rounds.map((costs) => costs[name][part]))
  const costOf = (name: Name): Cost => ({
    cpuMicros: middle(name, 'cpuMicros'),
    perSecond: middle(name, 'perSecond'),
    singleMs: middle(name, 'singleMs'),
  })
  return Object.fromEntries(names.map((name) => [name, costOf(name)])) as Record<Name, Cost>
}

type Compared = { readonly name: string; readonly ours: Cost; readonly aim: Aim }

function compare({ aim, name, ours }: Compared, baseName: string, base: Cost): readonly Figure[] {
  const figure = (what: string, unit: string, part: keyof Cost): Figure =>
    judgeFigure({
      name: `${name}, ${what}`,
      value: ours[part],
      unit,
      baseline: { name: baseName, value: base[part] },
      higherIsBetter: part === 'perSecond',
      aim,
    })
  return [
    figure('CPU of the server', 'µs', 'cpuMicros'),
    figure(`${LANES} payers at once`, '/s', 'perSecond'),
    figure('one payer, p50', 'ms', 'singleMs'),
  ]
}

/** A paid call of a plain route, and of `/access`, against @x402/express. */
export function measureX402Paid(): Promise<readonly Figure[]> {
  return inPaymentNetwork(LANES, async (network) => {
    const { contract } = await deployAccess(network, {
      offer: { periodSeconds: 3_600, callsAllowed: 1_000 },
      recorders: [network.facts.recorder.evmAddress],
    })
    const servers = [
      await startPaidServer(network, 'ours'),
      await startPaidServer(network, 'express'),
      await startPaidServer(network, 'express-upfront'),
      await startAccess(network, contract),
    ] as const
    const [ours, express, upfront, access] = servers
    const dollars = dollarsOf(network)
    try {
      const costs = await measureTurnAbout({
        ours: { server: ours, sign: dollars },
        express: { server: express, sign: dollars },
        upfront: { server: upfront, sign: dollars },
        access: { server: access, sign: purchasesOf(network) },
      })
      const plain = { name: 'paid call of a plain route', ours: costs.ours }
      const none = { kind: 'none' } as const
      return [
        ...compare({ ...plain, aim: { kind: 'ratio', times: 3 } }, '@x402/express', costs.express),
        ...compare({ ...plain, aim: none }, '@x402/express, upfront', costs.upfront),
        ...compare(
          { name: 'paid call of /access, HBAR', ours: costs.access, aim: none },
          '@x402/express',
          costs.express,
        ),
      ]
    } finally {
      for (const server of servers) await server.stop()
    }
  })
}

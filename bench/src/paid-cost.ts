// What a paid call costs: payments signed ahead, sent over lanes to servers in turn, and compared with a base.
import { type Aim, type Figure, judgeFigure } from './figure.ts'
import { median } from './quantile.ts'
import { getRequest, runLanes } from './raw-load.ts'
import type { ServerProcess } from './server-process.ts'
import { readOffer, signDollars } from './sign-payments.ts'

/** Payments under way at once; each lane has its own payer, because an agent pays for one call at a time. */
export const LANES = 8
/** One at a time, for the wait of a single caller. */
const SINGLE_CALLS = 20
const REPEATS = 3

type Cost = {
  readonly cpuMicros: number
  readonly perSecond: number
  readonly singleMs: number
}

/** Makes this many paid requests. */
export type Sign = (server: ServerProcess, count: number) => Promise<readonly Buffer[]>

/** Payments of a cent on the plain route. */
export const toDollars =
  (keys: readonly string[]): Sign =>
  async (server, count) => {
    const url = new URL('/paid', server.url)
    const offer = await readOffer(url)
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const key = keys[index % keys.length] ?? ''
        const header = await signDollars(offer, key)
        return getRequest(url, '/paid', { 'payment-signature': header })
      }),
    )
  }

/** One round: `single` calls one after another, `calls` over the lanes. */
export async function measurePaid(
  { server, sign }: Target,
  plan: {
    readonly calls: number
    readonly single: number
    /** A payment whose fate is not known yet: it is sent again. */
    readonly resentStatus?: number
  },
): Promise<Cost> {
  const { calls, resentStatus = 0 } = plan
  const run = async (count: number, lanes: number) => {
    const requests = await sign(server, count)
    const request = (index: number): Buffer => requests[index] ?? Buffer.of()
    const load = { url: server.url, lanes, count, status: 200, resentStatus, request }
    const before = await server.figures()
    const times = await runLanes(load)
    const after = await server.figures()
    return { ...times, cpuMicros: after.cpuMicros - before.cpuMicros }
  }
  const single = await run(plan.single, 1)
  const many = await run(calls, LANES)
  return {
    cpuMicros: many.cpuMicros / calls,
    perSecond: (calls * 1000) / many.wallMs,
    singleMs: median(single.delaysMs),
  }
}

type Target = { readonly server: ServerProcess; readonly sign: Sign }

/** Measures each server in turn, several rounds; each payment is made once. */
export async function measureTurnAbout<Name extends string>(
  targets: Readonly<Record<Name, Target>>,
  calls: number,
): Promise<Record<Name, Cost>> {
  const names = Object.keys(targets) as Name[]
  const rounds: Record<Name, Cost>[] = []
  for (let round = 0; round <= REPEATS; round += 1) {
    const costs = {} as Record<Name, Cost>
    for (const name of names)
      costs[name] = await measurePaid(targets[name], { calls, single: SINGLE_CALLS })
    // The first round warms up.
    if (round > 0) rounds.push(costs)
  }
  const middle = (name: Name, part: keyof Cost): number =>
    median(rounds.map((costs) => costs[name][part]))
  const measureCost = (name: Name): Cost => ({
    cpuMicros: middle(name, 'cpuMicros'),
    perSecond: middle(name, 'perSecond'),
    singleMs: middle(name, 'singleMs'),
  })
  return Object.fromEntries(names.map((name) => [name, measureCost(name)])) as Record<Name, Cost>
}

const PARTS: Readonly<Record<keyof Cost, string>> = {
  cpuMicros: 'CPU of the server',
  perSecond: `${LANES} payers at once`,
  singleMs: 'one payer, p50',
}

/** A figure's name. */
export const paidName = (name: string, part: keyof Cost): string => `${name}, ${PARTS[part]}`

type Compared = { readonly name: string; readonly ours: Cost; readonly aim: Aim }

/** The figures of one server beside another's. */
export function compare(
  { aim, name, ours }: Compared,
  baseName: string,
  base: Cost,
): readonly Figure[] {
  const figure = (unit: string, part: keyof Cost): Figure =>
    judgeFigure({
      name: paidName(name, part),
      value: ours[part],
      unit,
      baseline: { name: baseName, value: base[part] },
      higherIsBetter: part === 'perSecond',
      aim,
    })
  return [figure('µs', 'cpuMicros'), figure('/s', 'perSecond'), figure('ms', 'singleMs')]
}

// Clusters of one, two and three equal processes, measured in turn and compared.
import { type Figure, judgeFigure } from './figure.ts'
import type { Load } from './measure-load.ts'
import { median } from './quantile.ts'

export const COUNTS = [1, 2, 3] as const
export type Count = (typeof COUNTS)[number]
/** The first rounds warm up: what a process has compiled by then depends on what it has served. */
const [ROUNDS, WARM_ROUNDS] = [7, 2] as const

/** Measures clusters in turn; the rounds of each. */
export async function takeTurns<Cluster, Round>(
  clusters: ReadonlyMap<Count, Cluster>,
  measure: (cluster: Cluster) => Promise<Round>,
): Promise<ReadonlyMap<Count, readonly Round[]>> {
  const rounds = new Map<Count, Round[]>(COUNTS.map((count) => [count, []]))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [count, cluster] of clusters) {
      const measured = await measure(cluster)
      if (round >= WARM_ROUNDS) rounds.get(count)?.push(measured)
    }
  return rounds
}

/** Measures as many clusters of one at once, which share nothing but the machine; the rounds of all of them. */
export async function takeTurnsApart<Cluster, Round>(
  ones: readonly Cluster[],
  measure: (cluster: Cluster) => Promise<Round>,
): Promise<ReadonlyMap<Count, readonly Round[]>> {
  const clusters = new Map(COUNTS.map((count) => [count, ones.slice(0, count)]))
  const rounds = await takeTurns(clusters, (some) => Promise.all(some.map(measure)))
  return new Map([...rounds].map(([count, measured]) => [count, measured.flat()]))
}

export type Rounds<Round> = ReadonlyMap<Count, readonly Round[]>

export const medianAt =
  <Round>(rounds: Rounds<Round>, pick: (round: Round) => number) =>
  (count: Count): number =>
    median((rounds.get(count) ?? []).map(pick))

type CpuBaseline = { readonly name: string; readonly at: (count: Count) => number }

/** Not a tenth more CPU for each. */
export function compareCpu(
  what: string,
  cpuAt: (count: Count) => number,
  baseline: CpuBaseline = { name: 'one process', at: () => cpuAt(1) },
): readonly Figure[] {
  return COUNTS.slice(1).map((count) =>
    judgeFigure({
      name: `CPU, each of the ${what}, ${count} processes`,
      value: cpuAt(count),
      unit: 'µs',
      baseline: { name: baseline.name, value: baseline.at(count) },
      aim: { kind: 'ratio', times: 0.91 },
    }),
  )
}

/** Rounds of equal processes over one database, and of as many at once that share nothing. */
export type Compared<Round> = { readonly equal: Rounds<Round>; readonly apart: Rounds<Round> }

/**
 * What two processes serve with a core for each, by their CPU, must be 1.7 times what one does; what they serve here is told. More
 * busy processes than cores make each request dearer whatever they share, so its CPU is compared with that of as many that
 * share nothing.
 */
export function compareRequests<Round>(
  what: string,
  { apart, equal }: Compared<Round>,
  pick: (round: Round) => Load,
): readonly Figure[] {
  const at = (part: keyof Load) => medianAt(equal, (round) => pick(round)[part])
  const apartAt = medianAt(apart, (round) => pick(round).cpuMicros)
  const [cpuAt, rateAt] = [at('cpuMicros'), at('perSecond')]
  const [rates, unaimed] = [{ unit: '/s', higherIsBetter: true }, { kind: 'none' } as const]
  return [
    judgeFigure({
      ...rates,
      name: `${what}, 2 processes with a core each, by their CPU`,
      value: 2e6 / cpuAt(2),
      baseline: { name: 'one process', value: 1e6 / cpuAt(1) },
      aim: { kind: 'ratio', times: 1.7 },
    }),
    ...compareCpu(what, cpuAt, { name: 'as many that share nothing', at: apartAt }),
    judgeFigure({
      name: `CPU, each of the ${what}, 3 processes that share nothing`,
      value: apartAt(3),
      unit: 'µs',
      baseline: { name: 'one process', value: cpuAt(1) },
      aim: unaimed,
    }),
    ...COUNTS.slice(1).map((count) =>
      judgeFigure({
        ...rates,
        name: `${what} on this machine, ${count} processes`,
        value: rateAt(count),
        baseline: { name: 'one process', value: rateAt(1) },
        aim: unaimed,
      }),
    ),
    judgeFigure({
      name: `CPU of the clients, each of the ${what}, 2 processes`,
      value: at('clientsMicros')(2),
      unit: 'µs',
      baseline: { name: 'that of the processes', value: cpuAt(2) },
      aim: unaimed,
    }),
    judgeFigure({
      name: `CPU of PostgreSQL, each of the ${what}, 3 processes`,
      value: at('databaseMicros')(3),
      unit: 'µs',
      baseline: { name: 'one process', value: at('databaseMicros')(1) },
      aim: unaimed,
    }),
  ]
}

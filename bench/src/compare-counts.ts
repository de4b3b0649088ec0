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

export type Rounds<Round> = ReadonlyMap<Count, readonly Round[]>

export const medianAt =
  <Round>(rounds: Rounds<Round>, pick: (round: Round) => number) =>
  (count: Count): number =>
    median((rounds.get(count) ?? []).map(pick))

/** Not a tenth more CPU for each. */
export function compareCpu(what: string, cpuAt: (count: Count) => number): readonly Figure[] {
  return COUNTS.slice(1).map((count) =>
    judgeFigure({
      name: `CPU, each of the ${what}, ${count} processes`,
      value: cpuAt(count),
      unit: 'µs',
      baseline: { name: 'one process', value: cpuAt(1) },
      aim: { kind: 'ratio', times: 0.91 },
    }),
  )
}

/** What two processes serve with a core for each, by their CPU, must be 1.7 times what one does; what they serve here is told. */
export function compareRequests<Round>(
  what: string,
  rounds: Rounds<Round>,
  pick: (round: Round) => Load,
): readonly Figure[] {
  const at = (part: keyof Load) => medianAt(rounds, (round) => pick(round)[part])
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
    ...compareCpu(what, cpuAt),
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

// What requests to a cluster of server processes take of this machine.
import { readDatabaseCpuMicros } from './database-cpu.ts'
import type { ServerProcess } from './server-process.ts'

type Servers = readonly ServerProcess[]

/** What serves requests, and what takes part beside it. */
export type Machine = {
  readonly servers: Servers
  /** Of clients, beside this process. */
  readonly network?: ServerProcess | undefined
  readonly databaseFolder: string
}

export type Load = {
  /** Of the servers, and each of the requests, as those beside it. */
  readonly cpuMicros: number
  readonly clientsMicros: number
  readonly databaseMicros: number
  readonly perSecond: number
}

async function sumMicros(servers: Servers): Promise<number> {
  const figures = await Promise.all(servers.map((server) => server.figures()))
  return figures.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)
}

async function readCpus({ databaseFolder, network, servers }: Machine) {
  const { system, user } = process.cpuUsage()
  const ofNetwork = await sumMicros(network === undefined ? [] : [network])
  return {
    cpuMicros: await sumMicros(servers),
    clientsMicros: user + system + ofNetwork,
    databaseMicros: readDatabaseCpuMicros(databaseFolder),
  }
}

/** What so many requests take, all processes together. */
export async function measureLoad(
  machine: Machine,
  requests: number,
  run: () => Promise<unknown>,
): Promise<Load> {
  const [before, startMs] = [await readCpus(machine), performance.now()]
  await run()
  const wallMs = performance.now() - startMs
  const after = await readCpus(machine)
  return {
    cpuMicros: (after.cpuMicros - before.cpuMicros) / requests,
    clientsMicros: (after.clientsMicros - before.clientsMicros) / requests,
    databaseMicros: (after.databaseMicros - before.databaseMicros) / requests,
    perSecond: (requests * 1_000) / wallMs,
  }
}

/** A process of the service in the test's own process, which reaches the world through edges that a test can cut or twist. */
import type { Environment } from '@tallystick/service-kit'
import { type FaultyEdge, startFaultyEdge } from './faulty-edge.ts'
import type { RealWorld, RunningService } from './real-world.ts'

export type ReplicaEdges = {
  readonly rpc: FaultyEdge
  readonly mirror: FaultyEdge
  readonly facilitator: FaultyEdge
}

export type Replica = {
  readonly edges: ReplicaEdges
  readonly baseUrl: string
  readonly service: RunningService
  isAlive(): boolean
  /** The process dies: nothing that it does after this reaches anything or anybody. */
  kill(): void
  /** Starts the next process in its place, where the last one was killed. */
  restart(): Promise<void>
  /** Lets every request through again. */
  heal(): void
}

/** Starts a replica in `world`; `environment` is what is its own, e.g. its recorder's key. */
export async function startReplica(world: RealWorld, environment: Environment): Promise<Replica> {
  let current = await startProcess(world, environment)
  return {
    get edges() {
      return current.edges
    },
    get baseUrl() {
      return current.service.baseUrl
    },
    get service() {
      return current.service
    },
    isAlive: () => current.isAlive,
    kill() {
      current.isAlive = false
      for (const edge of Object.values(current.edges)) edge.kill()
      current.service.app.server.closeAllConnections()
      // Its timers end in the background, as far as they can: nobody hears of them any more.
      void current.service.stop()
    },
    async restart() {
      if (!current.isAlive) current = await startProcess(world, environment)
    },
    heal() {
      for (const edge of Object.values(current.edges)) edge.intercept()
    },
  }
}

async function startProcess(world: RealWorld, environment: Environment) {
  const [rpc, mirror, facilitator] = await Promise.all([
    startFaultyEdge(world.devnet.rpcUrl),
    startFaultyEdge(world.devnet.mirrorUrl),
    startFaultyEdge(world.facilitator.url),
  ])
  const service = await world.startService({
    ...environment,
    LEDGER_RPC_URL: rpc.url,
    MIRROR_URL: mirror.url,
    FACILITATOR_URL: facilitator.url,
  })
  return { edges: { rpc, mirror, facilitator }, service, isAlive: true }
}

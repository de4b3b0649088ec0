/** Three replicas of the service on one ledger, and how a test moves time while a request waits. */
import { accessWindowAbi } from '@tallystick/contracts'
import type { Environment } from '@tallystick/service-kit'
import { createPublicClient, http } from 'viem'
import { type FaultyEdge, startFaultyEdge } from './faulty-edge.ts'
import {
  asOwner,
  type LocalStack,
  type OwnerCall,
  type RealOffer,
  type RunningService,
  startLocalStack,
  untilInTime,
} from './local-stack.ts'

export type ReplicaStack = LocalStack & {
  readonly replicas: readonly [Replica, Replica, Replica]
  /** Waits for `work`; unless it is done at once, ledger time passes a second at a time. */
  drive<Result>(work: Promise<Result>): Promise<Result>
  /** Restores network, accounts and edges, restarts dead replicas, and waits until all of them sell. */
  heal(): Promise<void>
  asOwner(call: OwnerCall): Promise<void>
}

/** Makes each replica's tokens valid at the others. */
const SESSION_SECRET = 'what the replicas of this test share'

/** Real time that a healthy request takes on a busy machine, milliseconds: after it ledger time is moved on. */
const PATIENCE_MS = 150

/** Real time for each further second, milliseconds: work that still waits then waits for ledger time. */
const WAITING_MS = 10

/** Requests made between two seconds: forty in ten seconds, the shortest of the services' limits. */
const ROUND_TRIPS = 4

/** Price of one period in every real stack. */
const PRICE_TINYBAR = 300_000_000n

const RICH_TINYBAR = 1_000_000_000_000n

export async function startReplicaStack(offer: RealOffer): Promise<ReplicaStack> {
  const stack = await startLocalStack(offer, {
    isPaymentTimeTheLedgers: true,
    reserveHbar: 20_000n,
  })
  const recorders = await Promise.all(
    ['second-recorder', 'third-recorder'].map((name) => stack.agent(name)),
  )
  await setRecorders(
    stack,
    recorders.map((recorder) => recorder.evmAddress),
  )
  const keys = [stack.recorder, ...recorders].map((recorder) => recorder.privateKey)
  const [first, second, third] = await Promise.all(
    keys.map((key) =>
      startReplica(stack, { RECORDER_KEY: key, RECORDER_COUNT: '3', SESSION_SECRET }),
    ),
  )
  if (!first || !second || !third) throw new Error('unreachable')
  const replicas = [first, second, third] as const
  const { controls } = stack.devnet

  const healNetwork = async (): Promise<void> => {
    controls.setUnavailable({ rpc: false, mirror: false, consensus: false })
    controls.setReadLagMs(0)
    controls.setMirrorLagMs(0)
    controls.setNonceLagMs(0)
    controls.dropNextTransactions(0)
    controls.dropNextTransfers(0)
    controls.holdConsensus(false)
    controls.setGasPriceTinybar(109n)
    const rich = [stack.payTo, stack.recorder, ...recorders]
    for (const { accountId } of rich) await controls.setBalanceTinybar(accountId, RICH_TINYBAR)
  }
  const drive = async <Result>(work: Promise<Result>): Promise<Result> => {
    const state = { isDone: false }
    const ended = work.then(
      () => void (state.isDone = true),
      () => void (state.isDone = true),
    )
    await Promise.race([ended, realMs(PATIENCE_MS)])
    while (!state.isDone) {
      await controls.advanceSeconds(1)
      await Promise.race([ended, realMs(WAITING_MS)])
      if (!state.isDone) await roundTrips(stack)
    }
    return work
  }
  return {
    ...stack,
    replicas,
    drive,
    async heal() {
      // The edges first: what they break after the network is mended would stay broken.
      for (const replica of replicas) replica.heal()
      await healNetwork()
      await healTerms(stack, offer)
      for (const replica of replicas) await replica.restart()
      await untilSelling(stack, replicas)
    },
    asOwner: (call) => asOwner(stack, call),
    async stop() {
      for (const replica of replicas) replica.kill()
      await stack.stop()
    },
  }
}

const realMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/** Takes as long as requests now take on this machine, so that ledger time never outruns the services. */
async function roundTrips({ devnet }: LocalStack): Promise<void> {
  for (let trips = 0; trips < ROUND_TRIPS; trips += 1) {
    const answer = await fetch(`${devnet.mirrorUrl}/api/v1/blocks?limit=1&order=desc`)
    await answer.body?.cancel()
  }
}

/** Ledger time passes slowly meanwhile: a leap would end the requests of a sweep that is under way on a busy machine. */
async function untilSelling(stack: LocalStack, replicas: readonly Replica[]): Promise<void> {
  let refusals: readonly string[] = []
  const areSelling = async (): Promise<boolean> => {
    const answers = await Promise.all(replicas.map(({ baseUrl }) => fetch(`${baseUrl}/ready`)))
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    refusals = bodies.filter((_, at) => answers[at]?.ok !== true)
    return refusals.length === 0
  }
  await untilInTime(stack, areSelling).catch((cause: unknown) => {
    throw new Error(`These replicas do not sell: ${refusals.join(' ')}`, { cause })
  })
}

/** The first terms again, and sales open. */
async function healTerms(stack: LocalStack, offer: RealOffer): Promise<void> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const contract = { abi: accessWindowAbi, address: stack.contract } as const
  const [isPaused, [, { priceTinybar }]] = await Promise.all([
    client.readContract({ ...contract, functionName: 'salesPaused' }),
    client.readContract({ ...contract, functionName: 'currentOffer' }),
  ])
  if (isPaused) await asOwner(stack, { functionName: 'pauseSales', args: [false] })
  const { periodSeconds, callsAllowed, slotSeconds = 1 } = offer
  const first = [PRICE_TINYBAR, periodSeconds, callsAllowed, slotSeconds]
  if (priceTinybar !== PRICE_TINYBAR)
    await asOwner(stack, { functionName: 'setOffer', args: first })
}

async function setRecorders(stack: LocalStack, addresses: readonly string[]): Promise<void> {
  for (const address of addresses)
    await asOwner(stack, { functionName: 'setRecorder', args: [address, true] })
}

type ReplicaEdges = {
  readonly rpc: FaultyEdge
  readonly mirror: FaultyEdge
  readonly facilitator: FaultyEdge
}

/** A process of the service in the test's own process, which reaches the stack through edges that a test can cut or twist. */
export type Replica = {
  readonly edges: ReplicaEdges
  readonly baseUrl: string
  readonly service: RunningService
  isAlive(): boolean
  /** The process dies: nothing that it does after this has any effect. */
  kill(): void
  /** Starts the next process in its place, if the last one was killed. */
  restart(): Promise<void>
  /** Lets every request through again. */
  heal(): void
}

/** Starts a replica in `stack`; `environment` is its own part, e.g. its recorder's key. */
async function startReplica(stack: LocalStack, environment: Environment): Promise<Replica> {
  let current = await startProcess(stack, environment)
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
      // Its timers end in the background; nothing listens to them any more.
      void current.service.stop()
    },
    async restart() {
      if (!current.isAlive) current = await startProcess(stack, environment)
    },
    heal() {
      for (const edge of Object.values(current.edges)) edge.intercept()
    },
  }
}

async function startProcess(stack: LocalStack, environment: Environment) {
  const [rpc, mirror, facilitator] = await Promise.all([
    startFaultyEdge(stack.devnet.rpcUrl),
    startFaultyEdge(stack.devnet.mirrorUrl),
    startFaultyEdge(stack.facilitator.url),
  ])
  const service = await stack.startService({
    ...environment,
    LEDGER_RPC_URL: rpc.url,
    MIRROR_URL: mirror.url,
    FACILITATOR_URL: facilitator.url,
  })
  return { edges: { rpc, mirror, facilitator }, service, isAlive: true }
}

/** Three replicas of the service on one ledger, and how a test moves time while a request waits. */
import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, http } from 'viem'
import { asOwner, type OwnerCall } from './as-owner.ts'
import { type RealOffer, type RealWorld, startRealWorld, until } from './real-world.ts'
import { type Replica, startReplica } from './replica.ts'

export type FaultWorld = RealWorld & {
  readonly replicas: readonly [Replica, Replica, Replica]
  /** Waits for `work`, letting ledger time pass a second at a time when it is not done at once. */
  drive<Result>(work: Promise<Result>): Promise<Result>
  /** Makes network, accounts and edges as they were, starts dead replicas again, and waits until all of them sell. */
  heal(): Promise<void>
  asOwner(call: OwnerCall): Promise<void>
}

/** Real time that a request in good health takes on a busy machine, milliseconds: after it ledger time is moved on. */
const PATIENCE_MS = 150

/** Real time for each further second, milliseconds: what waits by then waits for ledger time. */
const WAITING_MS = 30

/** Requests made between two seconds: ten seconds, the shortest of the services' limits, are then forty of them. */
const ROUND_TRIPS = 4

/** Price of one period in every real world. */
const PRICE_TINYBAR = 300_000_000n

const RICH_TINYBAR = 1_000_000_000_000n

export async function startFaultWorld(offer: RealOffer): Promise<FaultWorld> {
  const world = await startRealWorld(offer, { isPaymentTimeTheLedgers: true, reserveHbar: 20_000n })
  const recorders = await Promise.all(
    ['second-recorder', 'third-recorder'].map((name) => world.agent(name)),
  )
  await setRecorders(
    world,
    recorders.map((recorder) => recorder.evmAddress),
  )
  const keys = [world.recorder, ...recorders].map((recorder) => recorder.privateKey)
  const [first, second, third] = await Promise.all(
    keys.map((key) => startReplica(world, { RECORDER_KEY: key, RECORDER_COUNT: '3' })),
  )
  if (!first || !second || !third) throw new Error('unreachable')
  const replicas = [first, second, third] as const
  const { controls } = world.devnet

  const healNetwork = async (): Promise<void> => {
    controls.setUnavailable({ rpc: false, mirror: false, consensus: false })
    controls.setReadLagMs(0)
    controls.setMirrorLagMs(0)
    controls.setNonceLagMs(0)
    controls.dropNextTransactions(0)
    controls.dropNextTransfers(0)
    controls.holdConsensus(false)
    controls.setGasPriceTinybar(109n)
    const rich = [world.payTo, world.recorder, ...recorders]
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
      if (!state.isDone) await roundTrips(world)
    }
    return work
  }
  return {
    ...world,
    replicas,
    drive,
    async heal() {
      await healNetwork()
      await healTerms(world, offer)
      for (const replica of replicas) {
        replica.heal()
        await replica.restart()
      }
      await drive(until(() => areSelling(replicas), 60_000))
    },
    asOwner: (call) => asOwner(world, call),
    async stop() {
      for (const replica of replicas) replica.kill()
      await world.stop()
    },
  }
}

const realMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/** Takes as long as requests take on this machine at present, so that ledger time never outruns the services' own. */
async function roundTrips({ devnet }: RealWorld): Promise<void> {
  for (let trips = 0; trips < ROUND_TRIPS; trips += 1) {
    const answer = await fetch(`${devnet.mirrorUrl}/api/v1/blocks?limit=1&order=desc`)
    await answer.body?.cancel()
  }
}

async function areSelling(replicas: readonly Replica[]): Promise<boolean> {
  const answers = await Promise.all(replicas.map(({ baseUrl }) => fetch(`${baseUrl}/ready`)))
  for (const answer of answers) await answer.body?.cancel()
  return answers.every((answer) => answer.ok)
}

/** The first terms again, and sales open. */
async function healTerms(world: RealWorld, offer: RealOffer): Promise<void> {
  const client = createPublicClient({ transport: http(world.devnet.rpcUrl) })
  const contract = { abi: accessWindowAbi, address: world.contract } as const
  const [isPaused, [, { priceTinybar }]] = await Promise.all([
    client.readContract({ ...contract, functionName: 'salesPaused' }),
    client.readContract({ ...contract, functionName: 'currentOffer' }),
  ])
  if (isPaused) await asOwner(world, { functionName: 'pauseSales', args: [false] })
  const first = [PRICE_TINYBAR, offer.periodSeconds, offer.callsAllowed]
  if (priceTinybar !== PRICE_TINYBAR)
    await asOwner(world, { functionName: 'setOffer', args: first })
}

async function setRecorders(world: RealWorld, addresses: readonly string[]): Promise<void> {
  for (const address of addresses)
    await asOwner(world, { functionName: 'setRecorder', args: [address, true] })
}

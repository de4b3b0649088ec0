// Processes of the access service over one contract, as a seller runs them behind a load balancer: they share payTo's key but
// no memory, and each has its own recorder key. The facilitator is a process too; the ledger runs in the test's, in real time.

import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { freePort } from '@tallystick/service-kit'
import { isRunning } from '@tallystick/service-kit/stack-environment'
import { createPublicClient, http } from 'viem'
import { accessRecipe, devnetAccount, facilitatorRecipe } from '../../scripts/stack/recipes.ts'
import {
  type ServiceProcess,
  type ServiceRecipe,
  spawnService,
} from '../../scripts/stack/service-process.ts'

import { deployAccessWindow } from '../../services/access/src/command/deploy.ts'
import { eventually } from './eventually.ts'

const HBAR = 100_000_000n
const RECORDER_TINYBAR = 10_000n * HBAR
const WEIBAR_PER_TINYBAR = 10_000_000_000n

type ReplicaOffer = {
  readonly periodSeconds: number
  readonly callsAllowed: number
  /** The service's default unless stated. */
  readonly periodsPerPurchase?: number
}

/** A JSON-RPC edge before the ledger, in place of its own. */
export type OwnEdge = { readonly rpcUrl: string; stop(): Promise<void> }

export type ReplicaStack = {
  readonly devnet: Devnet
  readonly contract: `0x${string}`
  readonly baseUrls: readonly string[]
  /** An account's current balance on the ledger. */
  balanceTinybar(account: DevnetAccount): Promise<bigint>
  /** Ends one replica, or the facilitator, with a signal, and waits for its end. */
  kill(which: number | 'facilitator', signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** Stops a replica without ending it, or wakes it. */
  signal(at: number, signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Starts a replica again with its previous environment; resolves when it listens. */
  restart(at: number): Promise<void>
  /** Everything that the processes have logged, in more detail than usual. */
  logs(): string
  stop(): Promise<void>
}

/** Starts `count` replicas, at most three, and waits until they sell. Leaves no process running if one does not start. */
export async function startReplicaStack(
  { periodsPerPurchase, ...offer }: ReplicaOffer,
  count = 3,
  openEdge?: (devnet: Devnet) => Promise<OwnEdge>,
): Promise<ReplicaStack> {
  const devnet = await startDevnet()
  const edge = await openEdge?.(devnet)
  const rpcUrl = edge?.rpcUrl ?? devnet.rpcUrl
  const newRecorders = ['second', 'third']
    .slice(0, count - 1)
    .map((name) =>
      devnet.createAccount({ name: `${name}-recorder`, balanceTinybar: RECORDER_TINYBAR }),
    )
  const recorders = [devnetAccount(devnet, 'recorder'), ...(await Promise.all(newRecorders))]
  const { contract } = await deployAccessWindow({
    rpcUrl,
    chainId: devnet.chainId,
    ownerKey: devnetAccount(devnet, 'owner').privateKey,
    forwarder: devnetAccount(devnet, 'operator').evmAddress,
    recorders: recorders.map(({ evmAddress }) => evmAddress),
    offer: { priceTinybar: 3n * HBAR, slotSeconds: 1, ...offer },
    reserveTinybar: 1_000n * HBAR,
  })
  const facilitatorPort = await freePort()
  const ports = await Promise.all(recorders.map(() => freePort()))
  const baseUrls = ports.map((port) => `http://127.0.0.1:${port}`)
  const makeRecipe = (at: number): ServiceRecipe => {
    const place = { access: ports[at] ?? 0, facilitator: facilitatorPort }
    const { environment, ...recipe } = accessRecipe(devnet, { ports: place, contract })
    return {
      ...recipe,
      readyUrl: `${baseUrls[at]}/health`,
      environment: {
        ...environment,
        // Each under a name of its own, since on the network each would have an address of its own.
        LEDGER_RPC_URL: edge === undefined ? `${rpcUrl}/as/access-${at}` : rpcUrl,
        MIRROR_URL: `${devnet.mirrorUrl}/as/access-${at}`,
        RECORDER_KEY: recorders[at]?.privateKey ?? '',
        RECORDER_COUNT: String(recorders.length),
        SESSION_SECRET: 'what the replicas of this test share',
        LOG_LEVEL: 'debug',
        ...(periodsPerPurchase && { PERIODS_PER_PURCHASE: String(periodsPerPurchase) }),
      },
    }
  }
  const logFolder = mkdtempSync(join(tmpdir(), 'tallystick-replicas-'))
  const processes = new Map<number | 'facilitator', ServiceProcess>()
  let starts = 0
  const start = async (which: number | 'facilitator'): Promise<void> => {
    starts += 1
    const recipe =
      which === 'facilitator' ? facilitatorRecipe({ devnet }, facilitatorPort) : makeRecipe(which)
    const logFile = join(logFolder, `${which}-${starts}.log`)
    const service = spawnService({ ...recipe, logFile, isWatching: false })
    processes.set(which, service)
    await service.ready()
  }
  const stop = async (): Promise<void> => {
    for (const service of processes.values()) await service.stop()
    await edge?.stop()
    await devnet.stop()
  }
  try {
    await Promise.all((['facilitator', ...ports.keys()] as const).map(start))
    for (const baseUrl of baseUrls) await untilReady(baseUrl)
  } catch (error) {
    await stop()
    throw error
  }
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  return {
    devnet,
    contract,
    baseUrls,
    balanceTinybar: async ({ evmAddress }) =>
      (await client.getBalance({ address: evmAddress })) / WEIBAR_PER_TINYBAR,
    async kill(which, signal = 'SIGKILL') {
      const pid = processes.get(which)?.pid ?? 0
      process.kill(pid, signal)
      await eventually(() => !isRunning(pid))
    },
    signal: (at, signal) => void process.kill(processes.get(at)?.pid ?? 0, signal),
    restart: start,
    logs: () =>
      readdirSync(logFolder)
        .map((file) => readFileSync(join(logFolder, file), 'utf8'))
        .join('\n'),
    stop,
  }
}

/** Waits until a replica sells. */
export async function untilReady(baseUrl: string): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    const answer = await fetch(`${baseUrl}/ready`)
    await answer.body?.cancel()
    return answer.ok
  }
  await eventually(isReady)
}

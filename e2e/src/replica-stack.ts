// Three processes of the access service over one contract, as a seller runs them behind a load balancer: they share
// payTo's key but no memory, and each has its own recorder key. Ledger and facilitator run in the test's process, in real
// time.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import {
  parseConsensusNodes,
  type RunningFacilitator,
  startFacilitator,
} from '@tallystick/facilitator'
import { createPublicClient, http } from 'viem'
import { freePort } from '../../scripts/stack/ports.ts'
import { type ServiceProcess, spawnService } from '../../scripts/stack/service-process.ts'
import { isRunning } from '../../scripts/stack/stack-file.ts'
import { deployAccessWindow } from '../../services/access/src/command/deploy.ts'
import { eventually } from './eventually.ts'

const HBAR = 100_000_000n
const RECORDER_TINYBAR = 10_000n * HBAR
const KILL_MS_MAX = 5_000
const WEIBAR_PER_TINYBAR = 10_000_000_000n

type ReplicaOffer = {
  readonly periodSeconds: number
  readonly callsAllowed: number
  /** The service's default unless stated. */
  readonly periodsPerPurchase?: number
}

export type ReplicaStack = {
  readonly devnet: Devnet
  readonly contract: `0x${string}`
  readonly facilitatorUrl: string
  readonly baseUrls: readonly string[]
  /** An account's current balance on the ledger. */
  balanceTinybar(account: DevnetAccount): Promise<bigint>
  /** Ends one process with SIGKILL. */
  kill(at: number): Promise<void>
  /** Restarts it with its previous environment; resolves when it sells. */
  restart(at: number): Promise<void>
  stop(): Promise<void>
}

/** Starts `count` processes, at most three. Leaves none running if one does not start. */
export async function startReplicaStack(
  { periodsPerPurchase, ...offer }: ReplicaOffer,
  count = 3,
): Promise<ReplicaStack> {
  const devnet = await startDevnet()
  const account = (name: string): DevnetAccount => {
    const found = devnet.accounts.find((one) => one.name === name)
    if (found === undefined) throw new Error(`devnet has no account ${name}`)
    return found
  }
  const recorders = [
    account('recorder'),
    ...(await Promise.all(
      ['second', 'third']
        .slice(0, count - 1)
        .map((name) =>
          devnet.createAccount({ name: `${name}-recorder`, balanceTinybar: RECORDER_TINYBAR }),
        ),
    )),
  ]
  const payTo = account('operator')
  const { contract } = await deployAccessWindow({
    rpcUrl: devnet.rpcUrl,
    chainId: devnet.chainId,
    ownerKey: account('owner').privateKey,
    forwarder: payTo.evmAddress,
    recorders: recorders.map(({ evmAddress }) => evmAddress),
    offer: { priceTinybar: 3n * HBAR, slotSeconds: 1, ...offer },
    reserveTinybar: 1_000n * HBAR,
  })
  const facilitator = await startLocalFacilitator(devnet, account('facilitator'))
  const logFolder = mkdtempSync(join(tmpdir(), 'tallystick-replicas-'))
  const ports = await Promise.all(recorders.map(() => freePort()))
  const processes: ServiceProcess[] = []
  let starts = 0
  const start = async (at: number): Promise<void> => {
    const baseUrl = `http://127.0.0.1:${ports[at]}`
    starts += 1
    const service = spawnService({
      name: `access-${at}`,
      main: 'services/access/src/main.ts',
      readyUrl: `${baseUrl}/ready`,
      logFile: join(logFolder, `access-${at}-${starts}.log`),
      isWatching: false,
      environment: {
        HOST: '127.0.0.1',
        PORT: String(ports[at]),
        BASE_URL: baseUrl,
        // Each under a name of its own, since on the network each would have an address of its own.
        LEDGER_RPC_URL: `${devnet.rpcUrl}/as/access-${at}`,
        MIRROR_URL: `${devnet.mirrorUrl}/as/access-${at}`,
        FACILITATOR_URL: facilitator.url,
        ACCESS_CONTRACT: contract,
        PAY_TO: payTo.accountId,
        PAY_TO_KEY: payTo.privateKey,
        RECORDER_KEY: recorders[at]?.privateKey ?? '',
        RECORDER_COUNT: String(recorders.length),
        SESSION_SECRET: 'what the replicas of this test share',
        ADDRESS_CALLS_PER_SECOND: '0',
        ...(periodsPerPurchase && { PERIODS_PER_PURCHASE: String(periodsPerPurchase) }),
      },
    })
    processes[at] = service
    await service.ready()
  }
  const stop = async (): Promise<void> => {
    for (const service of processes) await service?.stop()
    await facilitator.stop()
    await devnet.stop()
  }
  try {
    await Promise.all(ports.map((_port, at) => start(at)))
  } catch (error) {
    await stop()
    throw error
  }
  const client = createPublicClient({ transport: http(devnet.rpcUrl) })
  return {
    devnet,
    contract,
    facilitatorUrl: facilitator.url,
    baseUrls: ports.map((port) => `http://127.0.0.1:${port}`),
    balanceTinybar: async ({ evmAddress }) =>
      (await client.getBalance({ address: evmAddress })) / WEIBAR_PER_TINYBAR,
    async kill(at) {
      const pid = processes[at]?.pid ?? 0
      process.kill(pid, 'SIGKILL')
      await eventually(() => !isRunning(pid), { timeoutMs: KILL_MS_MAX })
    },
    restart: start,
    stop,
  }
}

function startLocalFacilitator(
  devnet: Devnet,
  feePayer: DevnetAccount,
): Promise<RunningFacilitator> {
  const { address, nodeAccountId } = devnet.consensus
  return startFacilitator({
    network: 'hedera:testnet',
    consensusNodes: parseConsensusNodes(`${address}=${nodeAccountId}`) ?? [],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: feePayer.accountId,
    feePayerKey: feePayer.privateKey,
  })
}

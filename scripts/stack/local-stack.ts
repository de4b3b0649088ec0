// The whole house on one machine: the local ledger in this process, the facilitator and each service as processes of
// their own with the environment that an operator would give them. Nothing is printed here.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { deployAccessWindow } from '../../services/access/src/operator/deploy-access-window.ts'
import type { StackPorts } from './ports.ts'
import { type ServiceOptions, type ServiceProcess, spawnService } from './service-process.ts'
import type { StackDescription } from './stack-file.ts'

const TINYBAR_PER_HBAR = 100_000_000n
const OFFER = { priceTinybar: 3n * TINYBAR_PER_HBAR, periodSeconds: 20, callsAllowed: 20 }
/** `.local/logs` of this checkout. */
export const defaultLogFolder = fileURLToPath(new URL('../../.local/logs', import.meta.url))

/** Arms about a hundred renewals at the local gas price before it has to be funded again. */
const RESERVE_TINYBAR = 500n * TINYBAR_PER_HBAR
const AGENTS = 8

export type LocalStackOptions = {
  readonly ports: StackPorts
  /** Folder of the services' log files. */
  readonly logFolder: string
  readonly isWatching: boolean
  /** Told before each step, in a person's words. */
  readonly onStep: (step: string) => void
}

export type LocalStack = {
  /** Starts everything in order; a step that fails throws with the reason, and the caller stops the rest. */
  start(): Promise<StackDescription>
  /** Stops the services, then the ledger. */
  stop(): Promise<void>
}

type ServiceRecipe = Omit<ServiceOptions, 'logFile' | 'isWatching'>

function account(devnet: Devnet, name: string): DevnetAccount {
  const found = devnet.accounts.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`the local ledger has no account named ${name}`)
  return found
}

function facilitatorRecipe(devnet: Devnet, port: number): ServiceRecipe {
  const feePayer = account(devnet, 'facilitator')
  return {
    name: 'facilitator',
    main: 'packages/facilitator/src/main.ts',
    readyUrl: `http://127.0.0.1:${port}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      NETWORK: 'hedera:testnet',
      CONSENSUS_NODES: `${devnet.consensus.address}=${devnet.consensus.nodeAccountId}`,
      MIRROR_URL: devnet.mirrorUrl,
      FEE_PAYER: feePayer.accountId,
      FEE_PAYER_KEY: feePayer.privateKey,
    },
  }
}

function accessRecipe(devnet: Devnet, ports: StackPorts, contract: string): ServiceRecipe {
  const payTo = account(devnet, 'operator')
  return {
    name: 'access',
    main: 'services/access/src/main.ts',
    readyUrl: `http://127.0.0.1:${ports.access}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(ports.access),
      BASE_URL: `http://127.0.0.1:${ports.access}`,
      NETWORK: 'hedera:testnet',
      LEDGER_RPC_URL: devnet.rpcUrl,
      LEDGER_CHAIN_ID: String(devnet.chainId),
      MIRROR_URL: devnet.mirrorUrl,
      FACILITATOR_URL: `http://127.0.0.1:${ports.facilitator}`,
      ACCESS_CONTRACT: contract,
      PAY_TO: payTo.accountId,
      PAY_TO_KEY: payTo.privateKey,
      RECORDER_KEY: account(devnet, 'recorder').privateKey,
    },
  }
}

function describe(
  devnet: Devnet,
  ports: StackPorts,
  started: { contract: string; services: readonly ServiceProcess[] },
): StackDescription {
  return {
    access: {
      baseUrl: `http://127.0.0.1:${ports.access}`,
      contract: started.contract,
      payTo: account(devnet, 'operator').accountId,
    },
    ledger: {
      rpcUrl: devnet.rpcUrl,
      mirrorUrl: devnet.mirrorUrl,
      consensus: devnet.consensus.address,
      chainId: devnet.chainId,
    },
    facilitator: { url: `http://127.0.0.1:${ports.facilitator}` },
    agents: devnet.accounts
      .filter(({ name }) => name.startsWith('agent'))
      .slice(0, AGENTS)
      .map(({ name, accountId, evmAddress, privateKey }) => ({
        name,
        accountId,
        evmAddress,
        privateKey,
      })),
    process: {
      pid: process.pid,
      children: Object.fromEntries(started.services.map(({ name, pid }) => [name, pid])),
    },
  }
}

/** A stack that can be stopped at any time, also while it starts. */
export function createLocalStack(options: LocalStackOptions): LocalStack {
  const { ports, logFolder, isWatching, onStep } = options
  const services: ServiceProcess[] = []
  let devnet: Devnet | undefined
  let isStopped = false

  const startOne = async (service: ServiceRecipe) => {
    if (isStopped) throw new Error('the stack was stopped while it started')
    onStep(`starting ${service.name}`)
    const logFile = join(logFolder, `${service.name}.log`)
    services.push(spawnService({ ...service, logFile, isWatching }))
    await services.at(-1)?.ready()
  }
  const start = async (): Promise<StackDescription> => {
    onStep('starting the local ledger')
    devnet = await startDevnet({
      rpcPort: ports.rpc,
      mirrorPort: ports.mirror,
      consensusPort: ports.consensus,
    })
    onStep('deploying the access contract')
    const { contract } = await deployAccessWindow({
      rpcUrl: devnet.rpcUrl,
      chainId: devnet.chainId,
      ownerKey: account(devnet, 'owner').privateKey,
      forwarder: account(devnet, 'operator').evmAddress,
      recorders: [account(devnet, 'recorder').evmAddress],
      offer: OFFER,
      reserveTinybar: RESERVE_TINYBAR,
    })
    await startOne(facilitatorRecipe(devnet, ports.facilitator))
    await startOne(accessRecipe(devnet, ports, contract))
    return describe(devnet, ports, { contract, services })
  }
  const stop = async (): Promise<void> => {
    isStopped = true
    for (const service of services.toReversed()) await service.stop()
    await devnet?.stop()
  }
  return { start, stop }
}

// The whole house on one machine: the local ledger in this process, the facilitator and each service as processes of
// their own with the environment that an operator would give them. Nothing is printed here.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Devnet, startDevnet } from '@tallystick/devnet'
import { deployAccessWindow } from '../../services/access/src/operator/deploy-access-window.ts'
import { seedRecords } from '../../services/care/src/seed/seed-records.ts'
import { accessRecipe } from './access-recipe.ts'
import { type CarePlace, carePlace, careRecipe } from './care-recipe.ts'
import { devnetAccount } from './devnet-account.ts'
import { facilitatorRecipe } from './facilitator-recipe.ts'
import type { StackPorts } from './ports.ts'
import { type ServiceProcess, type ServiceRecipe, spawnService } from './service-process.ts'
import type { StackDescription } from './stack-file.ts'

const TINYBAR_PER_HBAR = 100_000_000n
const OFFER = { priceTinybar: 3n * TINYBAR_PER_HBAR, periodSeconds: 20, callsAllowed: 20 }
/** `.local/logs` of this checkout. */
export const defaultLogFolder = fileURLToPath(new URL('../../.local/logs', import.meta.url))

/** `.local/data` of this checkout. */
export const defaultDataFolder = fileURLToPath(new URL('../../.local/data', import.meta.url))

/** Arms about a hundred renewals at the local gas price before it has to be funded again. */
const RESERVE_TINYBAR = 500n * TINYBAR_PER_HBAR
const AGENTS = 8

export type LocalStackOptions = {
  readonly ports: StackPorts
  /** Folder of the services' log files. */
  readonly logFolder: string
  /** Folder of the services' databases, made anew at each start. */
  readonly dataFolder: string
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

function describe(
  devnet: Devnet,
  ports: StackPorts,
  started: { contract: string; care: CarePlace; services: readonly ServiceProcess[] },
): StackDescription {
  return {
    access: {
      baseUrl: `http://127.0.0.1:${ports.access}`,
      contract: started.contract,
      payTo: devnetAccount(devnet, 'operator').accountId,
    },
    care: started.care,
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
      ownerKey: devnetAccount(devnet, 'owner').privateKey,
      forwarder: devnetAccount(devnet, 'operator').evmAddress,
      recorders: [devnetAccount(devnet, 'recorder').evmAddress],
      offer: OFFER,
      reserveTinybar: RESERVE_TINYBAR,
    })
    await startOne(facilitatorRecipe(devnet, ports.facilitator))
    await startOne(accessRecipe(devnet, { ports, contract }))
    const care = carePlace(ports.care)
    await startOne(careRecipe(care, { port: ports.care, dataFolder: options.dataFolder }))
    onStep('writing sample records')
    await seedRecords({ baseUrl: care.baseUrl, writeSecret: care.writeSecret })
    return describe(devnet, ports, { contract, care, services })
  }
  const stop = async (): Promise<void> => {
    isStopped = true
    for (const service of services.toReversed()) await service.stop()
    await devnet?.stop()
  }
  return { start, stop }
}

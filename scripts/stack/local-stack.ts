// Everything on one machine: the local ledgers in this process, the facilitator and each service in their own processes
// with the environment that an operator would set. Nothing is printed here.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Devnet,
  SEND_LATENCY_MS,
  startDevnet,
  startXLayer,
  type XLayer,
} from '@tallystick/devnet'
import { deployAccessWindow, LOCAL_OFFER } from '../../services/access/src/command/deploy.ts'
import { seedRecords } from '../../services/care/src/seed/seed-records.ts'
import type { StackPorts } from './ports.ts'
import { openPostgresPlace, type PostgresPlace } from './postgres-place.ts'
import {
  accessRecipe,
  type CarePlace,
  carePlace,
  careRecipe,
  devnetAccount,
  facilitatorRecipe,
  type GradingPlace,
  gradingPlace,
  gradingRecipe,
  issuerRecipe,
  type SignInPlace,
  seedGrading,
  signInPlace,
} from './recipes.ts'
import { type ServiceProcess, type ServiceRecipe, spawnService } from './service-process.ts'
import type { StackDescription } from './stack-file.ts'

const TINYBAR_PER_HBAR = 100_000_000n
/** Enough for several people or tests at once, each with its own agent. */
const AGENTS = 8
/** `.local/logs` of this checkout. */
export const defaultLogFolder = fileURLToPath(new URL('../../.local/logs', import.meta.url))

/** `.local/data` of this checkout. */
export const defaultDataFolder = fileURLToPath(new URL('../../.local/data', import.meta.url))

/** Arms about a hundred renewals at the local gas price before it needs new funds. */
const RESERVE_TINYBAR = 500n * TINYBAR_PER_HBAR

type LocalStackOptions = {
  readonly ports: StackPorts
  /** Folder of the services' log files. */
  readonly logFolder: string
  /** Folder of the services' databases, recreated at each start. */
  readonly dataFolder: string
  readonly isWatching: boolean
  /** Where care and grading keep their data: a connection string or `local`; in files if undefined. */
  readonly postgres?: string | undefined
  /** Whether the sign-in runs beside care, and care trusts it. */
  readonly hasSignIn?: boolean | undefined
  /** What an operator adds to every service's environment. */
  readonly settings?: Readonly<Record<string, string>>
  /** Called before each step, with its name for people. */
  readonly onStep: (step: string) => void
}

type LocalStack = {
  /** Starts everything in order; a step that fails throws with the reason, and the caller stops the rest. */
  start(): Promise<StackDescription>
  /** Stops the services, then the ledgers, once: a second call waits for the first. */
  stop(): Promise<void>
}

/** A stack that can be stopped at any time, even while it starts. */
export function createLocalStack(options: LocalStackOptions): LocalStack {
  const { ports, logFolder, isWatching, onStep } = options
  const services: ServiceProcess[] = []
  let devnet: Devnet | undefined
  let xlayer: XLayer | undefined
  let postgres: PostgresPlace | undefined
  let starting: Promise<StackDescription> | undefined
  let stopping: Promise<void> | undefined

  const begin = (step: string): void => {
    if (stopping !== undefined) throw new Error('the stack was stopped while it started')
    onStep(step)
  }
  const startOne = async (service: ServiceRecipe) => {
    begin(`starting ${service.name}`)
    const logFile = join(logFolder, `${service.name}.log`)
    const environment = { ...service.environment, ...options.settings }
    services.push(spawnService({ ...service, environment, logFile, isWatching }))
    await services.at(-1)?.ready()
  }
  const start = async (): Promise<StackDescription> => {
    begin('starting the local ledgers')
    devnet = await startDevnet({
      rpcPort: ports.rpc,
      mirrorPort: ports.mirror,
      consensusPort: ports.consensus,
      sendLatencyMs: SEND_LATENCY_MS,
    })
    xlayer = await startXLayer({ port: ports.xlayer })
    begin('deploying the access contract')
    const { contract } = await deployAccessWindow({
      rpcUrl: devnet.rpcUrl,
      chainId: devnet.chainId,
      ownerKey: devnetAccount(devnet, 'owner').privateKey,
      forwarder: devnetAccount(devnet, 'operator').evmAddress,
      recorders: [devnetAccount(devnet, 'recorder').evmAddress],
      offer: LOCAL_OFFER,
      reserveTinybar: RESERVE_TINYBAR,
    })
    await startOne(facilitatorRecipe({ devnet, xlayer }, ports.facilitator))
    await startOne(accessRecipe(devnet, { ports, contract }))
    if (options.postgres !== undefined) {
      begin('making a database on PostgreSQL')
      postgres = await openPostgresPlace(options.postgres)
    }
    const { dataFolder } = options
    const care = carePlace(ports.care)
    const signIn = options.hasSignIn === true ? signInPlace(ports.issuer) : undefined
    await startOne(careRecipe(care, { port: ports.care, dataFolder, postgres, signIn }))
    if (signIn !== undefined)
      await startOne(await issuerRecipe(signIn, { port: ports.issuer, dataFolder, care }))
    begin('writing sample records')
    await seedRecords({ baseUrl: care.baseUrl, writeSecret: care.writeSecret })
    begin('importing made-up matches')
    const grading = gradingPlace(ports.grading)
    const payTo = devnetAccount(devnet, 'operator').evmAddress
    const recipe = gradingRecipe(grading, { xlayer, payTo, ports, dataFolder, postgres })
    await seedGrading(recipe)
    await startOne(recipe)
    return stackDescription({ devnet, xlayer, ports, contract, care, grading, signIn, services })
  }
  const stop = async (): Promise<void> => {
    for (const service of services.toReversed()) await service.stop()
    // A ledger that was starting has started or failed by now.
    await starting?.catch(() => undefined)
    await postgres?.end()
    await xlayer?.stop()
    await devnet?.stop()
  }
  return { start: () => (starting ??= start()), stop: () => (stopping ??= stop()) }
}

/** What the payer's command reads: as the last agent, since it guards its window, where a plain client pays as the first. */
function agentEnvironment(
  devnet: Devnet,
  { ports, contract }: { readonly ports: StackPorts; readonly contract: string },
): Readonly<Record<string, string>> {
  const { accountId, privateKey } = devnetAccount(devnet, `agent-${AGENTS}`)
  return {
    AGENT_KEY: privateKey,
    AGENT_ACCOUNT_ID: accountId,
    ACCESS_URL: `http://127.0.0.1:${ports.access}`,
    ACCESS_CONTRACT: contract,
    LEDGER_RPC_URL: devnet.rpcUrl,
    LEDGER_CHAIN_ID: String(devnet.chainId),
    MIRROR_URL: devnet.mirrorUrl,
  }
}

/** What is running once a stack is up. */
type StartedStack = {
  readonly devnet: Devnet
  readonly xlayer: XLayer
  readonly ports: StackPorts
  readonly contract: string
  readonly care: CarePlace
  readonly grading: GradingPlace
  readonly signIn: SignInPlace | undefined
  readonly services: readonly ServiceProcess[]
}

/** Describes a running stack, for `.local/stack.json` and for people. */
function stackDescription(stack: StartedStack): StackDescription {
  const { devnet, xlayer, ports, contract, care, grading, signIn, services } = stack
  const operator = devnetAccount(devnet, 'operator')
  const environments = Object.fromEntries(
    services.map(({ name, environment }) => [name, environment]),
  )
  const { privateKey: OWNER_KEY } = devnetAccount(devnet, 'owner')
  return {
    access: {
      baseUrl: `http://127.0.0.1:${ports.access}`,
      contract,
      payTo: operator.accountId,
    },
    care,
    grading,
    ...(signIn && { signIn }),
    ledger: {
      rpcUrl: devnet.rpcUrl,
      mirrorUrl: devnet.mirrorUrl,
      consensus: devnet.consensus.address,
      chainId: devnet.chainId,
    },
    xlayer: {
      rpcUrl: xlayer.rpcUrl,
      chainId: xlayer.chainId,
      stablecoin: xlayer.stablecoin.address,
      payTo: operator.evmAddress,
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
    // Only the seller's command reads the owner's key, and only the agent's its agent.
    environments: {
      ...environments,
      access: { ...environments['access'], OWNER_KEY },
      agent: agentEnvironment(devnet, { ports, contract }),
    },
    process: {
      pid: process.pid,
      children: Object.fromEntries(services.map(({ name, pid }) => [name, pid])),
    },
  }
}

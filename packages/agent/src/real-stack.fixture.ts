// The real thing for the command's tests: a local ledger and a facilitator in this process, the contract deployed by the
// seller's command, and the access service in its own process.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { startFacilitator } from '@tallystick/facilitator'
import { freePort } from '@tallystick/service-kit'
import { systemClock } from '@tallystick/x402'
import type { Address } from 'viem'
import { runAgentHere } from './command/run-agent.fixture.ts'

/** 10,000 HBAR. */
const BALANCE_TINYBAR = 1_000_000_000_000n
/** Short enough to wait for a renewal; a payment buys four, and a test that takes longer than that tops up first. */
const PERIOD_SECONDS = 10
/** A cold start on a busy machine. */
const READY_MS_MAX = 180_000
const POLL_MS = 100

type CommandResult = {
  readonly code: number
  readonly out: string
  readonly err: string
}

export type RealStack = {
  readonly devnet: Devnet
  readonly contract: Address
  readonly environment: Readonly<Record<string, string>>
  newAgent(name: string): Promise<DevnetAccount>
  /** Runs the agent's command in this process, with that key and change in its environment. */
  agent(
    key: string,
    line: readonly string[],
    change?: Readonly<Record<string, string>>,
  ): Promise<CommandResult>
  /** The same in its own process, which takes a second to start. */
  agentProcess(key: string, line: readonly string[]): Promise<CommandResult>
  stop(): Promise<void>
}

const findFile = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** What every process starts with. */
export const NODE_ENVIRONMENT = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
}

function runProcess(
  main: string,
  line: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const env = { ...NODE_ENVIRONMENT, ...environment }
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...line], { env }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, out, err })
    })
  })
}

async function runHere(
  line: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const { code, out, err } = await runAgentHere({
    arguments: line,
    environment,
    clock: systemClock,
  })
  return { code, out: `${out}\n`, err: err && `${err}\n` }
}

async function listening(child: ChildProcess, log: readonly string[]): Promise<string> {
  const endsAtMs = performance.now() + READY_MS_MAX
  for (;;) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(log.join(''))?.[0]
    if (found !== undefined && (await isReady(found))) return found
    if (child.exitCode !== null || performance.now() > endsAtMs) {
      throw new Error(`the access service is not ready:\n${log.join('').slice(-2_000)}`)
    }
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS)
    })
  }
}

async function isReady(baseUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${baseUrl}/ready`)).ok
  } catch {
    return false
  }
}

type Roles = Readonly<Record<'owner' | 'payTo' | 'recorder' | 'feePayer', DevnetAccount>>

async function createRoles(devnet: Devnet): Promise<Roles> {
  const create = async (name: string) =>
    await devnet.createAccount({ name: `agent-test ${name}`, balanceTinybar: BALANCE_TINYBAR })
  return {
    owner: await create('owner'),
    payTo: await create('pay-to'),
    recorder: await create('recorder'),
    feePayer: await create('fee-payer'),
  }
}

async function deploy(
  environment: Readonly<Record<string, string>>,
  roles: Roles,
): Promise<Address> {
  const main = findFile('../../../services/access/src/command/main.ts')
  const period = ['--period-seconds', String(PERIOD_SECONDS)]
  const terms = ['--price-hbar', '3', ...period, '--calls', '4', '--reserve-hbar', '200']
  const deployed = await runProcess(main, ['deploy', ...terms], {
    ...environment,
    OWNER_KEY: roles.owner.privateKey,
  })
  const contract = /ACCESS_CONTRACT=(0x[0-9a-f]{40})/.exec(deployed.out)?.[1]
  if (contract === undefined) throw new Error(`not deployed: ${deployed.out}${deployed.err}`)
  return contract as Address
}

/** Starts everything on free ports, with windows of `PERIOD_SECONDS` and 4 calls at 3 HBAR. */
export async function startRealStack(): Promise<RealStack> {
  const devnet = await startDevnet()
  const roles = await createRoles(devnet)
  const { address, nodeAccountId } = devnet.consensus
  const facilitator = await startFacilitator({
    network: 'hedera:testnet',
    consensusNodes: [{ address, accountId: nodeAccountId }],
    mirrorUrl: devnet.mirrorUrl,
    feePayer: roles.feePayer.accountId,
    feePayerKey: roles.feePayer.privateKey,
  })
  const ledger = {
    LEDGER_RPC_URL: devnet.rpcUrl,
    LEDGER_CHAIN_ID: String(devnet.chainId),
    MIRROR_URL: devnet.mirrorUrl,
    FACILITATOR_URL: facilitator.url,
  }
  const seller = {
    ...ledger,
    PAY_TO: roles.payTo.accountId,
    PAY_TO_KEY: roles.payTo.privateKey,
    RECORDER_KEY: roles.recorder.privateKey,
  }
  const ACCESS_CONTRACT = await deploy(seller, roles)
  const port = await freePort()
  const log: string[] = []
  const service = spawn(process.execPath, [findFile('../../../services/access/src/main.ts')], {
    env: {
      ...NODE_ENVIRONMENT,
      ...seller,
      ACCESS_CONTRACT,
      HOST: '127.0.0.1',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  service.stdout.on('data', (chunk: Buffer) => log.push(chunk.toString()))
  service.stderr.on('data', (chunk: Buffer) => log.push(chunk.toString()))
  const stop = async (): Promise<void> => {
    const ended = once(service, 'exit')
    if (service.exitCode === null && service.kill('SIGTERM')) await ended
    await facilitator.stop()
    await devnet.stop()
  }
  try {
    const environment = { ...ledger, ACCESS_CONTRACT, ACCESS_URL: await listening(service, log) }
    return {
      devnet,
      contract: ACCESS_CONTRACT,
      environment,
      newAgent: async (name) =>
        await devnet.createAccount({ name, balanceTinybar: BALANCE_TINYBAR }),
      agent: async (AGENT_KEY, line, change = {}) =>
        await runHere(line, { ...environment, ...change, AGENT_KEY }),
      agentProcess: async (AGENT_KEY, line) =>
        await runProcess(findFile('main.ts'), line, { ...environment, AGENT_KEY }),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

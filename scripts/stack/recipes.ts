// How each process of the local stack is started: its program, its environment as an operator would set it, and its
// secrets, new for each stack. service-process.ts starts and stops the processes.
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Devnet, DevnetAccount, XLayer } from '@tallystick/devnet'
import { systemClock } from '@tallystick/service-kit'
import { addUser } from '../../packages/issuer/src/adapters/users-file.ts'
import { runGrading } from '../../services/grading/src/command/run-grading.ts'
import type { StackPorts } from './ports.ts'
import type { PostgresPlace } from './postgres-place.ts'
import type { ServiceRecipe } from './service-process.ts'
import type { StackDescription } from './stack-file.ts'

const SECRET_BYTES = 32

const newSecret = (): string => randomBytes(SECRET_BYTES).toString('hex')

/** An empty folder for a service's database: like the local ledgers, the data starts over with each stack. */
function emptyFolder(dataFolder: string, service: string): string {
  const folder = join(dataFolder, service)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** The account with that name. Throws if the local ledger has none. */
export function devnetAccount(devnet: Devnet, name: string): DevnetAccount {
  const found = devnet.accounts.find((candidate) => candidate.name === name)
  if (found === undefined) throw new Error(`the local ledger has no account named ${name}`)
  return found
}

/** How the facilitator is started: with its own fee payer on the local ledger's only node and, where it runs, on X Layer. */
export function facilitatorRecipe(
  { devnet, xlayer }: { readonly devnet: Devnet; readonly xlayer?: XLayer },
  port: number,
): ServiceRecipe {
  const feePayer = devnetAccount(devnet, 'facilitator')
  // Access's receiver, and grading's.
  const payTo = devnetAccount(devnet, 'operator')
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
      SERVED_PAY_TO: `${payTo.accountId},${payTo.evmAddress}`,
      ...(xlayer && evmSettings(xlayer, feePayer)),
    },
  }
}

function evmSettings({ chainId, rpcUrl, stablecoin: token }: XLayer, feePayer: DevnetAccount) {
  return {
    EVM_RPC_URL: rpcUrl,
    EVM_CHAIN_ID: String(chainId),
    EVM_KEY: feePayer.privateKey,
    EVM_ASSETS: `${token.address}/${token.name}/${token.version}/${token.decimals}`,
  }
}

/** How access is started: over a deployed contract, with the operator's and the recorder's keys. */
export function accessRecipe(
  devnet: Devnet,
  {
    ports,
    contract,
  }: { readonly ports: Pick<StackPorts, 'access' | 'facilitator'>; readonly contract: string },
): ServiceRecipe {
  const payTo = devnetAccount(devnet, 'operator')
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
      RECORDER_KEY: devnetAccount(devnet, 'recorder').privateKey,
      // All callers here, people and tests alike, share this machine's one address.
      ADDRESS_CALLS_PER_SECOND: '0',
    },
  }
}

/** Where care runs, and its secrets, new for each stack. */
export type CarePlace = {
  readonly baseUrl: string
  readonly mcpUrl: string
  readonly writeSecret: string
  readonly tokenSecret: string
}

/** Secrets and addresses of the local care service. */
export function carePlace(port: number): CarePlace {
  const baseUrl = `http://127.0.0.1:${port}`
  return { baseUrl, mcpUrl: `${baseUrl}/mcp`, writeSecret: newSecret(), tokenSecret: newSecret() }
}

/** How care is started: on its own empty, sealed store. */
export function careRecipe(
  place: CarePlace,
  {
    port,
    dataFolder,
    postgres,
    signIn,
  }: {
    readonly port: number
    readonly dataFolder: string
    readonly postgres: PostgresPlace | undefined
    readonly signIn: SignInPlace | undefined
  },
): ServiceRecipe {
  const folder = emptyFolder(dataFolder, 'care')
  return {
    name: 'care',
    main: 'services/care/src/main.ts',
    readyUrl: `${place.baseUrl}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      BASE_URL: place.baseUrl,
      WRITE_SECRET: place.writeSecret,
      TOKEN_SECRET: place.tokenSecret,
      SEAL_KEYS: `local:${randomBytes(SECRET_BYTES).toString('base64')}`,
      DATABASE_PATH: join(folder, 'care.db'),
      // Also with PostgreSQL: the data ends with the stack.
      CHAIN_KEYS_PATH: join(folder, 'care.db.chain-keys'),
      ...postgres?.environment,
      ...(signIn && { TRUSTED_ISSUERS: JSON.stringify([{ issuer: signIn.url }]) }),
    },
  }
}

/** Where people sign in for care, and the one who may. */
export type SignInPlace = NonNullable<StackDescription['signIn']>

/** A clinician with a new password for each stack. */
export const signInPlace = (port: number): SignInPlace => ({
  url: `http://127.0.0.1:${port}`,
  name: 'ada',
  password: newSecret().slice(0, 16),
})

/** How the sign-in is started: for this care's two addresses, and for programs on this machine. */
export async function issuerRecipe(
  { url, name, password }: SignInPlace,
  {
    port,
    dataFolder,
    care,
  }: { readonly port: number; readonly dataFolder: string; readonly care: CarePlace },
): Promise<ServiceRecipe> {
  const folder = emptyFolder(dataFolder, 'issuer')
  const usersPath = join(folder, 'users.json')
  const scopes = ['care.read.user', 'care.read.assistant', 'care.write']
  await addUser(usersPath, { name, label: 'Ada', scopes, roles: [], password })
  return {
    name: 'issuer',
    main: 'packages/issuer/src/main.ts',
    readyUrl: `${url}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      BASE_URL: url,
      RESOURCES: JSON.stringify([care.mcpUrl, `${care.mcpUrl}/2026-07-28`]),
      USERS_PATH: usersPath,
      KEYS_PATH: join(folder, 'keys.json'),
      DATABASE_PATH: join(folder, 'issuer.db'),
      REGISTRATION: 'loopback',
    },
  }
}

/** Where grading runs, with a new secret for each stack. */
export type GradingPlace = {
  readonly baseUrl: string
  /** Signs tokens for uploads. */
  readonly tokenSecret: string
}

/** Secret and address of the local grading service. */
export function gradingPlace(port: number): GradingPlace {
  return { baseUrl: `http://127.0.0.1:${port}`, tokenSecret: newSecret() }
}

/** How grading is started: on its own empty ledger, paid in the local dollar token. */
export function gradingRecipe(
  place: GradingPlace,
  stack: {
    readonly xlayer: XLayer
    readonly payTo: string
    readonly ports: StackPorts
    readonly dataFolder: string
    readonly postgres: PostgresPlace | undefined
  },
): ServiceRecipe {
  const { xlayer, ports } = stack
  const folder = emptyFolder(stack.dataFolder, 'grading')
  const token = xlayer.stablecoin
  return {
    name: 'grading',
    main: 'services/grading/src/main.ts',
    readyUrl: `${place.baseUrl}/ready`,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(ports.grading),
      BASE_URL: place.baseUrl,
      DATABASE_PATH: join(folder, 'grading.db'),
      ...stack.postgres?.environment,
      PAY_TO: stack.payTo,
      NETWORK: `eip155:${xlayer.chainId}`,
      ASSET: `${token.address}/${token.name}/${token.version}/${token.decimals}`,
      LEDGER_RPC_URL: xlayer.rpcUrl,
      FACILITATOR_URL: `http://127.0.0.1:${ports.facilitator}`,
      TOKEN_SECRET: place.tokenSecret,
    },
  }
}

/** Imports synthetic matches into the ledger with the service's own command. Throws with the command's output. */
export async function seedGrading({ environment }: ServiceRecipe): Promise<void> {
  const printed: string[] = []
  const print = (line: string): void => void printed.push(line)
  const code = await runGrading({
    arguments: ['seed'],
    environment,
    clock: systemClock,
    stdin: process.stdin,
    print,
    printError: print,
  })
  if (code !== 0) throw new Error(`the grading ledger was not seeded:\n${printed.join('\n')}`)
}

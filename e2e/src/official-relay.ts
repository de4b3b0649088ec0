// The official JSON-RPC relay as a process of its own, unmodified, on our mirror and consensus nodes. Whoever has built it names its
// folder in HEDERA_RELAY_DIR (imitated-relay.ts names the commit); it is not on npm.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Devnet } from '@tallystick/devnet'
import { freePort } from '@tallystick/service-kit'
import { IMITATED_RELAY } from '../../packages/devnet/src/rpc/imitated-relay.ts'
import { devnetAccount } from '../../scripts/stack/recipes.ts'
import { eventually } from './eventually.ts'
import type { OwnEdge } from './replica-stack.ts'
import { ended, readOutput } from './spawned-stack.ts'

const folder = process.env['HEDERA_RELAY_DIR']

/** Why its tests cannot run, undefined if they can. */
export const relayMissing =
  folder === undefined
    ? 'HEDERA_RELAY_DIR names no built hiero-json-rpc-relay'
    : existsSync(join(folder, 'dist/index.js'))
      ? undefined
      : `HEDERA_RELAY_DIR holds no dist/index.js: ${folder}`

/** Starts the relay and waits until it answers. */
export async function startOfficialRelay(devnet: Devnet): Promise<OwnEdge> {
  const port = await freePort()
  const operator = devnetAccount(devnet, 'treasury')
  const { address, nodeAccountId } = devnet.consensus
  const child = spawn(process.execPath, ['dist/index.js'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      CHAIN_ID: `0x${devnet.chainId.toString(16)}`,
      DEBUG_API_ENABLED: 'true',
      HEDERA_NETWORK: JSON.stringify({ [address]: nodeAccountId }),
      // Its own tests share one address, as ours do.
      LIMIT_DURATION: '60000',
      LOG_LEVEL: 'error',
      MIRROR_NODE_URL: devnet.mirrorUrl,
      OPERATOR_ID_MAIN: operator.accountId,
      OPERATOR_KEY_FORMAT: 'HEX_ECDSA',
      OPERATOR_KEY_MAIN: operator.privateKey.slice(2),
      RATE_LIMIT_DISABLED: 'true',
      REDIS_ENABLED: 'false',
      SERVER_HOST: '127.0.0.1',
      SERVER_PORT: String(port),
      npm_package_version: IMITATED_RELAY.version,
    },
  })
  const output = readOutput(child)
  const rpcUrl = `http://127.0.0.1:${port}`
  const isAnswering = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`the relay ended:\n${output()}`)
    return callEdge(rpcUrl, 'eth_chainId').then(
      ({ result }) => result === '0x128',
      () => false,
    )
  }
  await eventually(isAnswering)
  return {
    rpcUrl,
    async stop() {
      child.kill('SIGTERM')
      const killed = setTimeout(() => child.kill('SIGKILL'), 5_000)
      await ended(child)
      clearTimeout(killed)
    },
  }
}

/** What the tests use of ethers, which comes with the relay. */
type Ethers = {
  JsonRpcProvider: new (
    url: string,
  ) => { waitForTransaction(hash: string): Promise<{ status: number }>; destroy(): void }
  Wallet: new (
    key: string,
    provider: object,
  ) => {
    address: string
    sendTransaction(transaction: object): Promise<{ hash: string }>
  }
  ContractFactory: new (
    abi: readonly never[],
    bytecode: string,
    wallet: object,
  ) => { deploy(): Promise<{ waitForDeployment(): Promise<object> }> }
}

export const loadEthers = (): Ethers =>
  createRequire(join(folder ?? '', 'package.json'))('ethers') as Ethers

type Answer = { readonly result?: unknown; readonly error?: { code: number; message: string } }

/** One JSON-RPC call and its answer, whatever it is. */
export async function callEdge(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers, body })).json() as Promise<Answer>
}

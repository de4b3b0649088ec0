import {
  type Account,
  type Chain,
  createClient,
  type Hex,
  type HttpTransport,
  http,
  type PublicActions,
  publicActions,
  type Client as ViemClient,
  type WalletActions,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hederaTestnet } from 'viem/chains'
import type { DevnetAccount } from '../ledger/genesis.ts'
import type { Devnet } from '../start-devnet.ts'

/** A viem client for one account, as a third party would create it: Hedera testnet with another URL. */
export type TestClient = ViemClient<HttpTransport, Chain, Account> &
  PublicActions &
  WalletActions<Chain, Account>

/** A viem client that signs as `account`. */
export function viemClient(devnet: Devnet, account: DevnetAccount): TestClient {
  return createClient({
    account: privateKeyToAccount(account.privateKey),
    chain: hederaTestnet,
    transport: http(devnet.rpcUrl, { retryCount: 0 }),
    pollingInterval: 10,
  })
    .extend(publicActions)
    .extend(walletActions)
}

export function accountNamed(devnet: Devnet, name: string): DevnetAccount {
  const account = devnet.accounts.find((candidate) => candidate.name === name)
  if (account === undefined) throw new Error(`there is no account ${name}`)
  return account
}

/** Sends one raw JSON-RPC message and returns its answer, whatever it is. */
export async function rpc(
  devnet: Devnet,
  method: string,
  parameters: readonly unknown[] = [],
): Promise<{ result?: unknown; error?: { code: number; message: string; data?: Hex } }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters })
  const response = await fetch(devnet.rpcUrl, { method: 'POST', body })
  // Every refusal begins with the id of its request, another each time.
  const text = (await response.text()).replace(/\[Request ID: [0-9a-f-]{36}\] /, '')
  return JSON.parse(text) as { result?: unknown }
}

/** Reads a path of the mirror node: status and body. */
export async function mirror(
  devnet: Devnet,
  path: string,
): Promise<{ status: number; body: { [name: string]: unknown } }> {
  const response = await fetch(devnet.mirrorUrl + path)
  return { status: response.status, body: (await response.json()) as { [name: string]: unknown } }
}

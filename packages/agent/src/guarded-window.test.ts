// A17 on a real ledger: the window that the command paid for and guarded, and everybody who is not its agent.

import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import { systemClock } from '@tallystick/x402'
import { createSIWxClientExtension } from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import {
  type Address,
  createPublicClient,
  createWalletClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccessAgent } from './access-agent.ts'
import { agentSigner } from './agent-signer.ts'
import { type RealStack, startRealStack } from './real-stack.fixture.ts'

let stack: RealStack

beforeAll(async () => {
  stack = await startRealStack()
})

afterAll(async () => {
  await stack.stop()
})

const readUrl = (endpoint: 'access' | 'status', agent: string): string =>
  `${stack.environment['ACCESS_URL']}/api/svc/${endpoint}?agent=${agent}`

/** An account whose window is open for half an hour, by the patron's gift of money and its own purchase. */
async function buyer(name: string, ...options: string[]): Promise<DevnetAccount> {
  const account = await stack.newAgent(name)
  const line = ['pay', '--max-hbar', '12', ...options]
  expect(await stack.agent(account.privateKey, line)).toMatchObject({ code: 0, err: '' })
  const { accountId, privateKey } = await stack.newAgent(`patron of ${name}`)
  const patron = createAccessAgent({
    baseUrl: stack.environment['ACCESS_URL'] ?? '',
    serviceName: 'svc',
    agent: account.evmAddress,
    signer: agentSigner({ privateKey, accountId }),
    ledger: { rpcUrl: stack.devnet.rpcUrl, chainId: stack.devnet.chainId },
    contract: stack.contract,
    clock: systemClock,
  })
  expect(await patron.topUp(60_000_000_000n)).toMatchObject({ kind: 'topped-up' })
  if (!options.includes('--unguarded')) await strangersMeet(402, account.evmAddress)
  return account
}

/** The service may go by a window that it read up to 2 s ago, so a new guard is in force a little later (A18). */
async function strangersMeet(status: number, agent: Address): Promise<void> {
  const meet = async () => (await fetch(readUrl('access', agent))).status
  await expect.poll(meet, { interval: 2_100 }).toBe(status)
}

async function makeContract(agent: Address): Promise<Address> {
  const status = (await (await fetch(readUrl('status', agent))).json()) as { contract: Address }
  return status.contract
}

/** What anybody can do to an agent's guard on the contract. */
async function readGuard(agent: Address) {
  const at = { address: await makeContract(agent), abi: accessWindowAbi } as const
  const transport = http(stack.devnet.rpcUrl)
  const reader = createPublicClient({ transport })
  const read = async () =>
    await reader.readContract({ ...at, functionName: 'windowOf', args: [agent, 0n] })
  return {
    isSet: async () => (await read()).isGuarded,
    /** What the agent signs, for the nonce that the contract has now. */
    async signature(by: DevnetAccount, isGuarded: boolean): Promise<Hex> {
      const { guardNonce } = await read()
      const types = ['uint256', 'address', 'address', 'bool', 'uint256'] as const
      const statement = keccak256(
        encodeAbiParameters(
          types.map((type) => ({ type })),
          [BigInt(stack.devnet.chainId), at.address, agent, isGuarded, BigInt(guardNonce)],
        ),
      )
      return await privateKeyToAccount(by.privateKey).signMessage({ message: { raw: statement } })
    },
    /** Sends `setGuard` from an account; returns the contract's error where it refuses. */
    async set(by: DevnetAccount, isGuarded: boolean, signature: Hex): Promise<string> {
      const account = privateKeyToAccount(by.privateKey)
      const args = [agent, isGuarded, signature] as const
      try {
        await reader.simulateContract({ ...at, functionName: 'setGuard', args, account })
      } catch (error) {
        return /AccessWindow_\w+/.exec(String(error))?.[0] ?? String(error)
      }
      const hash = await createWalletClient({ account, transport }).writeContract({
        ...at,
        functionName: 'setGuard',
        args,
        chain: null,
        gas: 150_000n,
        gasPrice: await reader.getGasPrice(),
        type: 'legacy',
      })
      return (await reader.waitForTransactionReceipt({ hash, pollingInterval: 20 })).status
    },
  }
}

test('A17: a stranger who reads an address from the chain cannot use up a guarded window', async () => {
  const { evmAddress, privateKey } = await buyer('wary')
  const before = await (await fetch(readUrl('access', evmAddress))).json()
  expect(before).toMatchObject({ error: 'sign_in_required', accepts: [] })
  for (let call = 0; call < 50; call += 1)
    expect((await fetch(readUrl('access', evmAddress))).status).toBe(402)
  const status = await (await fetch(readUrl('status', evmAddress))).json()
  expect(status).toMatchObject({ hasAccess: true, usage: { callsAllowed: 4 } })
  // Of 4 calls the window still has enough: the command is served although 51 strangers called.
  expect(await stack.agent(privateKey, ['pay'])).toMatchObject({ code: 0, err: '' })
})

test('A17: the official client with its sign-in extension gets into a guarded window unmodified', async () => {
  const { evmAddress, privateKey } = await buyer('official')
  const account = privateKeyToAccount(privateKey)
  const client = new x402Client().registerExtension(
    createSIWxClientExtension({ signers: [account] }),
  )
  const answer = await wrapFetchWithPayment(fetch, client)(readUrl('access', evmAddress))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('access-token')).toMatch(/^v1\./)
  expect(await answer.json()).toMatchObject({ access: 'granted', paidThisRequest: false })
  const stranger = privateKeyToAccount((await stack.newAgent('other key')).privateKey)
  const theirs = new x402Client().registerExtension(
    createSIWxClientExtension({ signers: [stranger] }),
  )
  const call = wrapFetchWithPayment(fetch, theirs)(readUrl('access', evmAddress))
  await expect(call).rejects.toThrow('Failed to create payment payload')
})

test('A17: a command whose ACCESS_URL is another name of the service is told so, and signs nothing', async () => {
  const { privateKey } = await buyer('misnamed')
  const ACCESS_URL = (stack.environment['ACCESS_URL'] ?? '').replace('127.0.0.1', 'localhost')
  const { code, out } = await stack.agent(privateKey, ['pay'], { ACCESS_URL })
  expect(code).toBe(1)
  expect(out).toContain('no proof of its key was taken (sign_in_required)')
  expect(out).toContain('ACCESS_URL must name that host')
})

test('A17: guard off lets everybody in again, guard on keeps strangers out', async () => {
  const { evmAddress, privateKey } = await buyer('open', '--unguarded')
  expect((await fetch(readUrl('access', evmAddress))).status).toBe(200)
  const on = await stack.agent(privateKey, ['guard', 'on'])
  expect(on).toMatchObject({ code: 0, err: '' })
  expect(on.out).toContain('The window is guarded')
  await strangersMeet(402, evmAddress)
  const off = await stack.agent(privateKey, ['guard', 'off', '--json'])
  expect(JSON.parse(off.out)).toMatchObject({ kind: 'guard-set', isGuarded: false })
  await strangersMeet(429, evmAddress)
})

test('A17: a guard set by a payer or a stranger is refused', async () => {
  const { evmAddress } = await buyer('victim', '--unguarded')
  const payer = await stack.newAgent('payer')
  const line = ['pay', '--max-hbar', '12', '--for', evmAddress]
  expect(await stack.agent(payer.privateKey, line)).toMatchObject({ code: 0, err: '' })
  const guard = await readGuard(evmAddress)
  expect(await guard.set(payer, true, '0x')).toBe('AccessWindow_NotAgent')
  const own = await guard.signature(payer, true)
  expect(await guard.set(payer, true, own)).toBe('AccessWindow_NotAgent')
  expect(await guard.isSet()).toBe(false)
})

test('A17: a guard signature serves whoever sends it once, and not after the guard was unset', async () => {
  const agent = await buyer('signer', '--unguarded')
  const guard = await readGuard(agent.evmAddress)
  const relay = await stack.newAgent('relay')
  const signature = await guard.signature(agent, true)
  expect(await guard.set(relay, false, signature)).toBe('AccessWindow_NotAgent')
  expect(await guard.set(relay, true, signature)).toBe('success')
  expect(await guard.isSet()).toBe(true)
  expect(await stack.agent(agent.privateKey, ['guard', 'off'])).toMatchObject({ code: 0 })
  expect(await guard.set(relay, true, signature)).toBe('AccessWindow_NotAgent')
  expect(await guard.isSet()).toBe(false)
})

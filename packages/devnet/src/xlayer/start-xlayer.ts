// The X Layer stand-in: plain anvil with chain id 196 and a dollar token with signed transfers (L17). Everything that it
// consists of is made here and ended by `stop`.

import { stablecoinAbi, stablecoinBytecode } from '@tallystick/contracts'
import { pause, systemClock } from '@tallystick/service-kit'
import { hederaSigner } from '@tallystick/x402/hedera'
import { type Address, encodeFunctionData, getContractAddress, type Hex, parseEther } from 'viem'
import { type AnvilClient, createAnvilClient } from '../anvil/anvil-client.ts'
import { AnvilFailed, startAnvil } from '../anvil/anvil-process.ts'
import { createConsensusClock } from '../ledger/consensus-clock.ts'
import { lowerAddress } from '../ledger/entity-id.ts'
import { AGENTS, privateKeyOf } from '../ledger/genesis.ts'
import { hostAndPort, requireFreePort } from '../listen.ts'
import type { XLayer, XLayerAccount, XLayerControls, XLayerOptions } from './xlayer.ts'

const CHAIN_ID = 196

/** Gas of one block; X Layer's is of this order. */
const BLOCK_GAS_MAX = 30_000_000

/** What the facilitator and the token's owner hold for gas: more than tests can spend. Agents hold none. */
const GAS_BALANCE_WEI = parseEther('1000')

/** anvil answers a transaction's hash before its block, which follows within milliseconds; these are 5 s. */
const RECEIPT_LOOKS_MAX = 500
const RECEIPT_PAUSE_MS = 10

/** What each agent holds: $10,000, a million grades. */
const AGENT_BALANCE = 10_000_000_000n

/**
 * Starts a local X Layer; anvil runs as a child that cannot outlive this process.
 * @throws PortTaken naming the port, AnvilMissing naming what to install, AnvilFailed
 */
export async function startXLayer(options: XLayerOptions = {}): Promise<XLayer> {
  const { host = '127.0.0.1', port = 0 } = options
  await requireFreePort({ name: 'X Layer JSON-RPC', host, port })
  const clock = createConsensusClock(options.clock ?? systemClock)
  const anvilProcess = await startAnvil({
    chainId: CHAIN_ID,
    genesisSecond: clock.nowSeconds(),
    gasLimit: BLOCK_GAS_MAX,
    host,
    port,
  })
  const anvil = createAnvilClient(anvilProcess)
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= (async () => {
      clock.stop()
      anvil.close()
      await anvilProcess.stop()
    })()
    return stopping
  }
  try {
    const accounts = xLayerAccounts()
    const owner = addressOf(accounts, 'owner')
    const token = getContractAddress({ from: owner, nonce: 0n })
    const controls = createControls({ anvil, clock, owner, token })
    await fund({ anvil, accounts, controls, owner })
    return {
      rpcUrl: `http://${hostAndPort(anvilProcess.host, anvilProcess.port)}`,
      chainId: CHAIN_ID,
      stablecoin: { address: lowerAddress(token), name: 'USD₮0', version: '1', decimals: 6 },
      accounts,
      controls,
      clock,
      stop,
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}

async function fund(chain: {
  anvil: AnvilClient
  accounts: readonly XLayerAccount[]
  controls: XLayerControls
  owner: Address
}): Promise<void> {
  const { accounts, anvil, controls, owner } = chain
  await controls.setGasBalance(owner, GAS_BALANCE_WEI)
  await controls.setGasBalance(addressOf(accounts, 'facilitator'), GAS_BALANCE_WEI)
  await send(anvil, { from: owner, data: stablecoinBytecode })
  for (const { address, name } of accounts) {
    if (name.startsWith('agent-')) await controls.mint(address, AGENT_BALANCE)
  }
}

function createControls(chain: {
  anvil: AnvilClient
  clock: ReturnType<typeof createConsensusClock>
  owner: Address
  token: Address
}): XLayerControls {
  const { anvil, clock, owner, token } = chain
  const abi = stablecoinAbi
  return {
    async advanceSeconds(seconds) {
      await anvil.batch([['evm_increaseTime', [seconds]], ['evm_mine']])
      clock.travelTo(clock.unixMs() + seconds * 1_000)
    },
    async mint(to, value) {
      const data = encodeFunctionData({ abi, functionName: 'mint', args: [to, value] })
      await send(anvil, { from: owner, to: token, data })
    },
    async holdBlocks(isHeld) {
      await anvil.call('evm_setAutomine', [!isHeld])
      if (!isHeld) await anvil.call('evm_mine')
    },
    async setToleratesReplay(isTolerated) {
      const functionName = 'setToleratesReplay'
      const data = encodeFunctionData({ abi, functionName, args: [isTolerated] })
      await send(anvil, { from: owner, to: token, data })
    },
    async setGasBalance(address, wei) {
      await anvil.call('anvil_setBalance', [address, `0x${wei.toString(16)}`])
    },
    async setCode(address, code) {
      await anvil.call('anvil_setCode', [address, code])
    },
    async balanceOf(address) {
      const data = encodeFunctionData({ abi, functionName: 'balanceOf', args: [address] })
      return BigInt(String(await anvil.call('eth_call', [{ to: token, data }, 'latest'])))
    },
  }
}

/** Sends a transaction of an account that anvil impersonates, and checks that it succeeded. */
async function send(
  anvil: AnvilClient,
  transaction: { from: Address; to?: Address; data: Hex },
): Promise<void> {
  const hash = await anvil.call('eth_sendTransaction', [transaction])
  for (let look = 0; look < RECEIPT_LOOKS_MAX; look += 1) {
    const receipt = await anvil.call('eth_getTransactionReceipt', [hash])
    if (isReceipt(receipt)) {
      if (receipt.status === '0x1') return
      throw new AnvilFailed('the token refused a transaction of its owner')
    }
    await pause(systemClock, RECEIPT_PAUSE_MS)
  }
  throw new AnvilFailed('anvil mined no transaction of the token’s owner; are its blocks held?')
}

function isReceipt(value: unknown): value is { status: string } {
  return typeof value === 'object' && value !== null && 'status' in value
}

function addressOf(accounts: readonly XLayerAccount[], name: string): Address {
  const account = accounts.find((one) => one.name === name)
  if (account === undefined) throw new Error(`there is no account ${name}`)
  return account.address
}

/** The accounts, with the keys of the local Hedera: who holds gas or is paid, and the agents, who hold tokens. */
function xLayerAccounts(): XLayerAccount[] {
  return ['owner', 'facilitator', 'operator', ...AGENTS].map((name) => {
    const privateKey = privateKeyOf(name)
    const { evmAddress = '0x' } = hederaSigner({ accountId: '', privateKey })
    return { name, address: evmAddress, privateKey }
  })
}

// The X Layer stand-in: plain anvil with chain id 196 and a dollar token with signed transfers (L17). Everything in it is
// created here and ended by `stop`.

import { stablecoinAbi, stablecoinBytecode } from '@tallystick/contracts'
import { type Clock, systemClock } from '@tallystick/service-kit'
import { hederaSigner } from '@tallystick/x402/hedera'
import { type Address, encodeFunctionData, getContractAddress, type Hex, parseEther } from 'viem'
import { type AnvilClient, AnvilUnavailable, createAnvilClient } from '../anvil/anvil-client.ts'
import { AnvilFailed, startAnvil } from '../anvil/anvil-process.ts'
import { createConsensusClock } from '../ledger/consensus-clock.ts'
import { lowerAddress } from '../ledger/entity-id.ts'
import { AGENTS, derivePrivateKey } from '../ledger/genesis.ts'
import { hostAndPort, requireFreePort } from '../listen.ts'

const CHAIN_ID = 196 as const

/** The EIP-712 domain is that of the real chain's token. */
const STABLECOIN = { name: 'USD₮0', version: '1', decimals: 6 } as const

/** Gas of one block, about as on X Layer. */
const BLOCK_GAS_MAX = 30_000_000

/** How often an idle chain closes a block, about as on X Layer, ms: who looks for a payment must see that time has passed. */
const IDLE_BLOCK_MS = 1_000

/** Blocks that are kept, two hours of an idle chain: far more than the longest payment is valid, and it may run for days. */
const BLOCKS_KEPT = 7_200

/** What the facilitator and the token's owner hold for gas: more than tests can spend. Agents hold none. */
const GAS_BALANCE_WEI = parseEther('1000')

/** What each agent holds: $10,000, a million grades. */
const AGENT_BALANCE = 10_000_000_000n

export type XLayerOptions = {
  /** Port of the JSON-RPC; 0, the default, takes a free one. */
  port?: number
  /** Address to listen on; loopback by default. */
  host?: string
  /** The chain's time at its start, by default the machine's. From then on, blocks follow wall time. */
  clock?: Clock
}

/** An account with its key, the same as for the agents and roles of the local Hedera. The address is lower case. */
export type XLayerAccount = { name: string; address: Address; privateKey: Hex }

/** A running X Layer stand-in. */
export type XLayer = Awaited<ReturnType<typeof startXLayer>>

/**
 * Starts a local X Layer; anvil runs as a child that cannot outlive this process.
 * @throws PortTaken naming the port, AnvilMissing naming what to install, AnvilFailed
 */
export async function startXLayer(options: XLayerOptions = {}) {
  const { host = '127.0.0.1', port = 0 } = options
  await requireFreePort({ name: 'X Layer JSON-RPC', host, port })
  const clock = createConsensusClock(options.clock ?? systemClock)
  const anvilProcess = await startAnvil({
    chainId: CHAIN_ID,
    genesisSecond: clock.nowSeconds(),
    gasLimit: BLOCK_GAS_MAX,
    blocksKept: BLOCKS_KEPT,
    host,
    port,
  })
  const anvil = createAnvilClient(anvilProcess)
  let stopping: Promise<void> | undefined
  /** Ends anvil. Can be called again. */
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
    const owner = findAddress(accounts, 'owner')
    const token = getContractAddress({ from: owner, nonce: 0n })
    const idle = { areHeld: false }
    const controls = createControls({ anvil, clock, owner, token, idle })
    await fund({ anvil, accounts, controls, owner })
    closeIdleBlocks({ anvil, clock, idle })
    return {
      /** JSON-RPC, e.g. `http://127.0.0.1:8546`. */
      rpcUrl: `http://${hostAndPort(anvilProcess.host, anvilProcess.port)}`,
      chainId: CHAIN_ID,
      /** The payment token. It has its own address, so a signature for it is worthless on the real chain. */
      stablecoin: { address: lowerAddress(token), ...STABLECOIN },
      /** The roles `owner`, `facilitator` and `operator`, and ten agents. */
      accounts,
      controls,
      /** The chain's time with its travel, for services in the same process. */
      clock: clock as Clock,
      stop,
    }
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** Closes blocks while nobody sends anything, until the clock stops. */
function closeIdleBlocks(chain: {
  readonly anvil: AnvilClient
  readonly clock: ReturnType<typeof createConsensusClock>
  readonly idle: { readonly areHeld: boolean }
}): void {
  const { anvil, clock, idle } = chain
  const close = async (): Promise<void> => {
    try {
      const block = await anvil.call('eth_getBlockByNumber', ['latest', false])
      const { timestamp } = block as { readonly timestamp: Hex }
      // Blocks of transactions may have run ahead of the clock; an idle one would keep them there.
      if (!idle.areHeld && Number(timestamp) < clock.nowSeconds()) await anvil.call('evm_mine')
    } catch (error) {
      // It is ending, or busy; the next look tries again.
      if (!(error instanceof AnvilUnavailable)) throw error
    }
    wait()
  }
  const wait = (): void => void clock.after(IDLE_BLOCK_MS, () => void close())
  wait()
}

async function fund(chain: {
  anvil: AnvilClient
  accounts: readonly XLayerAccount[]
  controls: Controls
  owner: Address
}): Promise<void> {
  const { accounts, anvil, controls, owner } = chain
  await controls.setGasBalance(owner, GAS_BALANCE_WEI)
  await controls.setGasBalance(findAddress(accounts, 'facilitator'), GAS_BALANCE_WEI)
  await send(anvil, { from: owner, data: stablecoinBytecode })
  for (const { address, name } of accounts) {
    if (name.startsWith('agent-')) await controls.mint(address, AGENT_BALANCE)
  }
}

type Controls = ReturnType<typeof createControls>

/** Everything that a test may do to the chain. */
function createControls(chain: {
  anvil: AnvilClient
  clock: ReturnType<typeof createConsensusClock>
  owner: Address
  token: Address
  idle: { areHeld: boolean }
}) {
  const { anvil, clock, idle, owner, token } = chain
  const abi = stablecoinAbi
  return {
    /** Moves the time of the chain, and of `clock`, forward and closes a block. */
    async advanceSeconds(seconds: number): Promise<void> {
      await anvil.batch([['evm_increaseTime', [seconds]], ['evm_mine']])
      clock.travelTo(clock.unixMs() + seconds * 1_000)
    },
    /** Mints new tokens, base units (1e-6 dollar). */
    async mint(to: Address, value: bigint): Promise<void> {
      const data = encodeFunctionData({ abi, functionName: 'mint', args: [to, value] })
      await send(anvil, { from: owner, to: token, data })
    },
    /** Holds transactions back from blocks, or releases the held ones. */
    async holdBlocks(isHeld: boolean): Promise<void> {
      idle.areHeld = isHeld
      await anvil.call('evm_setAutomine', [!isHeld])
      if (!isHeld) await anvil.call('evm_mine')
    },
    /** Whether a used nonce only emits an event, as with the tokens of Paxos, instead of reverting. */
    async setToleratesReplay(isTolerated: boolean): Promise<void> {
      const functionName = 'setToleratesReplay'
      const data = encodeFunctionData({ abi, functionName, args: [isTolerated] })
      await send(anvil, { from: owner, to: token, data })
    },
    /** Sets an account's native balance in wei, which pays for gas. */
    async setGasBalance(address: Address, wei: bigint): Promise<void> {
      await anvil.call('anvil_setBalance', [address, `0x${wei.toString(16)}`])
    },
    /** Puts code at an address, e.g. a contract wallet. */
    async setCode(address: Address, code: Hex): Promise<void> {
      await anvil.call('anvil_setCode', [address, code])
    },
    /** Token balance, base units. */
    async balanceOf(address: Address): Promise<bigint> {
      const data = encodeFunctionData({ abi, functionName: 'balanceOf', args: [address] })
      return BigInt(String(await anvil.call('eth_call', [{ to: token, data }, 'latest'])))
    },
  }
}

/** Sends a transaction from an account that anvil impersonates, and waits for its success. Blocks must not be held. */
async function send(
  anvil: AnvilClient,
  transaction: { from: Address; to?: Address; data: Hex },
): Promise<void> {
  const receipt = await anvil.call('eth_sendTransactionSync', [transaction])
  if ((receipt as { status: Hex }).status === '0x1') return
  throw new AnvilFailed('the token refused a transaction of its owner')
}

function findAddress(accounts: readonly XLayerAccount[], name: string): Address {
  const account = accounts.find((entry) => entry.name === name)
  if (account === undefined) throw new Error(`there is no account ${name}`)
  return account.address
}

/** The accounts, with the local Hedera's keys: roles, which hold gas or get paid, and agents, which hold tokens. */
function xLayerAccounts(): XLayerAccount[] {
  return ['owner', 'facilitator', 'operator', ...AGENTS].map((name) => {
    const privateKey = derivePrivateKey(name)
    const { evmAddress = '0x' } = hederaSigner({ accountId: '', privateKey })
    return { name, address: evmAddress, privateKey }
  })
}

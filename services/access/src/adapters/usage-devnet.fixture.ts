// A local ledger with the access contract and agents whose windows are open, for the tests of the metering.
import { accessWindowAbi, accessWindowBytecode } from '@tallystick/contracts'
import { type Devnet, type DevnetAccount, startDevnet } from '@tallystick/devnet'
import { systemClock } from '@tallystick/service-kit'
import {
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  type TransactionReceipt,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hederaTestnet } from 'viem/chains'
import type { UsageCall } from '../metering/usage-call.ts'
import type { UsageLedger } from '../metering/usage-ledger.ts'
import { createLedgerFacts, WEIBAR_PER_TINYBAR } from './ledger-facts.ts'
import { createRecorderLedger } from './recorder-ledger.ts'
import { createRelay } from './relay.ts'

/** 1 HBAR. */
const PRICE_TINYBAR = 100_000_000n
/** 100,000 HBAR, for the owner and each recorder. */
const BALANCE_TINYBAR = 10_000_000_000_000n
/** Deployment needs about 4 M, opening a window without arming about 0.2 M. */
const OWNER_GAS = 6_000_000n

export type UsageDevnet = {
  readonly devnet: Devnet
  readonly contract: Hex
  /** Private keys of the contract's recorders. */
  readonly recorderKeys: readonly Hex[]
  openLedger(recorderAt?: number): UsageLedger
  /** Opens a window of that many periods for a new agent; returns the agent's address, lower case. */
  openWindow(periods?: number): Promise<string>
  /** A call admitted by a chain read of the agent's window made now. */
  readCall(agent: string): Promise<UsageCall>
  /** The receipt, once there is one. */
  awaitReceipt(hash: string): Promise<TransactionReceipt>
  stop(): Promise<void>
}

/** Starts the ledger and deploys a contract with this offer; it has no gas reserve, so that windows renew lazily. */
export async function startUsageDevnet(options: {
  readonly quota: number
  readonly periodSeconds?: number
  readonly recorderCount?: number
}): Promise<UsageDevnet> {
  const devnet = await startDevnet()
  const makeAccount = (name: string) =>
    devnet.createAccount({ name, balanceTinybar: BALANCE_TINYBAR })
  const owner = createOwner(devnet, await makeAccount('usage owner'))
  const recorders: DevnetAccount[] = []
  for (let at = 0; at < (options.recorderCount ?? 1); at += 1)
    recorders.push(await makeAccount(`usage recorder ${at}`))
  const contract = await owner.deploy({ ...options, recorders })
  let agents = 0
  return {
    devnet,
    contract,
    recorderKeys: recorders.map(({ privateKey }) => privateKey),
    openLedger: (recorderAt = 0) =>
      createRecorderLedger({
        ...connectRelay(devnet.rpcUrl),
        chainId: devnet.chainId,
        contract,
        privateKey: recorders[recorderAt]?.privateKey ?? '0x',
      }),
    async openWindow(periods = 1) {
      agents += 1
      const agent: Hex = `0x${(0xa9e70000 + agents).toString(16).padStart(40, '0')}`
      await owner.open({ contract, agent, valueTinybar: PRICE_TINYBAR * BigInt(periods) })
      return agent
    },
    async readCall(agent) {
      const readAtMs = Date.now()
      const window = await owner.client.readContract({
        address: contract,
        abi: accessWindowAbi,
        functionName: 'windowOf',
        args: [agent as Hex, BigInt(devnet.nowSeconds())],
      })
      return {
        agent,
        windowExpiresAtSeconds: Number(window.expiresAt),
        windowStartsAtSeconds: Number(window.expiresAt) - window.periodSeconds,
        callsAllowed: window.callsAllowed,
        callsUsedInRead: window.callsUsed,
        readAtMs,
      }
    },
    awaitReceipt: (hash) => owner.client.waitForTransactionReceipt({ hash: hash as Hex }),
    stop: () => devnet.stop(),
  }
}

/** The contract's owner, who deploys it and pays for the windows. */
function createOwner(devnet: Devnet, { privateKey }: DevnetAccount) {
  const account = privateKeyToAccount(privateKey)
  const transport = http(devnet.rpcUrl)
  const client = createPublicClient({ chain: hederaTestnet, transport, pollingInterval: 20 })
  const wallet = createWalletClient({ chain: hederaTestnet, transport, account })
  const succeeded = async (hash: Hex): Promise<TransactionReceipt> => {
    const receipt = await client.waitForTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error('the transaction was reverted')
    return receipt
  }
  return {
    client,
    async deploy(offer: {
      readonly quota: number
      readonly periodSeconds?: number
      readonly recorders: readonly DevnetAccount[]
    }): Promise<Hex> {
      const deployment = {
        owner: account.address,
        forwarder: account.address,
        recorders: offer.recorders.map(({ evmAddress }) => evmAddress),
        priceTinybar: PRICE_TINYBAR,
        periodSeconds: offer.periodSeconds ?? 3600,
        callsAllowed: offer.quota,
        slotSeconds: 1,
      }
      const hash = await wallet.deployContract({
        abi: accessWindowAbi,
        bytecode: accessWindowBytecode,
        args: [deployment],
        gas: OWNER_GAS,
        gasPrice: await client.getGasPrice(),
        type: 'legacy',
      })
      const { contractAddress } = await succeeded(hash)
      if (contractAddress === null || contractAddress === undefined)
        throw new Error('the contract was not deployed')
      return contractAddress
    },
    async open(window: {
      readonly contract: Hex
      readonly agent: Hex
      readonly valueTinybar: bigint
    }): Promise<void> {
      const hash = await wallet.writeContract({
        address: window.contract,
        abi: accessWindowAbi,
        functionName: 'open',
        args: [window.agent],
        value: window.valueTinybar * WEIBAR_PER_TINYBAR,
        gas: OWNER_GAS,
        gasPrice: await client.getGasPrice(),
        type: 'legacy',
      })
      await succeeded(hash)
    },
  }
}

/** The relay in real time, and the facts read through it. */
export function connectRelay(url: string) {
  const relay = createRelay({ url, clock: systemClock })
  return { relay, facts: createLedgerFacts({ relay, clock: systemClock }) }
}

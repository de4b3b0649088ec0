/**
 * The ledger of one recorder key over JSON-RPC: encodes batches for the access contract, signs them with a local
 * account, sends the bytes exactly once per request, and decodes what their receipts counted. Nonces, prices, order and
 * repetition are decided in domain/usage-recorder.ts.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import {
  decodeAbiParameters,
  encodeFunctionData,
  getAbiItem,
  type Hex,
  keccak256,
  type Log,
  type PublicClient,
  parseTransaction,
  prepareEncodeFunctionData,
  toEventSelector,
  toHex,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type {
  SignedUsage,
  UsageCount,
  UsageEntry,
  UsageLedger,
  UsageReceipt,
  UsageSendResult,
} from '../domain/usage-ledger.ts'
import { GAS_PRICE_FACTOR, SEAL_AT_AGENTS } from '../domain/usage-limits.ts'
import {
  createReadingClient,
  createSendingClient,
  isNotFound,
  sendRefusal,
  WEIBAR_PER_TINYBAR,
} from './ledger-client.ts'
import { readWindow } from './viem-access-contract.ts'

/** Gas of a transaction before its first entry: 21,000, the call, and a margin. */
const BASE_GAS = 45_000n
/** Gas of one entry at its most expensive, the first of its window (10,900), with its call data and a margin. */
const ENTRY_GAS = 16_000n

/** The ledger did not answer, or answered nothing that says what became of the request. */
export class UsageLedgerUnavailable extends Error {
  override name = 'UsageLedgerUnavailable'
}

type ViemUsageLedgerOptions = {
  readonly rpcUrl: string
  readonly chainId: number
  /** The access contract. */
  readonly contract: Hex
  /** The recorder's key, which the contract must know as a recorder. */
  readonly privateKey: Hex
}

/** Gas limit of a transaction with so many entries: what it needs at most, since the account must hold all of it. */
export function usageGasLimit(entryCount: number): bigint {
  return BASE_GAS + ENTRY_GAS * BigInt(entryCount)
}

/** What a full batch may have to hold at a quoted gas price, tinybar. */
export const fullBatchTinybar = (quotedWeibar: bigint): bigint =>
  (usageGasLimit(SEAL_AT_AGENTS) * GAS_PRICE_FACTOR * quotedWeibar) / WEIBAR_PER_TINYBAR

/** What the recorder holds, and what it must hold for a full batch, tinybar. Throws viem's errors. */
export async function readRecorderGas(client: PublicClient, recorder: Hex) {
  const [held, gasPrice] = await Promise.all([
    client.getBalance({ address: recorder }),
    client.getGasPrice(),
  ])
  return { held: held / WEIBAR_PER_TINYBAR, needed: fullBatchTinybar(gasPrice) }
}

/** Returns the ledger of that key. It connects to nothing yet. Every method rejects with UsageLedgerUnavailable. */
export function createViemUsageLedger(options: ViemUsageLedgerOptions): UsageLedger {
  const { contract, chainId } = options
  const client = createReadingClient(options.rpcUrl)
  const sending = createSendingClient(options.rpcUrl)
  const account = privateKeyToAccount(options.privateKey)
  const readNonce = () =>
    answered('the nonce could not be read', () =>
      client.getTransactionCount({ address: account.address, blockTag: 'latest' }),
    )
  return {
    readNonce,
    quoteGasPriceWeibar: () =>
      answered('the gas price could not be read', () => client.getGasPrice()),
    sign: (usage) => signUsage(account, { chainId, contract, ...usage }),
    send: (rawTransaction) => sendUsage({ client: sending, readNonce }, rawTransaction as Hex),
    readReceipt: (hash) =>
      answered('the receipt could not be read', () =>
        readUsageReceipt(client, { contract, hash: hash as Hex }),
      ),
    readBlockSeconds: () =>
      answered('the latest block could not be read', async () =>
        Number((await client.getBlock({ blockTag: 'latest' })).timestamp),
      ),
    readCallsUsed: ({ agent, windowExpiresAtSeconds }) =>
      answered('the usage could not be read', async () => {
        const window = await readWindow(client, {
          contract,
          agent: agent as Hex,
          atSeconds: windowExpiresAtSeconds - 1,
        })
        return window.expiresAt === BigInt(windowExpiresAtSeconds) ? window.callsUsed : null
      }),
  }
}

async function answered<Answer>(what: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    throw new UsageLedgerUnavailable(what, { cause: error })
  }
}

async function signUsage(
  account: PrivateKeyAccount,
  usage: Parameters<UsageLedger['sign']>[0] & { readonly chainId: number; readonly contract: Hex },
): Promise<SignedUsage> {
  const { chainId, contract, entries, nonce, gasPriceWeibar } = usage
  // Legacy, because Hedera's block header carries a base fee that EIP-1559 estimates make nothing of.
  const rawTransaction = await account.signTransaction({
    type: 'legacy',
    chainId,
    nonce,
    to: contract,
    data: encodeUsage(entries),
    gas: usageGasLimit(entries.length),
    gasPrice: gasPriceWeibar,
  })
  return { nonce, gasPriceWeibar, rawTransaction, hash: keccak256(rawTransaction) }
}

const recordUsage = prepareEncodeFunctionData({ abi: accessWindowAbi, functionName: 'recordUsage' })
const recordUsageBatch = prepareEncodeFunctionData({
  abi: accessWindowAbi,
  functionName: 'recordUsageBatch',
})

/** One entry as `recordUsage`, any other number as `recordUsageBatch`. */
function encodeUsage(entries: readonly UsageEntry[]): Hex {
  const [first] = entries
  return first !== undefined && entries.length === 1
    ? encodeFunctionData({
        ...recordUsage,
        args: [first.agent as Hex, first.calls, BigInt(first.windowExpiresAtSeconds)],
      })
    : encodeFunctionData({
        ...recordUsageBatch,
        args: [entries.map(packUsage)],
      })
}

/** A word of `recordUsageBatch`: agent (160 bits, high), calls (32, two's complement), end of the window (64, low). */
function packUsage({ agent, calls, windowExpiresAtSeconds }: UsageEntry): Hex {
  const packedCalls = BigInt.asUintN(32, BigInt(calls))
  const word = (BigInt(agent) << 96n) | (packedCalls << 64n) | BigInt(windowExpiresAtSeconds)
  return toHex(word, { size: 32 })
}

async function sendUsage(
  ledger: { readonly client: PublicClient; readonly readNonce: () => Promise<number> },
  rawTransaction: Hex,
): Promise<UsageSendResult> {
  try {
    await ledger.client.sendRawTransaction({ serializedTransaction: rawTransaction })
    return { kind: 'accepted' }
  } catch (error) {
    const refusal = sendRefusal(error)
    if (refusal === 'unclear')
      throw new UsageLedgerUnavailable('the transaction may not have arrived', { cause: error })
    if (refusal === 'already-known') return { kind: 'accepted' }
    if (refusal !== 'wrong-nonce') return { kind: refusal }
    const { nonce = 0 } = parseTransaction(rawTransaction)
    const isPast = (await ledger.readNonce()) > nonce
    return { kind: isPast ? 'nonce-too-low' : 'nonce-too-high' }
  }
}

async function readUsageReceipt(
  client: PublicClient,
  transaction: { readonly contract: Hex; readonly hash: Hex },
): Promise<UsageReceipt> {
  try {
    const receipt = await client.getTransactionReceipt({ hash: transaction.hash })
    if (receipt.status === 'reverted') return { kind: 'reverted' }
    return { kind: 'mined', counts: decodeUsageCounts(receipt.logs, transaction.contract) }
  } catch (error) {
    if (isNotFound(error)) return { kind: 'pending' }
    throw error
  }
}

/** What is read of a log. */
export type CountLog = Pick<Log, 'address' | 'data' | 'topics'>

/** All three have the agent as their one topic, and as their data the window's end and these calls. */
const COUNT_CALLS = { UsageRecorded: 'uint32', UsageRefused: 'int32', UsageLate: 'int32' } as const

const COUNT_NAMES = ['UsageRecorded', 'UsageRefused', 'UsageLate'] as const
// Hashed once: viem's parseEventLogs hashes every event of the interface for each receipt, and one more for each log.
const names = new Map(
  COUNT_NAMES.map((name) => [toEventSelector(getAbiItem({ abi: accessWindowAbi, name })), name]),
)

/** What a receipt's logs say was counted by `contract`, in their order; other contracts and other events are passed over. */
export function decodeUsageCounts(logs: readonly CountLog[], contract: Hex): UsageCount[] {
  const own = contract.toLowerCase()
  return logs.flatMap(({ address, data, topics: [selector, agent] }): UsageCount[] => {
    const name = names.get(selector ?? '0x')
    if (name === undefined || agent === undefined || address.toLowerCase() !== own) return []
    const [windowExpiresAt, calls] = decodeAbiParameters(
      [{ type: 'uint64' }, { type: COUNT_CALLS[name] }],
      data,
    )
    const window = {
      agent: `0x${agent.slice(-40).toLowerCase()}`,
      windowExpiresAtSeconds: Number(windowExpiresAt),
    }
    if (name === 'UsageRecorded') return [{ kind: 'recorded', ...window, callsUsed: calls }]
    return [{ kind: name === 'UsageLate' ? 'late' : 'refused', ...window, calls }]
  })
}

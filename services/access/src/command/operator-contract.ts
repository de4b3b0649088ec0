// The operator's way to the ledger: one key, legacy transactions at the quoted gas price with fixed gas limits. Hedera's
// relay quotes a wrong EIP-1559 fee and estimates calls that schedule badly, and its nonces lag by seconds: so the price
// is asked for, the limit is the caller's, and the nonce is counted here after the first read.

import { accessWindowAbi } from '@tallystick/contracts'
import { formatHbar } from '@tallystick/x402/hedera'
import {
  type Address,
  BaseError,
  type ContractFunctionArgs,
  type ContractFunctionName,
  createPublicClient,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  http,
  isHex,
  type PublicClient,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { offeredGasPrice, WEIBAR_PER_TINYBAR } from '../adapters/ledger-client.ts'
import { contractOf, keyOf, type OperatorConfig, OperatorRefusal } from './operator-verb.ts'

/** Hedera answers a receipt in 3 to 8 s; a minute tells a slow relay from a lost transaction. */
const RECEIPT_MS_MAX = 60_000
/** Often enough to feel at once on a local ledger, seldom enough for a public relay. */
const RECEIPT_POLL_MS = 250

export type LedgerAddress = {
  /** JSON-RPC endpoint. */
  readonly rpcUrl: string
  readonly chainId: number
}

export type LedgerCall = {
  /** Left out for a deployment. */
  readonly to?: Address
  readonly data: Hex
  readonly valueTinybar?: bigint
  /** Fixed limit: `gas * gasPrice` must be held, only gas used is charged. */
  readonly gas: bigint
}

export type LedgerReceipt = {
  readonly hash: Hex
  readonly blockNumber: bigint
  readonly gasUsed: bigint
  /** What the transaction cost in gas, tinybar. */
  readonly costTinybar: bigint
  /** Created contract, of a deployment. */
  readonly contract: Address | undefined
}

export type OperatorLedger = {
  readonly address: Address
  readonly reader: PublicClient
  /**
   * Signs, sends, and waits for the receipt.
   * Throws TransactionReverted if it ran and reverted, LedgerUnavailable if the relay did not take it or did not answer.
   */
  send(call: LedgerCall): Promise<LedgerReceipt>
}

/** The relay was unreachable, is another chain, refused the transaction or never showed its receipt. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable'
}

/** The transaction reached consensus and reverted. */
export class TransactionReverted extends Error {
  override readonly name = 'TransactionReverted'
  readonly hash: Hex
  constructor(hash: Hex) {
    super(`The ledger reverted the transaction ${hash}.`)
    this.hash = hash
  }
}

/** Client for reads alone. */
export function readLedger(ledger: LedgerAddress): PublicClient {
  return createPublicClient({
    transport: http(ledger.rpcUrl, { retryCount: 0 }), // a resent transaction is a second one
    pollingInterval: RECEIPT_POLL_MS,
  })
}

/** Short text of a failure for a person, without the request that viem appends. */
export function reasonOf(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage
  return error instanceof Error ? error.message : String(error)
}

async function wrapped<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    throw new LedgerUnavailable(`${what}: ${reasonOf(cause)}`, { cause })
  }
}

/** Opens the ledger for one key. Throws LedgerUnavailable if the relay is silent or is another chain. */
export async function openOperatorLedger(
  options: LedgerAddress & { readonly key: Hex },
): Promise<OperatorLedger> {
  const account = privateKeyToAccount(options.key)
  const reader = readLedger(options)
  const chainId = await wrapped(`No ledger answers at ${options.rpcUrl}`, () => reader.getChainId())
  if (chainId !== options.chainId) {
    throw new LedgerUnavailable(
      `The ledger at ${options.rpcUrl} is chain ${chainId}, not ${options.chainId}.`,
    )
  }
  let nextNonce: number | undefined

  async function submit(call: LedgerCall): Promise<Hex> {
    const gasPrice = offeredGasPrice(await reader.getGasPrice())
    nextNonce ??= await reader.getTransactionCount({ address: account.address, blockTag: 'latest' })
    const serializedTransaction = await account.signTransaction({
      type: 'legacy',
      chainId: options.chainId,
      nonce: nextNonce,
      gasPrice,
      gas: call.gas,
      ...(call.to === undefined ? {} : { to: call.to }),
      data: call.data,
      value: (call.valueTinybar ?? 0n) * WEIBAR_PER_TINYBAR,
    })
    const hash = await reader.sendRawTransaction({ serializedTransaction })
    nextNonce += 1
    return hash
  }

  return {
    address: account.address,
    reader,
    async send(call) {
      const hash = await wrapped('The ledger did not take the transaction', () => submit(call))
      const receipt = await wrapped(`No receipt for ${hash}`, () =>
        reader.waitForTransactionReceipt({ hash, timeout: RECEIPT_MS_MAX }),
      )
      if (receipt.status !== 'success') throw new TransactionReverted(hash)
      return {
        hash,
        blockNumber: receipt.blockNumber,
        gasUsed: receipt.gasUsed,
        costTinybar: (receipt.gasUsed * receipt.effectiveGasPrice) / WEIBAR_PER_TINYBAR,
        contract: receipt.contractAddress ?? undefined,
      }
    },
  }
}

/** The access contract and a client that reads it; nobody's key. */
export type ContractView = { readonly reader: PublicClient; readonly address: Address }

async function asAnswered<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof OperatorRefusal) throw cause
    throw new LedgerUnavailable(`The ledger does not answer: ${reasonOf(cause)}`, { cause })
  }
}

/** Returns once there is code at the address. Throws OperatorRefusal, or LedgerUnavailable. */
export async function ensureContract({ reader, address }: ContractView): Promise<void> {
  const code = await asAnswered(() => reader.getCode({ address }))
  if (code === undefined) throw new OperatorRefusal(`There is no contract at ${address}.`)
}

/** What a look at the contract finds. Throws OperatorRefusal where there is none, LedgerUnavailable where a read fails. */
export async function lookAtContract<Result>(
  config: OperatorConfig,
  look: (view: ContractView) => Promise<Result>,
): Promise<Result> {
  const { LEDGER_RPC_URL: rpcUrl, LEDGER_CHAIN_ID: chainId } = config
  const view = { reader: readLedger({ rpcUrl, chainId }), address: contractOf(config) }
  await ensureContract(view)
  return await asAnswered(() => look(view))
}

// The access contract as its owner uses it: reads, and calls that are tried before they are signed, so that a refusal
// costs nothing and is told in words.

type WriteName = ContractFunctionName<typeof accessWindowAbi, 'nonpayable' | 'payable'>

export type ContractWrite<Name extends WriteName> = {
  readonly functionName: Name
  readonly args: ContractFunctionArgs<typeof accessWindowAbi, 'nonpayable' | 'payable', Name>
  readonly valueTinybar?: bigint
  readonly gas: bigint
}

export type OwnerContract = {
  readonly address: Address
  readonly ledger: OperatorLedger
  /** Tries, signs, sends, waits. Throws OperatorRefusal, LedgerUnavailable or TransactionReverted. */
  write<Name extends WriteName>(write: ContractWrite<Name>): Promise<LedgerReceipt>
}

const WORDS: Readonly<Record<string, string>> = {
  OwnableUnauthorizedAccount: 'this key does not own the contract',
  AccessWindow_NotForwarder: 'this key is not a forwarder of the contract',
  AccessWindow_PaymentAlreadyUsed: 'that payment was opened before',
  AccessWindow_InvalidOffer:
    'the offer is out of range (period 1 to 5,356,000 s, price and calls above 0)',
  AccessWindow_NotOverdue: 'no schedule of that agent is more than 30 s overdue',
  AccessWindow_InsufficientFunds: 'the contract does not hold that much',
  AccessWindow_ShortfallOutstanding: 'gas is owed to the network: fund the reserve first',
  AccessWindow_TransferFailed: 'the receiver does not take it',
}

/** Revert data of a failed `eth_call`, wherever viem's chain of causes holds it. */
function revertData(error: unknown): Hex | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const data: unknown = 'data' in cause ? cause.data : undefined
    if (isHex(data)) return data
  }
  return undefined
}

/** What the contract says against a call, in words; `undefined` where the failure is not the contract's. */
export function contractRefusal(error: unknown): string | undefined {
  const data = revertData(error)
  if (data === undefined) return undefined
  try {
    const { errorName } = decodeErrorResult({ abi: accessWindowAbi, data })
    return WORDS[errorName] ?? errorName
  } catch {
    return `it reverts with ${data.slice(0, 10)}`
  }
}

/** Opens the contract for one key. Throws LedgerUnavailable, or OperatorRefusal where there is no contract. */
export async function openContract(
  config: OperatorConfig,
  keyVariable: 'OWNER_KEY' | 'PAY_TO_KEY',
): Promise<OwnerContract> {
  const ledger = await openOperatorLedger({
    rpcUrl: config.LEDGER_RPC_URL,
    chainId: config.LEDGER_CHAIN_ID,
    key: keyOf(config, keyVariable),
  })
  const address = contractOf(config)
  await ensureContract({ reader: ledger.reader, address })
  return {
    address,
    ledger,
    async write({ functionName, args, valueTinybar = 0n, gas }) {
      const data = encodeFunctionData({ abi: accessWindowAbi, functionName, args } as Parameters<
        typeof encodeFunctionData
      >[0])
      const value = valueTinybar * WEIBAR_PER_TINYBAR
      try {
        await ledger.reader.call({ account: ledger.address, to: address, data, value, gas })
      } catch (cause) {
        const refusal = contractRefusal(cause)
        if (refusal !== undefined) {
          throw new OperatorRefusal(`The contract refuses: ${refusal}.`, { cause })
        }
        throw new LedgerUnavailable(`The ledger cannot try it: ${reasonOf(cause)}`, { cause })
      }
      return await ledger.send({ to: address, data, valueTinybar, gas })
    },
  }
}

/** What a transaction cost and where it is, for the end of a verb's output. */
export function receiptLine(receipt: LedgerReceipt): string {
  return `Transaction ${receipt.hash}, ${receipt.gasUsed} gas, ${formatHbar(receipt.costTinybar)}.`
}

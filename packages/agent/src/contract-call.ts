// How an agent sends one transaction to the access contract: tried first by a call, then signed as a legacy transaction
// at the quoted gas price, since Hedera's relay answers wrong EIP-1559 fees, with a fixed gas limit, since it estimates
// scheduling calls badly.
import { accessWindowAbi } from '@tallystick/contracts'
import {
  type Address,
  BaseError,
  createPublicClient,
  decodeErrorResult,
  type Hex,
  http,
  isHex,
  type LocalAccount,
  type PublicClient,
  type TransactionReceipt,
} from 'viem'

/** JSON-RPC counts in weibar, 18 decimals; the contract in tinybar, 8. */
const WEIBAR_PER_TINYBAR = 10_000_000_000n
/** Hedera answers a receipt in 3 to 8 s; a minute tells a slow relay from a lost transaction. */
const RECEIPT_MS_MAX = 60_000
const RECEIPT_POLL_MS = 250

export type ContractCallOptions = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly contract: Address
  readonly account: LocalAccount
}

export type ContractCall = {
  readonly data: Hex
  readonly valueTinybar: bigint
  /** Fixed limit: `gas * gasPrice` must be held, only gas used is charged. */
  readonly gas: bigint
  /** Sent without trying it first: reads lag for seconds behind what this account itself just did. */
  readonly isCertain?: boolean
}

export type ContractCallOutcome =
  | { readonly kind: 'sent'; readonly receipt: TransactionReceipt }
  /** The contract refuses: the name of its error. Nothing was sent. */
  | { readonly kind: 'refused'; readonly errorName: string }

/** The relay was unreachable, refused the transaction, or never showed a good receipt. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable'
}

function shortMessage(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage
  return error instanceof Error ? error.message : 'unknown'
}

/** Revert data of a failed `eth_call`, wherever viem's chain of causes holds it. */
function revertData(error: unknown): Hex | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const data: unknown = 'data' in cause ? cause.data : undefined
    if (isHex(data)) return data
  }
  return undefined
}

function refusalOf(error: unknown): string | undefined {
  const data = revertData(error)
  if (data === undefined) return undefined
  try {
    return decodeErrorResult({ abi: accessWindowAbi, data }).errorName
  } catch {
    return 'an error that this version does not know'
  }
}

type Submission = {
  readonly reader: PublicClient
  readonly options: ContractCallOptions
  readonly call: ContractCall
  readonly nonce: number
}

async function submit(submission: Submission): Promise<TransactionReceipt> {
  const { reader, options, call, nonce } = submission
  const serializedTransaction = await options.account.signTransaction({
    type: 'legacy',
    chainId: options.chainId,
    nonce,
    gasPrice: ((await reader.getGasPrice()) * 11n) / 10n, // outlives a rising quote; the network charges its own price
    gas: call.gas,
    to: options.contract,
    data: call.data,
    value: call.valueTinybar * WEIBAR_PER_TINYBAR,
  })
  const hash = await reader.sendRawTransaction({ serializedTransaction })
  return await reader.waitForTransactionReceipt({ hash, timeout: RECEIPT_MS_MAX })
}

/**
 * A function that tries and sends calls of one account to one contract, one after another. It throws LedgerUnavailable.
 * Keep it: it knows the nonces that it used, which the relay shows seconds later.
 */
export function createContractCaller(
  options: ContractCallOptions,
): (call: ContractCall) => Promise<ContractCallOutcome> {
  const reader = createPublicClient({
    transport: http(options.rpcUrl, { retryCount: 0 }), // sent again, one that landed is refused for its nonce
    pollingInterval: RECEIPT_POLL_MS,
  })
  let nextNonce = 0

  async function attempt(call: ContractCall): Promise<string | undefined> {
    try {
      await reader.call({
        account: options.account.address,
        to: options.contract,
        data: call.data,
        value: call.valueTinybar * WEIBAR_PER_TINYBAR,
        gas: call.gas,
      })
      return undefined
    } catch (cause) {
      const errorName = refusalOf(cause)
      if (errorName !== undefined) return errorName
      throw new LedgerUnavailable(`The ledger cannot try it: ${shortMessage(cause)}`, { cause })
    }
  }

  return async (call) => {
    const errorName = call.isCertain === true ? undefined : await attempt(call)
    if (errorName !== undefined) return { kind: 'refused', errorName }
    try {
      const { address } = options.account
      const counted = await reader.getTransactionCount({ address, blockTag: 'latest' })
      const nonce = Math.max(counted, nextNonce)
      const receipt = await submit({ reader, options, call, nonce })
      nextNonce = nonce + 1
      if (receipt.status !== 'success') {
        throw new Error(`the ledger reverted ${receipt.transactionHash}`)
      }
      return { kind: 'sent', receipt }
    } catch (cause) {
      throw new LedgerUnavailable(`The ledger did not do it: ${shortMessage(cause)}`, { cause })
    }
  }
}

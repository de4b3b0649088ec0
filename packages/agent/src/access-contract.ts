// What an agent itself signs on the access contract: cancel, claim, top up. Each transaction is tried first by a call, then
// signed as a legacy transaction at the quoted gas price, since Hedera's relay answers wrong EIP-1559 fees, with a fixed gas
// limit, since it estimates scheduling calls badly.
import { accessWindowAbi as abi } from '@tallystick/contracts'
import { LedgerUnavailable } from '@tallystick/x402'
import {
  type Address,
  BaseError,
  createPublicClient,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  http,
  isHex,
  type LocalAccount,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem'

/** JSON-RPC counts in weibar, 18 decimals; the contract in tinybar, 8. */
const WEIBAR_PER_TINYBAR = 10_000_000_000n
/** Hedera answers a receipt in 3 to 8 s; a minute tells a slow relay from a lost transaction. */
const RECEIPT_MS_MAX = 60_000
const RECEIPT_POLL_MS = 250

/** Cancelling deletes the schedule: 119,000 gas measured on testnet, with room. */
const CANCEL_GAS = 400_000n
/** A transfer out, and the creation of an account that the network has not seen yet (0.8 M). */
const CLAIM_GAS = 1_000_000n
/** A top-up may arm a renewal where none is: 1.41 M gas for the schedule service. */
const TOP_UP_GAS = 2_000_000n

/** Errors of the contract that say that there is nothing to do. */
const NOTHING_TO_CANCEL = 'AccessWindow_NothingToCancel'
const NOTHING_TO_CLAIM = 'AccessWindow_NothingToClaim'
const NO_OPEN_WINDOW = 'AccessWindow_NoOpenWindow'

/** What came of cancelling; `refused` names an error of the contract. */
export type CancelOutcome =
  | {
      readonly kind: 'cancelled'
      readonly refundTinybar: bigint
      /** Absent where there was nothing to refund. */
      readonly transaction: Hex | undefined
    }
  | { readonly kind: 'nothing-to-cancel' }
  | { readonly kind: 'refused'; readonly errorName: string }

/** What came of topping up; `refused` names an error of the contract. */
export type TopUpOutcome =
  | {
      readonly kind: 'topped-up'
      readonly amountTinybar: bigint
      readonly balanceTinybar: bigint
      readonly transaction: Hex
    }
  /** A window must be open to be topped up: pay instead. */
  | { readonly kind: 'no-open-window' }
  | { readonly kind: 'refused'; readonly errorName: string }

/** What came of one transaction: the amount that its event names; `refused` names the contract's error, nothing was sent. */
export type ContractOutcome =
  | { readonly kind: 'done'; readonly transaction: Hex; readonly tinybar: bigint }
  | { readonly kind: 'refused'; readonly errorName: string }

/** The transactions of an agent on the access contract. They throw LedgerUnavailable. */
export type AccessContract = {
  /** Ends renewals; what is left becomes claimable. Names the refund. */
  cancel(): Promise<ContractOutcome>
  /**
   * Sends the claimable refund to the agent's own account, and names it. `isCertain` after a `cancel` that left one: it is
   * sent without being tried first, since reads lag for seconds behind what this account itself just did.
   */
  claimRefund(options: { readonly isCertain: boolean }): Promise<ContractOutcome>
  /** Adds to an agent's window. Names the new balance. */
  topUp(options: {
    readonly agent: Address
    readonly amountTinybar: bigint
  }): Promise<ContractOutcome>
}

/** Ends renewals of the signer's own subscription and claims what is left of its balance. Throws LedgerUnavailable. */
export async function cancelAndClaim(contract: AccessContract): Promise<CancelOutcome> {
  const cancelled = await contract.cancel()
  if (cancelled.kind === 'refused' && cancelled.errorName !== NOTHING_TO_CANCEL) return cancelled
  if (cancelled.kind === 'done' && cancelled.tinybar === 0n) {
    return { kind: 'cancelled', refundTinybar: 0n, transaction: undefined }
  }
  // also after an earlier cancel whose refund was never claimed
  const claimed = await contract.claimRefund({ isCertain: cancelled.kind === 'done' })
  if (claimed.kind === 'done') {
    const { tinybar: refundTinybar, transaction } = claimed
    return { kind: 'cancelled', refundTinybar, transaction }
  }
  return claimed.errorName === NOTHING_TO_CLAIM ? { kind: 'nothing-to-cancel' } : claimed
}

/** Adds to the balance of an agent's open window. Throws LedgerUnavailable. */
export async function topUp(
  contract: AccessContract,
  options: { readonly agent: Address; readonly amountTinybar: bigint },
): Promise<TopUpOutcome> {
  const { amountTinybar } = options
  const outcome = await contract.topUp(options)
  if (outcome.kind === 'done') {
    const { tinybar: balanceTinybar, transaction } = outcome
    return { kind: 'topped-up', amountTinybar, balanceTinybar, transaction }
  }
  return outcome.errorName === NO_OPEN_WINDOW ? { kind: 'no-open-window' } : outcome
}

type ContractOptions = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly contract: Address
  readonly account: LocalAccount
}

type Logs = TransactionReceipt['logs']

/** The access contract as its agent uses it. Keep it: it knows the nonces that it used, which the relay shows seconds later. */
export function createAccessContract(options: ContractOptions): AccessContract {
  const send = createSender(options)

  async function act(
    call: ContractCall,
    tinybarIn: (logs: Logs) => bigint | undefined,
  ): Promise<ContractOutcome> {
    const sent = await send(call)
    if (typeof sent === 'string') return { kind: 'refused', errorName: sent }
    const { logs, transactionHash: transaction } = sent
    return { kind: 'done', transaction, tinybar: tinybarIn(logs) ?? 0n }
  }

  return {
    async cancel() {
      const data = encodeFunctionData({ abi, functionName: 'cancel' })
      const eventName = 'SubscriptionCancelled'
      return await act(
        { data, gas: CANCEL_GAS },
        (logs) => parseEventLogs({ abi, logs, eventName })[0]?.args.refundTinybar,
      )
    },
    async claimRefund({ isCertain }) {
      const args = [options.account.address] as const
      const data = encodeFunctionData({ abi, functionName: 'claimRefund', args })
      const eventName = 'RefundClaimed'
      return await act(
        { data, gas: CLAIM_GAS, isCertain },
        (logs) => parseEventLogs({ abi, logs, eventName })[0]?.args.amountTinybar,
      )
    },
    async topUp({ agent, amountTinybar }) {
      const data = encodeFunctionData({ abi, functionName: 'topUp', args: [agent] })
      const eventName = 'SubscriptionToppedUp'
      return await act(
        { data, gas: TOP_UP_GAS, valueTinybar: amountTinybar },
        (logs) => parseEventLogs({ abi, logs, eventName })[0]?.args.balanceTinybar,
      )
    },
  }
}

type ContractCall = {
  readonly data: Hex
  /** Fixed limit: `gas * gasPrice` must be held, only gas used is charged. */
  readonly gas: bigint
  readonly valueTinybar?: bigint
  /** Sent without trying it first. */
  readonly isCertain?: boolean
}

/** Tries and sends calls of one account: the receipt, or the name of the contract's error, where nothing was sent. */
function createSender(
  options: ContractOptions,
): (call: ContractCall) => Promise<TransactionReceipt | string> {
  const { account, chainId, contract: to, rpcUrl } = options
  const reader = createPublicClient({
    transport: http(rpcUrl, { retryCount: 0 }), // sent again, one that landed is refused for its nonce
    pollingInterval: RECEIPT_POLL_MS,
  })
  const { address } = account
  let nextNonce = 0

  async function refusalOf({ data, gas }: ContractCall, value: bigint) {
    try {
      await reader.call({ account: address, to, data, value, gas })
      return undefined
    } catch (cause) {
      const errorName = errorNameIn(cause)
      if (errorName !== undefined) return errorName
      throw new LedgerUnavailable(`The ledger cannot try it: ${shortMessage(cause)}`, { cause })
    }
  }

  async function submit({ data, gas }: ContractCall, value: bigint): Promise<TransactionReceipt> {
    const counted = await reader.getTransactionCount({ address, blockTag: 'latest' })
    const nonce = Math.max(counted, nextNonce)
    const gasPrice = ((await reader.getGasPrice()) * 11n) / 10n // outlives a rising quote; the network charges its own price
    const type = 'legacy'
    const transaction = { type, chainId, nonce, gasPrice, gas, to, data, value } as const
    const serializedTransaction = await account.signTransaction(transaction)
    const hash = await reader.sendRawTransaction({ serializedTransaction })
    const receipt = await reader.waitForTransactionReceipt({ hash, timeout: RECEIPT_MS_MAX })
    nextNonce = nonce + 1
    if (receipt.status !== 'success') throw new Error(`the ledger reverted ${hash}`)
    return receipt
  }

  return async (call) => {
    const value = (call.valueTinybar ?? 0n) * WEIBAR_PER_TINYBAR
    const errorName = call.isCertain === true ? undefined : await refusalOf(call, value)
    if (errorName !== undefined) return errorName
    try {
      return await submit(call, value)
    } catch (cause) {
      throw new LedgerUnavailable(`The ledger did not do it: ${shortMessage(cause)}`, { cause })
    }
  }
}

function shortMessage(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage
  return error instanceof Error ? error.message : 'unknown'
}

/** Name of the contract's error in a failed `eth_call`, wherever viem's chain of causes holds its data. */
function errorNameIn(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const data: unknown = 'data' in cause ? cause.data : undefined
    if (isHex(data)) return errorNameOf(data)
  }
  return undefined
}

function errorNameOf(data: Hex): string {
  try {
    return decodeErrorResult({ abi, data }).errorName
  } catch {
    return 'an error that this version does not know'
  }
}

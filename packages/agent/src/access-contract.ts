// What an agent signs on the access contract: cancel, claim, top up, guard. Each transaction is first tried as a call, then
// signed as a legacy transaction at the quoted gas price, since Hedera's relay quotes wrong EIP-1559 fees. Gas limits are our
// own or the contract's, since the relay estimates scheduling calls badly.
import { accessWindowAbi } from '@tallystick/contracts'
import { LedgerUnavailable } from '@tallystick/x402'
import {
  type Abi,
  type Address,
  BaseError,
  createPublicClient,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  HttpRequestError,
  http,
  isHex,
  keccak256,
  type LocalAccount,
  type PublicClient,
  parseEventLogs,
  TimeoutError,
  type TransactionReceipt,
  type TransactionRequest,
  withRetry,
} from 'viem'

/** Typed as any contract's: this one's exact types would cost the compiler seconds. */
const abi: Abi = accessWindowAbi

/** JSON-RPC counts in weibar, 18 decimals; the contract in tinybar, 8. */
const WEIBAR_PER_TINYBAR = 10_000_000_000n
/** Hedera answers a receipt in 3 to 8 s; a minute tells a slow relay from a lost transaction. */
const RECEIPT_MS_MAX = 60_000
const RECEIPT_POLL_MS = 250
/** Hedera's relay answers a send only after consensus, 3 to 8 s. */
const SEND_MS_MAX = 15_000

/** The contract's errors that mean there is nothing to do. */
const NOTHING_TO_CANCEL = 'AccessWindow_NothingToCancel'
const NOTHING_TO_CLAIM = 'AccessWindow_NothingToClaim'
const NO_OPEN_WINDOW = 'AccessWindow_NoOpenWindow'

/** The outcome of cancelling; `refused` names an error of the contract. */
export type CancelOutcome =
  | {
      readonly kind: 'cancelled'
      readonly refundTinybar: bigint
      /** Absent if there was nothing to refund. */
      readonly transaction: Hex | undefined
    }
  | { readonly kind: 'nothing-to-cancel' }
  | { readonly kind: 'refused'; readonly errorName: string }

/** The outcome of topping up; `refused` names an error of the contract. */
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

/** The outcome of setting the guard; `refused` names an error of the contract. */
export type GuardOutcome =
  | { readonly kind: 'guard-set'; readonly isGuarded: boolean; readonly transaction: Hex }
  /** An earlier purchase or the owner had already set it: nothing was sent. */
  | { readonly kind: 'guard-unchanged' }
  | { readonly kind: 'refused'; readonly errorName: string }

/** The guard could not be set after a purchase; `reason` is a sentence. The purchase stands. */
export type GuardFailed = { readonly kind: 'guard-failed'; readonly reason: string }

/** The outcome of one transaction, with the amount in its event; `refused` names the contract's error, and nothing was sent. */
export type ContractOutcome =
  | { readonly kind: 'done'; readonly transaction: Hex; readonly tinybar: bigint }
  | { readonly kind: 'refused'; readonly errorName: string }

/** Each transaction's gas limit, measured plus headroom, and the event and argument with its amount. */
const TRANSACTIONS = {
  /** Ends renewals; the rest of the balance becomes claimable. */
  cancel: { gas: 400_000n, eventName: 'SubscriptionCancelled', amount: 'refundTinybar' },
  /** Sends the claimable refund. May create an account that the network has not seen yet (0.8 M gas). */
  claimRefund: { gas: 1_000_000n, eventName: 'RefundClaimed', amount: 'amountTinybar' },
  /** Adds to a window. May arm a missing renewal; the contract states the gas for that. */
  topUp: { gas: 'arming', eventName: 'SubscriptionToppedUp', amount: 'balanceTinybar' },
  /** Sets whether calls must prove the agent's key. */
  setGuard: { gas: 150_000n, eventName: 'GuardSet', amount: undefined },
} as const

type ContractCall = {
  readonly functionName: keyof typeof TRANSACTIONS
  /** Whose window or refund; by default the account's own. */
  readonly agent?: Address
  readonly valueTinybar?: bigint
  /** What `setGuard` sets. */
  readonly isGuarded?: boolean
  /** Sent without a trial call, since reads lag seconds behind what this account has just done. */
  readonly isCertain?: boolean
}

/** Sends one transaction of an agent on the access contract. Throws LedgerUnavailable. */
export type Transact = (call: ContractCall) => Promise<ContractOutcome>

/** Ends renewals of the signer's own subscription and claims the rest of its balance. Throws LedgerUnavailable. */
export async function cancelAndClaim(transact: Transact): Promise<CancelOutcome> {
  const cancelled = await transact({ functionName: 'cancel' })
  if (cancelled.kind === 'refused' && cancelled.errorName !== NOTHING_TO_CANCEL) return cancelled
  if (cancelled.kind === 'done' && cancelled.tinybar === 0n) {
    return { kind: 'cancelled', refundTinybar: 0n, transaction: undefined }
  }
  // Also after an earlier cancel whose refund was never claimed.
  const isCertain = cancelled.kind === 'done'
  const claimed = await transact({ functionName: 'claimRefund', isCertain })
  if (claimed.kind === 'done') {
    const { tinybar: refundTinybar, transaction } = claimed
    return { kind: 'cancelled', refundTinybar, transaction }
  }
  return claimed.errorName === NOTHING_TO_CLAIM ? { kind: 'nothing-to-cancel' } : claimed
}

/** Adds to the balance of an agent's open window. Throws LedgerUnavailable. */
export async function topUp(
  transact: Transact,
  { agent, amountTinybar }: { readonly agent: Address; readonly amountTinybar: bigint },
): Promise<TopUpOutcome> {
  const outcome = await transact({ functionName: 'topUp', agent, valueTinybar: amountTinybar })
  if (outcome.kind === 'done') {
    const { tinybar: balanceTinybar, transaction } = outcome
    return { kind: 'topped-up', amountTinybar, balanceTinybar, transaction }
  }
  return outcome.errorName === NO_OPEN_WINDOW ? { kind: 'no-open-window' } : outcome
}

/** Sets the guard of the signer's own window, by its own transaction. Throws LedgerUnavailable. */
export async function setGuard(transact: Transact, isGuarded: boolean): Promise<GuardOutcome> {
  const outcome = await transact({ functionName: 'setGuard', isGuarded })
  if (outcome.kind === 'refused') return outcome
  return { kind: 'guard-set', isGuarded, transaction: outcome.transaction }
}

/** Whether an agent's window is guarded, as far as the ledger's reads show. Throws LedgerUnavailable. */
export async function readIsGuarded(at: {
  readonly rpcUrl: string
  readonly contract: Address
  readonly agent: Address
}): Promise<boolean> {
  const { agent, contract: address, rpcUrl } = at
  return await named(`The guard cannot be read at ${ledgerName({ rpcUrl })}`, async () => {
    const reader = createPublicClient({ transport: http(rpcUrl) })
    const call = { address, abi, functionName: 'windowOf', args: [agent, 0n] }
    const window = (await reader.readContract(call)) as { readonly isGuarded?: boolean }
    return window.isGuarded === true
  })
}

/** Turns every failure of the ledger into LedgerUnavailable. */
async function named<Result>(failure: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    throw new LedgerUnavailable(`${failure}: ${shortMessage(cause)}`, { cause })
  }
}

type Call = Pick<TransactionRequest, 'data' | 'gas' | 'value'> & { readonly to: Address }

/** Sends for one account. Keep it: it knows the nonces it used, which the relay shows only seconds later. */
export function createTransact(options: {
  readonly rpcUrl: string
  readonly chainId: number
  readonly contract: Address
  readonly account: LocalAccount
}): Transact {
  const { account, chainId, contract: to, rpcUrl } = options
  const reader = createPublicClient({ transport: http(rpcUrl) })
  // No retries: a repeated transaction that had landed would be refused for its nonce.
  const sender = createPublicClient({
    transport: http(rpcUrl, { retryCount: 0, timeout: SEND_MS_MAX }),
  })
  const { address } = account
  const where = ledgerName({ rpcUrl, chainId })
  let nextNonce = 0

  const findRefusal = (call: Call) =>
    named(`The ledger at ${where} cannot try it`, async () => {
      try {
        await reader.call({ account: address, ...call })
        return undefined
      } catch (error) {
        const errorName = errorNameIn(error)
        if (errorName === undefined) throw error
        return errorName
      }
    })

  const armingGas = () =>
    named(`No contract at ${where}`, async () => {
      const contract = { address: to, abi: accessWindowAbi } as const
      const [gas] = await reader.readContract({ ...contract, functionName: 'armingGas' })
      return gas
    })

  const submit = (call: Call) =>
    named(`The ledger at ${where} did not do it`, async (): Promise<TransactionReceipt> => {
      const counted = await reader.getTransactionCount({ address, blockTag: 'latest' })
      const nonce = Math.max(counted, nextNonce)
      // Survives a rising quote; the network charges its own price.
      const gasPrice = ((await reader.getGasPrice()) * 11n) / 10n
      const transaction = { type: 'legacy', chainId, nonce, gasPrice, ...call } as const
      const serializedTransaction = await account.signTransaction(transaction)
      const hash = keccak256(serializedTransaction)
      await sender.sendRawTransaction({ serializedTransaction }).catch(throwUnlessSilence)
      const receipt = await awaitReceipt(sender, hash)
      nextNonce = nonce + 1
      if (receipt.status !== 'success') throw new Error(`the ledger reverted ${hash}`)
      return receipt
    })

  return async (wanted) => {
    const { functionName, isCertain = false, valueTinybar = 0n } = wanted
    const { amount, eventName, gas: limit } = TRANSACTIONS[functionName]
    const gas = limit === 'arming' ? await armingGas() : limit
    const args = listArguments({ agent: address, ...wanted })
    const data = encodeFunctionData({ abi, functionName, args })
    const call = { to, data, gas, value: valueTinybar * WEIBAR_PER_TINYBAR }
    const errorName = isCertain ? undefined : await findRefusal(call)
    if (errorName !== undefined) return { kind: 'refused', errorName }
    const { logs, transactionHash: transaction } = await submit(call)
    const [event] = parseEventLogs({ abi, logs, eventName })
    const amounts = event?.args as Readonly<Record<string, bigint>> | undefined
    return { kind: 'done', transaction, tinybar: (amount && amounts?.[amount]) ?? 0n }
  }
}

/** Polls for the receipt: late or lost answers look the same. Throws viem's errors. */
function awaitReceipt(client: PublicClient, hash: Hex): Promise<TransactionReceipt> {
  const endsAtMs = performance.now() + RECEIPT_MS_MAX
  return withRetry(() => client.getTransactionReceipt({ hash }), {
    delay: RECEIPT_POLL_MS,
    retryCount: RECEIPT_MS_MAX / RECEIPT_POLL_MS,
    shouldRetry: () => performance.now() < endsAtMs,
  })
}

/** A relay that does not answer may have taken the transaction: the receipt will tell. */
function throwUnlessSilence(error: unknown): void {
  const failure =
    error instanceof BaseError
      ? error.walk((inner) => inner instanceof HttpRequestError || inner instanceof TimeoutError)
      : null
  const isSilence = failure instanceof HttpRequestError && failure.status === undefined
  if (!isSilence && !(failure instanceof TimeoutError)) throw error
}

function listArguments({ functionName, agent, isGuarded }: ContractCall): readonly unknown[] {
  if (functionName === 'cancel') return []
  // The agent's own transaction needs no separate signature.
  return functionName === 'setGuard' ? [agent, isGuarded, '0x'] : [agent]
}

/** A name for the ledger in messages. Only its origin: providers put keys into paths. */
function ledgerName({ rpcUrl, chainId }: { rpcUrl: string; chainId?: number }): string {
  const chain = chainId === undefined ? '' : ` (chain ${chainId})`
  return `${new URL(rpcUrl).origin}${chain}`
}

function shortMessage(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage
  return error instanceof Error ? error.message : 'unknown'
}

/** Name of the contract's error in a failed `eth_call`, wherever viem's chain of causes holds its data. */
function errorNameIn(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const data: unknown = 'data' in cause ? cause.data : undefined
    if (isHex(data)) return nameError(data)
  }
  return undefined
}

function nameError(data: Hex): string {
  try {
    return decodeErrorResult({ abi, data }).errorName
  } catch {
    return 'an error that this version does not know'
  }
}

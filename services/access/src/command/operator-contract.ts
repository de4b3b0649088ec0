// The access contract as its seller uses it, through one key: legacy transactions at the quoted gas price with fixed gas
// limits. Hedera's relay quotes a wrong EIP-1559 fee and estimates calls that schedule badly, and its nonces lag by seconds:
// so the price is read, the limit is the caller's, and the nonce is counted here after the first read. A call is tried
// before it is signed, so that a refusal costs nothing and is told in words.
import type { accessWindowAbi } from '@tallystick/contracts'
import { formatHbar } from '@tallystick/x402/hedera'
import {
  type Address,
  BaseError,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type Hex,
  HttpRequestError,
  keccak256,
  type PublicClient,
  TimeoutError,
  type TransactionReceipt,
  withRetry,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  contractTransaction,
  createReadingClient,
  createSendingClient,
  revertOf,
} from '../adapters/ledger-client.ts'
import { WEIBAR_PER_TINYBAR } from '../adapters/ledger-facts.ts'
import { offeredGasPrice } from '../adapters/ordered-sender.ts'
import { keyHex } from '../config.ts'
import { needed, type OperatorConfig, OperatorRefusal } from './operator-verb.ts'

/** Hedera answers a receipt in 3 to 8 s; a minute tells a slow relay from a lost transaction. */
const RECEIPT_MS_MAX = 60_000
/** Often enough to feel at once on a local ledger, seldom enough for a public relay. */
const RECEIPT_POLL_MS = 250

type OutgoingTransaction = {
  /** Left out for a deployment. */
  readonly to?: Address
  readonly data: Hex
  readonly valueTinybar: bigint
  /** Fixed limit: `gas * gasPrice` must be held, only gas used is charged. */
  readonly gas: bigint
}

/** Short text of a failure for a person, without the request that viem appends. */
export function reasonOf(error: unknown): string {
  if (error instanceof BaseError) return error.shortMessage
  return error instanceof Error ? error.message : String(error)
}

/** Names what failed where the ledger does. */
async function answered<Result>(failure: string, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof OperatorRefusal) throw cause
    throw new OperatorRefusal(`${failure}: ${reasonOf(cause)}`, { cause })
  }
}

/** Whether the relay said nothing, so that it may have taken what it was sent. */
function isSilence(error: unknown): boolean {
  const cause =
    error instanceof BaseError
      ? error.walk((one) => one instanceof HttpRequestError || one instanceof TimeoutError)
      : null
  return (
    cause instanceof TimeoutError ||
    (cause instanceof HttpRequestError && cause.status === undefined)
  )
}

/** Nonces lag by up to 10 s, so that the one that is read may be that of a verb which ran just before. */
const NONCE_TRIES = 12
const NONCE_RETRY_MS = 1_000

const isNonceTooLow = (error: Error): boolean =>
  error instanceof BaseError && /nonce too low/i.test(error.details)

/** Looks until the receipt is there: one that is late and an answer that is lost are the same. Throws viem's errors. */
function untilReceipt(reader: PublicClient, hash: Hex): Promise<TransactionReceipt> {
  const endsAtMs = performance.now() + RECEIPT_MS_MAX
  return withRetry(() => reader.getTransactionReceipt({ hash }), {
    delay: RECEIPT_POLL_MS,
    retryCount: RECEIPT_MS_MAX / RECEIPT_POLL_MS,
    shouldRetry: () => performance.now() < endsAtMs,
  })
}

/** Opens the ledger for one key. Throws OperatorRefusal if the relay is silent or serves another chain. */
export async function openOperatorLedger(options: {
  readonly rpcUrl: string
  readonly chainId: number
  readonly key: Hex
}) {
  const account = privateKeyToAccount(options.key)
  const reader = createReadingClient(options.rpcUrl)
  const sender = createSendingClient(options.rpcUrl)
  const chainId = await answered(`No ledger answers at ${options.rpcUrl}`, () =>
    reader.getChainId(),
  )
  if (chainId !== options.chainId)
    throw new OperatorRefusal(
      `The ledger at ${options.rpcUrl} is chain ${chainId}, not ${options.chainId}.`,
    )
  let nextNonce: number | undefined

  const submit = async ({ valueTinybar, ...call }: OutgoingTransaction): Promise<Hex> => {
    const gasPrice = offeredGasPrice(await reader.getGasPrice())
    const nonce =
      nextNonce ??
      (await reader.getTransactionCount({ address: account.address, blockTag: 'latest' }))
    const serializedTransaction = await account.signTransaction({
      ...call,
      type: 'legacy',
      chainId,
      nonce,
      gasPrice,
      value: valueTinybar * WEIBAR_PER_TINYBAR,
    })
    try {
      await sender.sendRawTransaction({ serializedTransaction })
    } catch (error) {
      // Its receipt will tell.
      if (!isSilence(error)) throw error
    }
    nextNonce = nonce + 1
    return keccak256(serializedTransaction)
  }

  return {
    address: account.address,
    reader,
    /** Signs, sends, and waits for the receipt. Throws OperatorRefusal if the relay does not take it, or if it reverted. */
    async send(transaction: OutgoingTransaction): Promise<TransactionReceipt> {
      const hash = await answered('The ledger did not take the transaction', () =>
        withRetry(() => submit(transaction), {
          delay: NONCE_RETRY_MS,
          retryCount: NONCE_TRIES,
          shouldRetry: ({ error }) => nextNonce === undefined && isNonceTooLow(error),
        }),
      )
      const receipt = await answered(`No receipt for ${hash}`, () => untilReceipt(reader, hash))
      if (receipt.status !== 'success')
        throw new OperatorRefusal(`The ledger reverted the transaction ${hash}.`)
      return receipt
    },
  }
}

/** Asks the ledger for something. Throws OperatorRefusal where it does not answer. */
export const askLedger = <Result>(ask: () => Promise<Result>): Promise<Result> =>
  answered('The ledger does not answer', ask)

/** The access contract and a client that reads it; nobody's key. */
export type ContractView = { readonly reader: PublicClient; readonly address: Address }

async function ensureContract({ reader, address }: ContractView): Promise<void> {
  const code = await answered('The ledger does not answer', () => reader.getCode({ address }))
  if (code === undefined) throw new OperatorRefusal(`There is no contract at ${address}.`)
}

/** What a look at the contract finds. Throws OperatorRefusal where there is none, or where a read fails. */
export async function lookAtContract<Result>(
  config: OperatorConfig,
  look: (view: ContractView) => Promise<Result>,
): Promise<Result> {
  const view = {
    reader: createReadingClient(config.LEDGER_RPC_URL),
    address: needed(config, 'ACCESS_CONTRACT'),
  }
  await ensureContract(view)
  return await answered('The ledger does not answer', () => look(view))
}

type WriteName = ContractFunctionName<typeof accessWindowAbi, 'nonpayable' | 'payable'>

export type ContractWrite = {
  [Name in WriteName]: {
    readonly functionName: Name
    readonly args: ContractFunctionArgs<typeof accessWindowAbi, 'nonpayable' | 'payable', Name>
    readonly valueTinybar?: bigint
    readonly gas: bigint
  }
}[WriteName]

export type OwnerContract = ContractView & {
  /** The owner's address. */
  readonly owner: Address
  /** Tries, signs, sends, waits. Throws OperatorRefusal. */
  write(write: ContractWrite): Promise<TransactionReceipt>
}

const REFUSALS: Readonly<Record<string, string>> = {
  OwnableUnauthorizedAccount: 'this key does not own the contract',
  AccessWindow_NotForwarder: 'this key is not a forwarder of the contract',
  AccessWindow_PaymentAlreadyUsed: 'that payment was opened before',
  AccessWindow_InvalidOffer:
    'the offer is out of range (period 10 to 5,356,000 s and a multiple of the slots, price and calls above 0)',
  AccessWindow_InvalidArming:
    'that is out of range (1 to 100 US cents for a scheduled call, a floor of 0 to 10,000 %)',
  AccessWindow_NotOverdue: 'no schedule of that agent is more than 30 s overdue',
  AccessWindow_InsufficientFunds: 'the contract does not hold that much',
  AccessWindow_ShortfallOutstanding: 'gas is owed to the network: fund the reserve first',
  AccessWindow_TransferFailed: 'the receiver does not take it',
}

/** Opens the contract with the owner's key. Throws OperatorRefusal. */
export async function openContract(config: OperatorConfig): Promise<OwnerContract> {
  const ledger = await openOperatorLedger({
    rpcUrl: config.LEDGER_RPC_URL,
    chainId: config.LEDGER_CHAIN_ID,
    key: keyHex(needed(config, 'OWNER_KEY')),
  })
  const view = { reader: ledger.reader, address: needed(config, 'ACCESS_CONTRACT') }
  await ensureContract(view)
  return {
    ...view,
    owner: ledger.address,
    async write({ functionName, args, valueTinybar = 0n, gas }) {
      const { address } = view
      const write = { functionName, args, valueTinybar, gas }
      const revert = await answered('The ledger cannot try it', () =>
        revertOf(ledger.reader, { account: ledger.address, address }, write),
      )
      if (revert !== undefined)
        throw new OperatorRefusal(`The contract refuses: ${REFUSALS[revert] ?? revert}.`)
      return await ledger.send(contractTransaction(address, write))
    },
  }
}

/** What a transaction's gas cost, tinybar. */
export function gasCostTinybar({ gasUsed, effectiveGasPrice }: TransactionReceipt): bigint {
  return (gasUsed * effectiveGasPrice) / WEIBAR_PER_TINYBAR
}

/** What a transaction cost and where it is, for the end of a verb's output. */
export function receiptLine(receipt: TransactionReceipt): string {
  return `Transaction ${receipt.transactionHash}, ${receipt.gasUsed} gas, ${formatHbar(gasCostTinybar(receipt))}.`
}

/**
 * The account that submits payments and pays their gas. Its transactions leave one after another, each with the next
 * nonce. After every failure the nonce is read from the chain again, so that one lost transaction blocks nothing.
 */
import { LedgerUnavailable } from '@tallystick/x402'
import { type Hex, isContractFault, TRANSFER_GAS_MAX } from '@tallystick/x402/evm'
import { readPrivateKey } from '@tallystick/x402/hedera'
import {
  BaseError,
  createPublicClient,
  Eip1559FeesNotSupportedError,
  ExecutionRevertedError,
  HttpRequestError,
  http,
  InsufficientFundsError,
  keccak256,
  NonceTooLowError,
  type PublicClient,
  TimeoutError,
} from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { ConsensusUnavailable } from '../settlement.ts'

export type ContractCall = { readonly to: Hex; readonly data: Hex }

type GasPrice = Awaited<ReturnType<typeof readPrice>>

/** At that price, or else at the node's suggestion. */
type GasCall = ContractCall & { readonly gas: bigint; readonly price?: GasPrice | undefined }

export type EvmWalletOptions = {
  readonly rpcUrl: string
  readonly chainId: number
  /** Key of the account that submits and pays the gas: 32 bytes in hex, with or without `0x`. */
  readonly privateKey: string
  /** Longest wait for one answer from the node. */
  readonly callMs?: number
}

/** A call would do this now. */
export type Simulation =
  | { readonly kind: 'succeeds'; readonly gas: bigint; readonly price?: GasPrice }
  /** More than TRANSFER_GAS_MAX: a contract wallet that checks its own signature may loop. */
  | { readonly kind: 'too-much-gas' }
  /** `reason` is the node's wording, for people. */
  | { readonly kind: 'reverts'; readonly reason: string }

/** A transaction on its way; if there is a `cause`, the node may or may not have it. */
type SentTransaction = { readonly hash: Hex; readonly cause?: unknown }

export type EvmWallet = ReturnType<typeof createEvmWallet>

/** A public node answers in 0.1 to 1 s. */
const CALL_MS = 8_000

/** How often a used nonce is read again before the payment is returned unsubmitted. */
const NONCE_ATTEMPTS = 3

/** Headroom for a balance slot first written between the estimate and the block, in percent. */
const GAS_PERCENT = 130n

/**
 * The highest gas price paid, in wei: ten thousand times X Layer's usual price. Nodes suggest prices from recent blocks,
 * which on a quiet chain are our own. So nothing is ever added to a suggestion, and this limit stops a runaway.
 */
const GAS_PRICE_MAX_WEI = 1_000_000_000_000n

/** A node's words for a call that needs more gas than it was given. */
const OUT_OF_GAS = /gas required exceeds|out ?of ?gas/i

/** Reads the private key of an EVM account; undefined for anything but an ECDSA key in hex. */
export function parseEvmKey(text: string): PrivateKeyAccount | undefined {
  const key = readPrivateKey(text, { only: 'ecdsa' })
  return key.kind === 'key' ? privateKeyToAccount(`0x${key.hex}`) : undefined
}

/** Builds a wallet over a node's JSON-RPC. Throws RangeError if the key is unreadable; the message never contains it. */
export function createEvmWallet(options: EvmWalletOptions) {
  const account = parseEvmKey(options.privateKey)
  if (account === undefined) throw new RangeError('the EVM key cannot be read')
  const transport = http(options.rpcUrl, { retryCount: 0, timeout: options.callMs ?? CALL_MS })
  const client: PublicClient = createPublicClient({ transport })
  const submit = createSubmitter({ account, client, chainId: options.chainId })
  let last: Promise<unknown> = Promise.resolve()
  return {
    /** Lower case. */
    address: account.address.toLowerCase() as Hex,
    /** Throws LedgerUnavailable. */
    async simulate(call: ContractCall): Promise<Simulation> {
      try {
        const gas = await client.estimateGas({
          account: account.address,
          ...call,
          gas: TRANSFER_GAS_MAX,
        })
        if (gas > TRANSFER_GAS_MAX) return { kind: 'too-much-gas' }
        const withHeadroom = (gas * GAS_PERCENT) / 100n
        return {
          kind: 'succeeds',
          gas: withHeadroom < TRANSFER_GAS_MAX ? withHeadroom : TRANSFER_GAS_MAX,
        }
      } catch (error) {
        return judgeSimulation(error)
      }
    },
    /**
     * Makes a call with the very gas and price that its transaction will have, for a payer whose own code runs: it could agree
     * to any other (X21). Throws LedgerUnavailable, and ConsensusUnavailable if the account cannot pay for so much gas.
     */
    async rehearse(call: ContractCall): Promise<Simulation> {
      const price = await readPrice(client)
      const gas = TRANSFER_GAS_MAX
      try {
        await client.call({ account: account.address, ...call, gas, ...offeredFees(price) })
        return { kind: 'succeeds', gas, price }
      } catch (error) {
        if (judgeFailure(error) === 'poor')
          throw new ConsensusUnavailable('fee_payer_balance_too_low', { cause: error })
        return judgeSimulation(error)
      }
    },
    /**
     * Signs and submits a transaction, after all earlier ones. Throws LedgerUnavailable or ConsensusUnavailable, and only
     * if nothing was submitted.
     */
    send(call: GasCall): Promise<SentTransaction> {
      const sent = last.then(() => submit(call))
      last = sent.catch(() => undefined)
      return sent
    },
    /** Native balance, wei; undefined if the chain does not answer. */
    gasBalance: (): Promise<bigint | undefined> =>
      client.getBalance({ address: account.address }).catch(() => undefined),
  }
}

/** Reads what a failed simulation says about the call. Throws LedgerUnavailable if it says nothing. */
function judgeSimulation(error: unknown): Simulation {
  if (OUT_OF_GAS.test(errorText(error))) return { kind: 'too-much-gas' }
  const revert = findCause(error, ExecutionRevertedError)
  if (revert !== undefined) return { kind: 'reverts', reason: revert.shortMessage }
  const { details } = error instanceof BaseError ? error : {}
  if (details !== undefined && isContractFault(details)) return { kind: 'reverts', reason: details }
  throw new LedgerUnavailable('gas_not_estimated', { cause: error })
}

/** Signs and sends one transaction after another; the caller keeps the order. */
function createSubmitter(parts: {
  readonly account: PrivateKeyAccount
  readonly client: PublicClient
  readonly chainId: number
}) {
  const { account, chainId, client } = parts
  let nextNonce: number | undefined
  return async ({ data, gas, to, ...options }: GasCall): Promise<SentTransaction> => {
    const price = options.price ?? (await readPrice(client))
    for (let attempt = 1; ; attempt += 1) {
      nextNonce ??= await read(() =>
        client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
      )
      const nonce = nextNonce
      const serializedTransaction = await account.signTransaction({
        ...price,
        chainId,
        nonce,
        to,
        data,
        gas,
      })
      const hash = keccak256(serializedTransaction)
      try {
        await client.sendRawTransaction({ serializedTransaction })
        nextNonce = nonce + 1
        return { hash }
      } catch (error) {
        nextNonce = undefined
        const verdict = judgeFailure(error)
        if (verdict === 'known') return { hash }
        if (verdict === 'perhaps') return { hash, cause: error }
        if (verdict === 'poor') {
          throw new ConsensusUnavailable('fee_payer_balance_too_low', { cause: error })
        }
        if (verdict === 'refused' || attempt === NONCE_ATTEMPTS) {
          throw new LedgerUnavailable('transaction_not_taken', { cause: error })
        }
      }
    }
  }
}

/** The node's suggestion: base fee with headroom and tip, or a single price on chains without a base fee (EIP-1559). */
async function readPrice(client: PublicClient) {
  const price = await read(async () => {
    try {
      return { type: 'eip1559', ...(await client.estimateFeesPerGas()) } as const
    } catch (error) {
      if (findCause(error, Eip1559FeesNotSupportedError) === undefined) throw error
      return { type: 'legacy', gasPrice: await client.getGasPrice() } as const
    }
  })
  const perGasWei = price.type === 'legacy' ? price.gasPrice : price.maxFeePerGas
  if (perGasWei > GAS_PRICE_MAX_WEI) throw new LedgerUnavailable('gas_price_too_high')
  return price
}

/** A price as a call takes it. */
const offeredFees = (price: GasPrice) =>
  price.type === 'legacy'
    ? { gasPrice: price.gasPrice }
    : {
        maxFeePerGas: price.maxFeePerGas,
        maxPriorityFeePerGas: price.maxPriorityFeePerGas,
      }

/** Judges a failed submission. Only an answer from the node proves that it did not take the transaction. */
function judgeFailure(error: unknown): 'known' | 'nonce' | 'poor' | 'refused' | 'perhaps' {
  const text = errorText(error)
  if (/already known|already imported|known transaction/i.test(text)) return 'known'
  if (
    findCause(error, NonceTooLowError) ||
    /nonce too low|nonce is too low|replacement transaction/i.test(text)
  )
    return 'nonce'
  if (findCause(error, InsufficientFundsError) || /insufficient funds/i.test(text)) return 'poor'
  const isTransport = findCause(error, HttpRequestError) ?? findCause(error, TimeoutError)
  return isTransport === undefined && error instanceof BaseError ? 'refused' : 'perhaps'
}

function errorText(error: unknown): string {
  return error instanceof BaseError ? `${error.details} ${error.message}` : ''
}

function findCause<Kind extends BaseError>(
  error: unknown,
  kind: abstract new (...parts: never[]) => Kind,
): Kind | undefined {
  if (!(error instanceof BaseError)) return undefined
  const found = error.walk((cause) => cause instanceof kind)
  return found instanceof kind ? found : undefined
}

async function read<Value>(run: () => Promise<Value>): Promise<Value> {
  try {
    return await run()
  } catch (cause) {
    throw new LedgerUnavailable('chain_unreachable', { cause })
  }
}

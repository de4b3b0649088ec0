// The operator's way to the ledger: one key, legacy transactions at the quoted gas price with fixed gas limits. Hedera's
// relay quotes a wrong EIP-1559 fee and estimates calls that schedule badly, and its nonces lag by seconds: so the price
// is asked for, the limit is the caller's, and the nonce is counted here after the first read.
import {
  type Address,
  BaseError,
  createPublicClient,
  type Hex,
  http,
  type PublicClient,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { WEIBAR_PER_TINYBAR } from '../adapters/hedera-units.ts'
import { offeredGasPrice } from '../adapters/offered-gas-price.ts'

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

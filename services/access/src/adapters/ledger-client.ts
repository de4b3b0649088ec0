import { accessWindowAbi } from '@tallystick/contracts'
import {
  type Abi,
  createPublicClient,
  encodeFunctionData,
  http,
  type PublicClient,
  type Transport,
} from 'viem'
import type { Hex } from '../domain/access-window.ts'

/** Reads take well under a second, 3 s on a busy relay; beyond this the ledger counts as unreachable. */
const READ_LIMIT_MS = 5_000

/** One more try bridges a dropped connection. More would hide an outage behind waiting. */
const READ_RETRIES = 1

/** Hedera's relay answers a send only after consensus, 3–8 s; twice that is a dead endpoint. */
const SEND_LIMIT_MS = 15_000

/** Reads in one request: half of what Hedera's relay takes at most, so that an answer stays small. */
const BATCH_READS_MAX = 50

/** A JSON-RPC client for reads. It connects to nothing yet. */
export function createReadingClient(rpcUrl: string): PublicClient {
  return createPublicClient({
    transport: gathered(rpcUrl, { timeout: READ_LIMIT_MS, retryCount: READ_RETRIES }),
  })
}

type HttpLimits = { readonly timeout: number; readonly retryCount: number }

/**
 * Sends a read at once while none is under way, and gathers those that come meanwhile into JSON-RPC batches: a lone call
 * waits for nobody, and under load a read costs half the CPU.
 */
function gathered(rpcUrl: string, limits: HttpLimits): Transport {
  const alone = http(rpcUrl, limits)
  const together = http(rpcUrl, { ...limits, batch: { batchSize: BATCH_READS_MAX, wait: 0 } })
  return (config) => {
    const [single, batched] = [alone(config), together(config)]
    let underWay = 0
    const request: typeof single.request = async (call, options) => {
      const { request: send } = underWay === 0 ? single : batched
      underWay += 1
      try {
        return await send(call, options)
      } finally {
        underWay -= 1
      }
    }
    return { ...single, request }
  }
}

/** A JSON-RPC client for sending, which never sends twice: a second send of taken bytes reads like a lost nonce. */
export function createSendingClient(rpcUrl: string): PublicClient {
  return createPublicClient({ transport: http(rpcUrl, { timeout: SEND_LIMIT_MS, retryCount: 0 }) })
}

/** JSON-RPC counts value and gas price in weibar, the ledger and its contracts in tinybar. */
export const WEIBAR_PER_TINYBAR = 10_000_000_000n

/** Price offered for a quoted one: a tenth more outlives a rising quote, and the network charges its own price anyway. */
export function offeredGasPrice(quotedWeibar: bigint): bigint {
  return (quotedWeibar * 11n) / 10n
}

/**
 * What viem's errors mean. They are told apart by name and text along the chain of causes, not by class: two copies of
 * viem may be installed, and their classes are not equal.
 */

function* causes(error: unknown): Generator<Error> {
  for (let current = error; current instanceof Error; current = current.cause) yield current
}

/** The name of the contract's error, where a call would revert or did; undefined for any other failure. */
export function revertName(error: unknown): string | undefined {
  for (const cause of causes(error)) {
    if (cause.name !== 'ContractFunctionRevertedError') continue
    const { data } = cause as Error & { readonly data?: { readonly errorName?: string } }
    return data?.errorName ?? 'reverted'
  }
  return undefined
}

/** One write to the access contract. */
type ContractWrite = {
  readonly functionName: string
  readonly args: readonly unknown[]
  readonly valueTinybar: bigint
  readonly gas: bigint
}

const abi: Abi = accessWindowAbi

/** The write as a transaction to `to`. */
export function contractTransaction(to: Hex, { valueTinybar, gas, ...call }: ContractWrite) {
  return { to, data: encodeFunctionData({ abi, ...call }), valueTinybar, gas }
}

/** Tries the write without sending it: the name of the error it would revert with, if it would. Throws viem's errors. */
export async function revertOf(
  client: PublicClient,
  between: { readonly account: Hex; readonly address: Hex },
  { valueTinybar, ...call }: ContractWrite,
): Promise<string | undefined> {
  try {
    const value = valueTinybar * WEIBAR_PER_TINYBAR
    await client.simulateContract({ abi, ...between, ...call, value })
    return undefined
  } catch (error) {
    const name = revertName(error)
    if (name === undefined) throw error
    return name
  }
}

/** Whether the ledger answered that there is no such contract: a call that returned no data. */
export function isNoContract(error: unknown): boolean {
  return [...causes(error)].some(
    ({ name }) => name === 'ContractFunctionZeroDataError' || name === 'AbiDecodingZeroDataError',
  )
}

/** Whether a receipt or transaction is simply not there yet. */
export function isNotFound(error: unknown): boolean {
  return [...causes(error)].some(
    (cause) =>
      cause.name === 'TransactionReceiptNotFoundError' || cause.name === 'TransactionNotFoundError',
  )
}

/**
 * What a ledger said to `eth_sendRawTransaction`, read in one place for both keys that send: payTo's (ordered-sender.ts)
 * and the recorder's (viem-usage-ledger.ts).
 */

/** How a transaction was refused; `wrong-nonce` leaves open which way, `unclear` whether it was refused at all. */
type SendRefusal =
  | 'already-known'
  | 'nonce-too-low'
  | 'nonce-too-high'
  | 'wrong-nonce'
  | 'gas-price-too-low'
  | 'insufficient-funds'
  | 'unclear'

/**
 * The words of Hedera's relay (packages/relay/src/lib/errors/JsonRpcError.ts, codes 32001, 32002, -32009, -32000) and of
 * its consensus nodes (WRONG_NONCE, INSUFFICIENT_PAYER_BALANCE, INSUFFICIENT_TX_FEE), then those of other clients.
 */
const REFUSALS: readonly (readonly [RegExp, SendRefusal])[] = [
  [/already known|known transaction|DUPLICATE_TRANSACTION/i, 'already-known'],
  [/nonce too low/i, 'nonce-too-low'],
  [/nonce too high/i, 'nonce-too-high'],
  [/WRONG_NONCE/, 'wrong-nonce'],
  [/below configured minimum gas price|INSUFFICIENT_TX_FEE|underpriced/i, 'gas-price-too-low'],
  [/insufficient funds|INSUFFICIENT_PAYER_BALANCE/i, 'insufficient-funds'],
]

/** Reads a failed send. Only what the ledger itself said counts, not what a client makes of it. */
export function sendRefusal(error: unknown): SendRefusal {
  const said = saidByLedger(error)
  for (const [words, refusal] of REFUSALS) if (words.test(said)) return refusal
  return 'unclear'
}

/** The nonce that the ledger says it wants, where it says one. */
export function expectedNonce(error: unknown): number | undefined {
  const [, nonce] = /(?:current|expected) nonce:?\s*(\d+)/i.exec(saidByLedger(error)) ?? []
  return nonce === undefined ? undefined : Number(nonce)
}

/** viem keeps the ledger's own words in `details`, whether they came with HTTP 200 or with an error status. */
function saidByLedger(error: unknown): string {
  const words: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('details' in cause && typeof cause.details === 'string') words.push(cause.details)
  }
  return words.join('\n')
}

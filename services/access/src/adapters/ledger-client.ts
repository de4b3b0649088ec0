/**
 * The ledger as the seller's command reaches it: viem's clients, whose errors are told to a person. The service itself goes
 * through relay.ts.
 */
import { accessWindowAbi, exchangeRateAbi } from '@tallystick/contracts'
import { TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { type Abi, createPublicClient, encodeFunctionData, http, type PublicClient } from 'viem'
import type { Hex } from '../domain/access-window.ts'
import { EXCHANGE_RATE_ADDRESS, WEIBAR_PER_TINYBAR } from './ledger-facts.ts'

/** Reads take well under a second, 3 s on a busy relay; beyond this the ledger counts as unreachable. */
const READ_LIMIT_MS = 5_000

/** One more try bridges a dropped connection. More would hide an outage behind waiting. */
const READ_RETRIES = 1

/** Hedera's relay answers a send only after consensus, 3–8 s; twice that is a dead endpoint. */
const SEND_LIMIT_MS = 15_000

/** A JSON-RPC client for reads. It connects to nothing yet. */
export function createReadingClient(rpcUrl: string): PublicClient {
  return createPublicClient({
    transport: http(rpcUrl, { timeout: READ_LIMIT_MS, retryCount: READ_RETRIES }),
  })
}

/** A JSON-RPC client for sending, which never sends twice: a second send of taken bytes reads like a lost nonce. */
export function createSendingClient(rpcUrl: string): PublicClient {
  return createPublicClient({ transport: http(rpcUrl, { timeout: SEND_LIMIT_MS, retryCount: 0 }) })
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

/**
 * Gas limit of a transaction that may arm a renewal, as the contract reckons it from the dollar price of a `scheduleCall`
 * and the gas price that it saw last: an estimate is wrong for calls that schedule. Only what is used is charged. Throws
 * viem's errors.
 */
export async function readArmingGas(client: PublicClient, address: Hex): Promise<bigint> {
  const [transactionGas] = await client.readContract({
    address,
    abi: accessWindowAbi,
    functionName: 'armingGas',
  })
  return transactionGas
}

/** What one HBAR is worth, 1e-8 of a US cent. Throws viem's errors. */
export const readTinycentsPerHbar = (client: PublicClient): Promise<bigint> =>
  client.readContract({
    address: EXCHANGE_RATE_ADDRESS,
    abi: exchangeRateAbi,
    functionName: 'tinybarsToTinycents',
    args: [TINYBAR_PER_HBAR],
  })

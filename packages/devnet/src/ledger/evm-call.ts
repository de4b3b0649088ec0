// Calls that change nothing, for JSON-RPC and the mirror node alike: what they return, why they revert, what gas they need.

import { type Address, decodeErrorResult, type Hex, numberToHex } from 'viem'
import { AnvilRefused, INVALID_PARAMETERS, isFundsRefusal } from '../anvil/anvil-client.ts'
import { makesAccount, NEW_ACCOUNT_GAS_MIN } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import { TRANSACTION_GAS_MAX } from './network.ts'

/** A call as asked for; the EVM's own amounts. */
export type EvmCall = {
  from?: Address | null | undefined
  to?: Address | null | undefined
  data: Hex
  valueTinybar?: bigint | null | undefined
  /** By default, and at most, what a transaction may use. */
  gas?: bigint | null | undefined
  accessList?: unknown
}

type CallOutcome =
  | { kind: 'returned'; data: Hex }
  /** With the text of an `Error(string)`, if it is one. */
  | { kind: 'reverted'; data: Hex; reason: string | undefined }
  | { kind: 'unfunded' }

/** Makes a call, or estimates its gas, in the state of `tag`. @throws AnvilRefused for overrides that anvil cannot read */
export async function callEvm(
  ledger: Ledger,
  call: EvmCall,
  read: { method: 'eth_call' | 'eth_estimateGas'; tag: string; overrides?: object | undefined },
): Promise<CallOutcome> {
  const { from, to, data, gas, valueTinybar, accessList } = call
  const gasMax = BigInt(TRANSACTION_GAS_MAX)
  const inner = {
    ...(from == null ? {} : { from: ledger.accounts.canonicalAddress(from) }),
    ...(to == null ? {} : { to: ledger.accounts.canonicalAddress(to) }),
    data,
    ...(valueTinybar == null ? {} : { value: numberToHex(valueTinybar) }),
    gas: numberToHex(gas == null || gas > gasMax ? gasMax : gas),
    ...(accessList === undefined ? {} : { accessList }),
  }
  // A call with a sender sees the network's gas price, as a transaction does.
  const gasPrice = numberToHex(ledger.settings.gasPriceTinybar)
  const rest = read.overrides === undefined ? [read.tag] : [read.tag, read.overrides]
  const run = async (request: object): Promise<Hex> =>
    (await ledger.anvil.call(read.method, [request, ...rest])) as Hex
  try {
    const returned = await run(from == null ? inner : { ...inner, gasPrice }).catch(
      (cause: unknown) => {
        // A read needs no money for gas: run it again without a price.
        if (cause instanceof AnvilRefused && isFundsRefusal(cause)) return run(inner)
        throw cause
      },
    )
    const isShort = read.method === 'eth_estimateGas' && BigInt(returned) < NEW_ACCOUNT_GAS_MIN
    const isNew = isShort && (await makesAccount(ledger, to ?? null, valueTinybar ?? 0n))
    return { kind: 'returned', data: isNew ? numberToHex(NEW_ACCOUNT_GAS_MIN) : returned }
  } catch (cause) {
    if (!(cause instanceof AnvilRefused) || cause.code === INVALID_PARAMETERS) throw cause
    if (isFundsRefusal(cause)) return { kind: 'unfunded' }
    const reverted = typeof cause.data === 'string' ? (cause.data as Hex) : '0x'
    return { kind: 'reverted', data: reverted, reason: revertText(reverted) }
  }
}

function revertText(data: Hex): string | undefined {
  // 0x08c379a0 is Error(string); panics and custom errors have no text.
  if (!data.startsWith('0x08c379a0')) return undefined
  try {
    return String(decodeErrorResult({ data }).args[0])
  } catch {
    return undefined
  }
}

// Reads of state: balances, nonces, code, storage, calls and gas estimates.

import { decodeErrorResult, type Hex, numberToHex } from 'viem'
import { AnvilRefused, isFundsRefusal } from '../anvil/anvil-client.ts'
import { WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { TRANSACTION_GAS_MAX } from '../ledger/network.ts'
import { blockNumberOf, innerTag } from './block-methods.ts'
import { toWeibar } from './outer-view.ts'
import {
  addressParameter,
  type RpcError,
  type RpcMethods,
  refusals,
  required,
  slotParameter,
} from './rpc-method.ts'

/** JSON-RPC's code for invalid parameters, anvil's too. */
const INVALID_PARAMETERS = -32602

export function stateMethods(ledger: Ledger): RpcMethods {
  /** Passes a read on to anvil: the address, what to read there, and the block. */
  const reads = (method: string, ...more: readonly ((p: readonly unknown[]) => unknown)[]) => {
    const tagAt = more.length + 1
    return async (p: readonly unknown[]): Promise<unknown> =>
      ledger.anvil.call(method, [
        ledger.accounts.canonicalAddress(addressParameter(p, 0)),
        ...more.map((read) => read(p)),
        await innerTag(ledger, p[tagAt] ?? 'latest'),
      ])
  }
  const balance = reads('eth_getBalance')
  return {
    eth_getBalance: async (p) => toWeibar((await balance(p)) as Hex),
    eth_getTransactionCount: (p) => transactionCount(ledger, p),
    eth_getCode: reads('eth_getCode'),
    eth_getStorageAt: reads('eth_getStorageAt', (p) => slotParameter(p, 1)),
    eth_call: (p) => execute(ledger, 'eth_call', p),
    eth_estimateGas: (p) => execute(ledger, 'eth_estimateGas', p.slice(0, 2)),
  }
}

async function transactionCount(ledger: Ledger, p: readonly unknown[]): Promise<unknown> {
  const address = ledger.accounts.canonicalAddress(addressParameter(p, 0))
  const asked = await blockNumberOf(ledger, p[1])
  if (asked === undefined) throw refusals.unknownBlock()
  const shown = ledger.evm.newestBlock(ledger.faults.nonceLagMs)
  const tag = await innerTag(ledger, numberToHex(Math.min(asked, shown)))
  return ledger.anvil.call('eth_getTransactionCount', [address, tag])
}

async function execute(ledger: Ledger, method: string, p: readonly unknown[]): Promise<unknown> {
  const call = toInnerCall(ledger, required(p, 0))
  const tag = await innerTag(ledger, p[1] ?? 'latest')
  const overrides = p[2]
  if (overrides !== undefined && (typeof overrides !== 'object' || overrides === null)) {
    throw refusals.invalidParameter(2, 'Expected state overrides')
  }
  const rest = overrides === undefined ? [tag] : [tag, overrides]
  const run = (inner: object): Promise<unknown> => ledger.anvil.call(method, [inner, ...rest])
  try {
    return await run(call).catch((cause: unknown) => {
      if (!(cause instanceof AnvilRefused && isFundsRefusal(cause))) throw cause
      // A read needs no money for gas: run it again without a price.
      const { gasPrice: _gasPrice, ...free } = call
      return run(free)
    })
  } catch (cause) {
    if (!(cause instanceof AnvilRefused)) throw cause
    // Only the overrides are passed on unchecked.
    if (cause.code === INVALID_PARAMETERS) {
      throw refusals.invalidParameter(2, 'Expected state overrides')
    }
    throw toRefusal(cause)
  }
}

function toInnerCall(ledger: Ledger, call: unknown): { [name: string]: unknown } {
  if (typeof call !== 'object' || call === null) {
    throw refusals.invalidParameter(0, 'Expected transaction object')
  }
  const fields = new Map<string, unknown>(Object.entries(call))
  const pick = (name: string): unknown => fields.get(name) ?? undefined
  const [from, to, value, gas] = ['from', 'to', 'value', 'gas'].map(pick)
  const canonical = (address: unknown) =>
    ledger.accounts.canonicalAddress(addressParameter([address], 0))
  return {
    ...(from === undefined ? {} : { from: canonical(from) }),
    ...(to === undefined ? {} : { to: canonical(to) }),
    data: callData(pick('data') ?? pick('input') ?? '0x'),
    ...(value === undefined ? {} : { value: toTinybarHex(value) }),
    gas: gas === undefined ? numberToHex(TRANSACTION_GAS_MAX) : cappedGas(gas),
    // A call with a sender sees the network's gas price, as a transaction does.
    ...(from === undefined ? {} : { gasPrice: numberToHex(ledger.settings.gasPriceTinybar) }),
  }
}

function callData(data: unknown): Hex {
  if (typeof data === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(data)) return data as Hex
  throw refusals.invalidParameter(0, 'Expected 0x prefixed hexadecimal call data of whole bytes')
}

function toTinybarHex(value: unknown): Hex {
  return numberToHex(quantity(value) / WEIBAR_PER_TINYBAR)
}

function cappedGas(gas: unknown): Hex {
  const amount = quantity(gas)
  const max = BigInt(TRANSACTION_GAS_MAX)
  return numberToHex(amount < max ? amount : max)
}

function quantity(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) return BigInt(value)
  throw refusals.invalidParameter(0, 'Expected 0x prefixed hexadecimal value')
}

function toRefusal(error: AnvilRefused): RpcError {
  const data = typeof error.data === 'string' ? error.data : '0x'
  if (isFundsRefusal(error)) return refusals.insufficientBalance()
  return refusals.reverted(revertText(data), data)
}

function revertText(data: string): string | undefined {
  // 0x08c379a0 is Error(string); panics and custom errors have no text.
  if (!data.startsWith('0x08c379a0')) return undefined
  try {
    return String(decodeErrorResult({ data: data as Hex }).args[0])
  } catch {
    return undefined
  }
}

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

/** JSON-RPC's code for parameters that are not understood, which anvil answers as well. */
const INVALID_PARAMETERS = -32602

/** The reads of state. */
export function stateMethods(ledger: Ledger): RpcMethods {
  const { anvil, accounts } = ledger
  const at = (parameters: readonly unknown[], index: number) =>
    accounts.canonicalAddress(addressParameter(parameters, index))
  return {
    eth_getBalance: async (p) =>
      toWeibar(
        (await anvil.call('eth_getBalance', [at(p, 0), innerTag(ledger, p[1] ?? 'latest')])) as Hex,
      ),
    eth_getTransactionCount: (p) => transactionCount(ledger, p),
    eth_getCode: (p) => anvil.call('eth_getCode', [at(p, 0), innerTag(ledger, p[1] ?? 'latest')]),
    eth_getStorageAt: (p) =>
      anvil.call('eth_getStorageAt', [
        at(p, 0),
        slotParameter(p, 1),
        innerTag(ledger, p[2] ?? 'latest'),
      ]),
    eth_call: (p) =>
      execute(ledger, { method: 'eth_call', call: required(p, 0), tag: p[1], overrides: p[2] }),
    eth_estimateGas: (p) =>
      execute(ledger, { method: 'eth_estimateGas', call: required(p, 0), tag: p[1] }),
  }
}

async function transactionCount(ledger: Ledger, p: readonly unknown[]): Promise<unknown> {
  const address = ledger.accounts.canonicalAddress(addressParameter(p, 0))
  const asked = blockNumberOf(ledger, p[1])
  if (asked === undefined) throw refusals.unknownBlock()
  const { nonceLagMs } = ledger.faults
  const shown = nonceLagMs === 0 ? asked : ledger.evm.blockAt(ledger.clock.unixMs() - nonceLagMs)
  const tag = innerTag(ledger, numberToHex(Math.min(asked, shown)))
  return ledger.anvil.call('eth_getTransactionCount', [address, tag])
}

type Execution = {
  method: 'eth_call' | 'eth_estimateGas'
  call: unknown
  tag: unknown
  overrides?: unknown
}

async function execute(ledger: Ledger, execution: Execution): Promise<unknown> {
  const tag = innerTag(ledger, execution.tag ?? 'latest')
  const { overrides } = execution
  if (overrides !== undefined && (typeof overrides !== 'object' || overrides === null)) {
    throw refusals.invalidParameter(2, 'Expected state overrides')
  }
  const rest = overrides === undefined ? [tag] : [tag, overrides]
  const call = toInnerCall(ledger, execution.call)
  const run = (inner: object): Promise<unknown> =>
    ledger.anvil.call(execution.method, [inner, ...rest])
  try {
    return await run(call).catch((cause: unknown) => {
      if (!(cause instanceof AnvilRefused && isFundsRefusal(cause))) throw cause
      // A read is not refused because its caller could not pay for its gas.
      const { gasPrice: _gasPrice, ...free } = call
      return run(free)
    })
  } catch (cause) {
    if (!(cause instanceof AnvilRefused)) throw cause
    // Of what is passed on as it is, only the overrides can be more than anvil reads.
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
    // Who calls as somebody sees the network's gas price, as in a transaction.
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

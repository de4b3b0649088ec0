// Reads of state: balances, nonces, code, storage, calls and gas estimates.

import { concatHex, type Hex, numberToHex } from 'viem'
import { AnvilRefused, INVALID_PARAMETERS } from '../anvil/anvil-client.ts'
import { callEvm, type EvmCall } from '../ledger/evm-call.ts'
import { WEIBAR_PER_TINYBAR } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { TOKEN_SERVICE_ADDRESS } from '../ledger/token-registry.ts'
import { findBlockNumber, innerTag } from './block-methods.ts'
import { toWeibar } from './outer-view.ts'
import {
  addressParameter,
  type RpcMethods,
  refusals,
  required,
  slotParameter,
} from './rpc-method.ts'

/** The network's own contracts have no code but this, whatever emulates them here: HTS, exchange rate, PRNG, HAS and HSS. */
const SYSTEM_CONTRACTS = [0x167, 0x168, 0x169, 0x16a, 0x16b]

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
    eth_getCode: async (p) => {
      if (SYSTEM_CONTRACTS.includes(Number(p[0]))) return '0xfe'
      // What the network shows of a token: a delegation to its token service.
      const isToken = ledger.tokens.byAddress(String(p[0])) !== undefined
      return isToken ? concatHex(['0xef0100', TOKEN_SERVICE_ADDRESS]) : reads('eth_getCode')(p)
    },
    eth_getStorageAt: reads('eth_getStorageAt', (p) => slotParameter(p, 1)),
    eth_call: (p) => execute(ledger, 'eth_call', p),
    eth_estimateGas: (p) => execute(ledger, 'eth_estimateGas', p.slice(0, 2)),
  }
}

async function transactionCount(ledger: Ledger, p: readonly unknown[]): Promise<unknown> {
  const address = ledger.accounts.canonicalAddress(addressParameter(p, 0))
  const blockNumber = await findBlockNumber(ledger, p[1])
  if (blockNumber === undefined) throw refusals.unknownBlock()
  const shown = ledger.evm.newestBlock(ledger.faults.nonceLagMs)
  const tag = await innerTag(ledger, numberToHex(Math.min(blockNumber, shown)))
  return ledger.anvil.call('eth_getTransactionCount', [address, tag])
}

async function execute(
  ledger: Ledger,
  method: 'eth_call' | 'eth_estimateGas',
  p: readonly unknown[],
): Promise<Hex> {
  const call = toEvmCall(required(p, 0))
  const tag = await innerTag(ledger, p[1] ?? 'latest')
  const overrides = p[2]
  if (overrides !== undefined && (typeof overrides !== 'object' || overrides === null)) {
    throw refusals.invalidParameter(2, 'Expected state overrides')
  }
  const outcome = await callEvm(ledger, call, { method, tag, overrides }).catch(
    (cause: unknown) => {
      // Only the overrides are passed on unchecked.
      const isRefused = cause instanceof AnvilRefused && cause.code === INVALID_PARAMETERS
      throw isRefused ? refusals.invalidParameter(2, 'Expected state overrides') : cause
    },
  )
  if (outcome.kind === 'returned') return outcome.data
  if (outcome.kind === 'unfunded') throw refusals.insufficientBalance()
  throw refusals.reverted(outcome.reason, outcome.data)
}

function toEvmCall(call: unknown): EvmCall {
  if (typeof call !== 'object' || call === null) {
    throw refusals.invalidParameter(0, 'Expected transaction object')
  }
  const fields = new Map<string, unknown>(Object.entries(call))
  const pick = (name: string): unknown => fields.get(name) ?? undefined
  const [from, to, value, gas] = ['from', 'to', 'value', 'gas'].map(pick)
  return {
    from: from === undefined ? undefined : addressParameter([from], 0),
    to: to === undefined ? undefined : addressParameter([to], 0),
    data: callData(pick('data') ?? pick('input') ?? '0x'),
    valueTinybar: value === undefined ? undefined : quantity(value) / WEIBAR_PER_TINYBAR,
    gas: gas === undefined ? undefined : quantity(gas),
  }
}

function callData(data: unknown): Hex {
  if (typeof data === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(data)) return data as Hex
  throw refusals.invalidParameter(0, 'Expected 0x prefixed hexadecimal call data of whole bytes')
}

function quantity(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  if (typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value)) return BigInt(value)
  throw refusals.invalidParameter(0, 'Expected 0x prefixed hexadecimal value')
}

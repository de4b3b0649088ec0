/**
 * Calls the access contract: viem encodes calls, writes transactions and decodes results and events, and the relay carries
 * them. Each selector is hashed once: viem would hash those of all events, in JavaScript, for each log. Transactions are legacy
 * ones (EIP-155); libsecp256k1 signs in 40 µs, where viem's JavaScript takes ten times as long: its signature is deterministic
 * (RFC 6979) and the same.
 */
import { hash } from 'node:crypto'
import { accessWindowAbi } from '@tallystick/contracts'
import { secp256k1 } from '@tallystick/x402/secp256k1'
import {
  type Abi,
  type AbiEvent,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type DecodeEventLogReturnType,
  decodeEventLog,
  decodeFunctionResult,
  encodeFunctionData,
  serializeTransaction,
  toEventSelector,
  toFunctionSelector,
  toHex,
} from 'viem'
import type { AccessWindow, Hex } from '../domain/access-window.ts'
import type { SignedTransaction } from '../transactions/transaction-ledger.ts'
import { type LedgerLog, WEIBAR_PER_TINYBAR } from './ledger-facts.ts'
import { type Relay, RelayRefusal } from './relay.ts'

const abi = accessWindowAbi
const allItems: Abi = abi

/** There is no contract at the address: a call to it returned no data. */
export class NoContract extends Error {
  override readonly name = 'NoContract'
}

type Reader = Pick<Relay, 'read'>

async function ethCall(relay: Reader, call: object): Promise<Hex> {
  const data = await relay.read('eth_call', [call, 'latest'])
  if (data === '0x') throw new NoContract('there is no contract at the address')
  return data as Hex
}

/** Counts on the wire are JSON numbers: one beyond their exact range is shown as the largest exact one. */
export const toCount = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value)

/** Returns an address as this service writes it: viem writes checksums. */
export const withoutChecksum = (address: Hex): Hex => address.toLowerCase() as Hex

/** Each function alone, with its selector: by these viem encodes calls and decodes results. */
const functions = new Map(
  allItems.flatMap((item) =>
    item.type === 'function'
      ? [[item.name, { abi: [item], functionName: toFunctionSelector(item) }] as const]
      : [],
  ),
)

function findFunction(name: string): { readonly abi: Abi; readonly functionName: Hex } {
  const found = functions.get(name)
  if (found === undefined) throw new TypeError(`the contract has no ${name}`)
  return found
}

/** Reads the window of `agent` at `atSeconds`. Throws NoContract and the relay's errors. */
export async function readWindow(
  relay: Reader,
  query: { readonly contract: Hex; readonly agent: Hex; readonly atSeconds: number },
): Promise<AccessWindow> {
  const { contract, agent, atSeconds } = query
  const args = [agent, BigInt(atSeconds)] as const
  const window = await readView(relay, { contract, functionName: 'windowOf', args })
  const { guardNonce: _, expiresAt, scheduledAt, periodsFunded, schedule, ...same } = window
  return {
    ...same,
    schedule: withoutChecksum(schedule),
    expiresAtSeconds: toCount(expiresAt),
    scheduledAtSeconds: toCount(scheduledAt),
    periodsFunded: toCount(periodsFunded),
  }
}

type ViewName = ContractFunctionName<typeof abi, 'view' | 'pure'>

export function encodeCall(functionName: string, args: readonly unknown[]): Hex {
  // viem checks the checksum of an address unless it is in lower case.
  const lower = args.map((arg) => (typeof arg === 'string' ? arg.toLowerCase() : arg))
  return encodeFunctionData({ ...findFunction(functionName), args: lower })
}

/** Reads one of the contract's views. Throws NoContract and the relay's errors. */
export async function readView<
  Name extends ViewName,
  Args extends ContractFunctionArgs<typeof abi, 'view' | 'pure', Name>,
>(
  relay: Reader,
  call: { readonly contract: Hex; readonly functionName: Name; readonly args?: Args },
): Promise<ContractFunctionReturnType<typeof abi, 'view' | 'pure', Name, Args>> {
  const { contract, functionName } = call
  const args = (call.args ?? []) as readonly unknown[]
  const data = await ethCall(relay, { to: contract, data: encodeCall(functionName, args) })
  const { abi: own } = findFunction(functionName)
  const name: string = functionName
  return decodeFunctionResult({ abi: own, functionName: name, data }) as never
}

/**
 * Gas limit of a transaction that may arm a renewal, as the contract computes it from the dollar price of a `scheduleCall`
 * and the last gas price it saw: an estimate is wrong for calls that schedule. Only used gas is charged.
 */
export async function readArmingGas(relay: Reader, contract: Hex): Promise<bigint> {
  const [transactionGas] = await readView(relay, { contract, functionName: 'armingGas' })
  return transactionGas
}

type ContractWrite = {
  readonly functionName: string
  readonly args: readonly unknown[]
  readonly valueTinybar: bigint
  readonly gas: bigint
}

/** Encodes the write as a transaction to `to`. */
export function encodeTransaction(to: Hex, { valueTinybar, gas, ...call }: ContractWrite) {
  return { to, data: encodeCall(call.functionName, call.args), valueTinybar, gas }
}

/** Legacy, because the base fee in Hedera's block header makes EIP-1559 estimates wrong. */
type LegacyTransaction = {
  readonly chainId: number
  readonly nonce: number
  readonly gasPriceWeibar: bigint
  readonly gas: bigint
  /** Absent for a contract's creation. */
  readonly to?: Hex | undefined
  readonly valueWeibar: bigint
  readonly data: Hex
}

const keccak = (bytes: Uint8Array): Buffer => hash('keccak-256', bytes, 'buffer')

const keccakHex = (hex: Hex): Buffer => keccak(Buffer.from(hex.slice(2), 'hex'))

/** Makes a signer for a private key: 32 bytes in hex with `0x`, a valid scalar of the curve. */
export function createTransactionSigner(privateKey: Hex) {
  const key = Buffer.from(privateKey.slice(2), 'hex')
  const point = secp256k1.pointOfKey(key)
  return {
    /** Lower case. */
    address: toHex(keccak(point.subarray(1)).subarray(12)),
    sign({
      gasPriceWeibar,
      to,
      valueWeibar,
      ...transaction
    }: LegacyTransaction): SignedTransaction {
      const legacy = {
        ...transaction,
        type: 'legacy',
        // viem checks the checksum of an address unless it is in lower case.
        to: to?.toLowerCase() as Hex | undefined,
        gasPrice: gasPriceWeibar,
        value: valueWeibar,
      } as const
      const { recovery, rs } = secp256k1.sign(keccakHex(serializeTransaction(legacy)), key)
      const rawTransaction = serializeTransaction(legacy, {
        r: toHex(rs.subarray(0, 32)),
        s: toHex(rs.subarray(32)),
        v: BigInt(27 + recovery),
      })
      const { nonce } = transaction
      return { nonce, gasPriceWeibar, rawTransaction, hash: toHex(keccakHex(rawTransaction)) }
    },
  }
}

/** Tries the write without sending it; names the error it would revert with, if any. Throws the relay's errors. */
export async function findRevert(
  relay: Reader,
  between: { readonly account: Hex; readonly address: Hex },
  { valueTinybar, functionName, args }: Omit<ContractWrite, 'gas'>,
): Promise<string | undefined> {
  const value = `0x${(valueTinybar * WEIBAR_PER_TINYBAR).toString(16)}`
  const data = encodeCall(functionName, args)
  try {
    await relay.read('eth_call', [
      { from: between.account, to: between.address, value, data },
      'latest',
    ])
    return undefined
  } catch (error) {
    const name = nameRevert(error)
    if (name === undefined) throw error
    return name
  }
}

/** Names of the contract's errors by selector, and of those that Solidity itself reverts with. */
const errors = new Map<string, string>([
  ['0x08c379a0', 'Error'],
  ['0x4e487b71', 'Panic'],
  ...allItems.flatMap((item): [string, string][] => {
    if (item.type !== 'error') return []
    const types = item.inputs.map(({ type }) => type).join(',')
    return [[toFunctionSelector(`${item.name}(${types})`), item.name]]
  }),
])

/** Names the contract's error that a refused call reverted with; undefined if it was refused for another reason. */
function nameRevert(error: unknown): string | undefined {
  if (!(error instanceof RelayRefusal)) return undefined
  const { data, details } = error
  if (data === undefined || !/^0x[0-9a-fA-F]{8,}$/.test(data))
    return /revert/i.test(details) ? 'reverted' : undefined
  return errors.get(data.slice(0, 10).toLowerCase()) ?? 'reverted'
}

const events = new Map<string, AbiEvent>(
  allItems.flatMap((item) => (item.type === 'event' ? [[toEventSelector(item), item]] : [])),
)

type ContractEvent = DecodeEventLogReturnType<typeof abi>

/** Decodes the events of the contract among a receipt's logs, in their order. */
export function decodeContractEvents(
  logs: readonly LedgerLog[],
  contract: Hex,
): readonly ContractEvent[] {
  const own = contract.toLowerCase()
  return logs.flatMap(({ address, data, topics }) => {
    const event = events.get(topics[0] ?? '')
    if (event === undefined || address.toLowerCase() !== own) return []
    return [decodeEventLog({ abi: [event], data, topics } as never) as never]
  })
}

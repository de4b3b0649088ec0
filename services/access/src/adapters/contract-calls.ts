/**
 * How the access contract is called: call data, results, events and errors, with each selector hashed once. The window of an
 * agent is read by its own decoder, since every metered call may read it. The relay carries the calls.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import {
  type Abi,
  type AbiParameter,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type DecodeEventLogReturnType,
  toEventSelector,
  toFunctionSelector,
} from 'viem'
import type { AccessWindow, Hex } from '../domain/access-window.ts'
import { addressWord, decodeWords, encodeWords, numberWord } from './abi-words.ts'
import { WEIBAR_PER_TINYBAR } from './ledger-facts.ts'
import { type Relay, RelayRefusal } from './relay.ts'

const abi = accessWindowAbi

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

/** Digits of the word at `index` of what a call returned. */
const digitsAt = (data: Hex, index: number): string => data.slice(2 + 64 * index, 66 + 64 * index)

/** Counts on the wire are JSON numbers: one beyond their exact range is shown as the largest exact one. */
const countAt = (data: Hex, index: number): number =>
  Math.min(Number.parseInt(digitsAt(data, index), 16), Number.MAX_SAFE_INTEGER)

const bigintAt = (data: Hex, index: number): bigint => BigInt(`0x${digitsAt(data, index)}`)
const isSetAt = (data: Hex, index: number): boolean => data.charCodeAt(65 + 64 * index) === 0x31

/** The contract's functions by name; a selector is hashed once, viem would hash it on each call. */
const functions = new Map(
  (abi as Abi).flatMap((item) =>
    item.type === 'function' ? [[item.name, { ...item, selector: toFunctionSelector(item) }]] : [],
  ),
)

function functionOf(name: string) {
  const found = functions.get(name)
  if (found === undefined) throw new TypeError(`the contract has no ${name}`)
  return found
}

const windowOfSelector = functionOf('windowOf').selector

/** Words of the contract's `Window`. */
const WINDOW_WORDS = 15

/** The window of `agent` at `atSeconds`. Throws NoContract and the relay's errors. */
export async function readWindow(
  relay: Reader,
  at: { readonly contract: Hex; readonly agent: string; readonly atSeconds: number },
): Promise<AccessWindow> {
  const data = `${windowOfSelector}${addressWord(at.agent)}${numberWord(at.atSeconds)}`
  return toAccessWindow(await ethCall(relay, { to: at.contract, data }))
}

/** Reads what `windowOf` returns; a test holds it against viem's decoding of the interface. */
export function toAccessWindow(data: Hex): AccessWindow {
  if (data.length !== 2 + 64 * WINDOW_WORDS) throw new TypeError('the contract answered no window')
  return {
    exists: isSetAt(data, 0),
    isOpen: isSetAt(data, 1),
    isCancelled: isSetAt(data, 2),
    expiresAtSeconds: countAt(data, 3),
    periodSeconds: countAt(data, 4),
    priceTinybar: bigintAt(data, 5),
    balanceTinybar: bigintAt(data, 6),
    periodsFunded: countAt(data, 7),
    callsUsed: countAt(data, 8),
    callsAllowed: countAt(data, 9),
    schedule: `0x${digitsAt(data, 10).slice(24).toLowerCase()}`,
    scheduledAtSeconds: countAt(data, 11),
    isGuarded: isSetAt(data, 12),
    slotId: bigintAt(data, 13),
  }
}

type ViewName = ContractFunctionName<typeof abi, 'view' | 'pure'>

/** The call data of a function. */
function encode(functionName: string, args: readonly unknown[]): Hex {
  const { inputs, selector } = functionOf(functionName)
  return `${selector}${encodeWords(inputs, args)}`
}

/** The result of one of the contract's views. Throws NoContract and the relay's errors. */
export async function readView<
  Name extends ViewName,
  Args extends ContractFunctionArgs<typeof abi, 'view' | 'pure', Name>,
>(
  relay: Reader,
  call: { readonly contract: Hex; readonly functionName: Name; readonly args?: Args },
): Promise<ContractFunctionReturnType<typeof abi, 'view' | 'pure', Name, Args>> {
  const { contract, functionName } = call
  const args = (call.args ?? []) as readonly unknown[]
  const data = await ethCall(relay, { to: contract, data: encode(functionName, args) })
  const values = decodeWords(functionOf(functionName).outputs, data)
  return (values.length === 1 ? values[0] : values) as never
}

/** One write to the access contract. */
type ContractWrite = {
  readonly functionName: string
  readonly args: readonly unknown[]
  readonly valueTinybar: bigint
  readonly gas: bigint
}

/** The write as a transaction to `to`. */
export function contractTransaction(to: Hex, { valueTinybar, gas, ...call }: ContractWrite) {
  return { to, data: encode(call.functionName, call.args), valueTinybar, gas }
}

/** Tries the write without sending it: the name of the error it would revert with, if it would. Throws the relay's errors. */
export async function revertOf(
  relay: Reader,
  between: { readonly account: Hex; readonly address: Hex },
  { valueTinybar, functionName, args }: Omit<ContractWrite, 'gas'>,
): Promise<string | undefined> {
  const value = `0x${(valueTinybar * WEIBAR_PER_TINYBAR).toString(16)}`
  const data = encode(functionName, args)
  try {
    await relay.read('eth_call', [
      { from: between.account, to: between.address, value, data },
      'latest',
    ])
    return undefined
  } catch (error) {
    const name = revertName(error)
    if (name === undefined) throw error
    return name
  }
}

/** Names of the contract's errors by selector, and of those that Solidity itself reverts with. */
const errors = new Map<string, string>([
  ['0x08c379a0', 'Error'],
  ['0x4e487b71', 'Panic'],
  ...(abi as Abi).flatMap((item): [string, string][] => {
    if (item.type !== 'error') return []
    const types = item.inputs.map(({ type }) => type).join(',')
    return [[toFunctionSelector(`${item.name}(${types})`), item.name]]
  }),
])

/** The name of the contract's error that a refused call reverted with; undefined where it was refused for anything else. */
function revertName(error: unknown): string | undefined {
  if (!(error instanceof RelayRefusal)) return undefined
  const { data, details } = error
  if (data === undefined || !/^0x[0-9a-fA-F]{8,}$/.test(data))
    return /revert/i.test(details) ? 'reverted' : undefined
  return errors.get(data.slice(0, 10).toLowerCase()) ?? 'reverted'
}

/** What is read of a log. */
export type LedgerLog = {
  readonly address: string
  readonly data: string
  readonly topics: readonly string[]
}

const isIndexed = (input: AbiParameter & { readonly indexed?: boolean | undefined }): boolean =>
  input.indexed === true

/** The contract's events by selector. */
const events = new Map(
  (abi as Abi).flatMap((item) => {
    if (item.type !== 'event') return []
    const { inputs, name } = item
    const indexed = inputs.filter(isIndexed)
    const others = inputs.filter((input) => !isIndexed(input))
    return [[toEventSelector(item), { name, indexed, others }]]
  }),
)

type ContractEvent = DecodeEventLogReturnType<typeof abi>

/** The events of the contract among a receipt's logs, in their order; addresses in lower case. */
export function contractEvents(logs: readonly LedgerLog[], contract: Hex): ContractEvent[] {
  const own = contract.toLowerCase()
  return logs.flatMap(({ address, data, topics: [selector = '', ...topics] }) => {
    const event = events.get(selector as Hex)
    if (event === undefined || address.toLowerCase() !== own) return []
    const words = `0x${topics.map((topic) => topic.slice(2)).join('')}${data.slice(2)}` as const
    const inputs = [...event.indexed, ...event.others]
    const values = decodeWords(inputs, words)
    const args = Object.fromEntries(inputs.map(({ name = '' }, at) => [name, values[at]]))
    return [{ eventName: event.name, args } as never]
  })
}

import { accessWindowAbi } from '@tallystick/contracts'
import * as fc from 'fast-check'
import {
  type Abi,
  type AbiParameter,
  decodeErrorResult,
  decodeEventLog,
  encodeAbiParameters,
  encodeErrorResult,
  encodeEventTopics,
  encodeFunctionData,
  encodeFunctionResult,
  getAbiItem,
  toFunctionSelector,
  toHex,
} from 'viem'
import { describe, expect, test } from 'vitest'
import type { Hex } from '../domain/access-window.ts'
import { decodeContractEvents, encodeCall, findRevert, readWindow } from './contract-calls.ts'
import { encodeUsage } from './recorder-ledger.ts'
import { RelayRefusal } from './relay.ts'

const abi = accessWindowAbi
const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
const count = (bits: number) => fc.integer({ min: 0, max: 2 ** Math.min(bits, 31) - 1 })
const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes): Hex => toHex(bytes))

const windows = fc.record({
  exists: fc.boolean(),
  isOpen: fc.boolean(),
  isCancelled: fc.boolean(),
  expiresAt: uint(53),
  periodSeconds: count(32),
  priceTinybar: uint(64),
  balanceTinybar: uint(64),
  periodsFunded: uint(53),
  callsUsed: count(32),
  callsAllowed: count(32),
  schedule: address,
  scheduledAt: uint(53),
  isGuarded: fc.boolean(),
  slotId: uint(256),
  guardNonce: count(32),
})

describe('what stands for the contract’s interface', () => {
  const subscriber = '0x00000000000000000000000000000000000a11ce'
  const query = { contract: '0xc0', agent: subscriber, atSeconds: 1_800_000_000 } as const
  const answering = (data: Hex) => readWindow({ read: async () => data }, query)

  test('A6: a window is read as viem encodes it, its address in lower case', () =>
    fc.assert(
      fc.asyncProperty(windows, async (window) => {
        const data = encodeFunctionResult({ abi, functionName: 'windowOf', result: window })
        const { expiresAt, scheduledAt, periodsFunded, guardNonce: _, ...same } = window
        expect(await answering(data)).toEqual({
          ...same,
          expiresAtSeconds: Number(expiresAt),
          scheduledAtSeconds: Number(scheduledAt),
          periodsFunded: Number(periodsFunded),
        })
      }),
    ))

  test('a count beyond the exact range of JSON numbers is the largest exact one', async () => {
    const [window] = fc.sample(windows, 1)
    if (window === undefined) throw new Error('no window')
    const result = { ...window, periodsFunded: 2n ** 64n - 1n }
    const data = encodeFunctionResult({ abi, functionName: 'windowOf', result })
    expect((await answering(data)).periodsFunded).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('an answer of fewer words than the contract returns is refused', async () => {
    await expect(answering(`0x${'0'.repeat(64 * 14)}`)).rejects.toThrow('out of bounds')
  })

  test('the call of windowOf is as viem encodes it', async () => {
    const sent: unknown[] = []
    const read = async (_method: string, params: readonly unknown[]) => {
      sent.push(...params)
      return `0x${'0'.repeat(64 * 15)}`
    }
    await readWindow({ read }, query)
    const args = [subscriber, 1_800_000_000n] as const
    const data = encodeFunctionData({ abi, functionName: 'windowOf', args })
    expect(sent).toEqual([{ to: '0xc0', data }, 'latest'])
  })

  test('A10, A18: usage is encoded as viem encodes it, calls that go back too', () => {
    const entries = fc.array(
      fc.record({
        agent: address,
        calls: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        windowExpiresAtSeconds: count(53),
      }),
      { maxLength: 4 },
    )
    const expected = (usages: typeof entries extends fc.Arbitrary<infer T> ? T : never): Hex => {
      const [only, ...others] = usages
      if (only !== undefined && others.length === 0) {
        const args = [only.agent, only.calls, BigInt(only.windowExpiresAtSeconds)] as const
        return encodeFunctionData({ abi, functionName: 'recordUsage', args })
      }
      const words = usages.map(({ agent, calls, windowExpiresAtSeconds }) =>
        toHex(
          (BigInt(agent) << 96n) |
            (BigInt.asUintN(32, BigInt(calls)) << 64n) |
            BigInt(windowExpiresAtSeconds),
          { size: 32 },
        ),
      )
      return encodeFunctionData({ abi, functionName: 'recordUsageBatch', args: [words] })
    }
    const property = fc.property(entries, (usages) => {
      expect(encodeUsage(usages)).toBe(expected(usages))
    })
    fc.assert(property)
  })

  test('the selector of the exchange rate is that of its signature', () => {
    expect(toFunctionSelector('tinybarsToTinycents(uint256)')).toBe('0x43a88229')
    expect(getAbiItem({ abi, name: 'windowOf' }).outputs[0].components).toHaveLength(15)
  })
})

/** Any value of a type, as viem types it. */
function arbitraryValue(parameter: AbiParameter): fc.Arbitrary<unknown> {
  const { type } = parameter
  if ('components' in parameter)
    return fc.record(
      Object.fromEntries(
        parameter.components.map((component) => [component.name ?? '', arbitraryValue(component)]),
      ),
    )
  if (type === 'address') return address
  if (type === 'bool') return fc.boolean()
  if (type === 'bytes32')
    return fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => toHex(bytes))
  const isSigned = type.startsWith('int')
  const bits = BigInt(type.replace(/\D+/, ''))
  const [min, max] = isSigned
    ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]
    : [0n, 2n ** bits - 1n]
  return fc.bigInt({ min, max }).map((value) => (bits <= 48n ? Number(value) : value))
}

const arbitraryValues = (parameters: readonly AbiParameter[]): fc.Arbitrary<unknown[]> =>
  fc.tuple(...parameters.map(arbitraryValue))

const items = (type: 'function' | 'event' | 'error') =>
  (abi as Abi).filter((item) => item.type === type) as never[]

/** What a call that reverts with that data is said to revert with. */
const nameRevert = (data: Hex) => {
  const read = async () => {
    throw new RelayRefusal('execution reverted', data)
  }
  const call = { functionName: 'poke', args: [`0x${'00'.repeat(20)}`], valueTinybar: 0n }
  return findRevert({ read }, { account: '0x00', address: '0x01' }, call)
}

describe('every function, event and error of the contract', () => {
  const functions = items('function') as { name: string; inputs: AbiParameter[] }[]
  /** Those that the service or its command may call: of words, under a name of their own. */
  const called = functions.filter(
    ({ inputs, name }) =>
      inputs.every(({ type }) => !/\[|^bytes$/.test(type)) &&
      functions.filter((other) => other.name === name).length === 1,
  )

  test.each(called)('the call of $name is encoded as viem encodes it', ({ name, inputs }) => {
    const named: { abi: Abi; functionName: string } = { abi, functionName: name }
    const property = fc.property(arbitraryValues(inputs), (args) => {
      expect(encodeCall(name, args)).toBe(encodeFunctionData({ ...named, args }))
    })
    fc.assert(property, { numRuns: 20 })
  })

  test('an address is taken in any case, whatever its checksum says', () => {
    const mixed = '0x00000000000000000000000000000000000A11Ce'
    expect(encodeCall('poke', [mixed])).toBe(encodeCall('poke', [mixed.toLowerCase()]))
  })

  const events = items('event') as {
    name: string
    inputs: (AbiParameter & { indexed?: boolean })[]
  }[]

  test.each(events)('the event $name is decoded as viem decodes it', ({ name, inputs }) => {
    const property = fc.property(arbitraryValues(inputs), (values) => {
      const args = Object.fromEntries(inputs.map((input, at) => [input.name, values[at]]))
      const named: { abi: Abi; eventName: string } = { abi, eventName: name }
      const topics = encodeEventTopics({ ...named, args }) as [Hex, ...Hex[]]
      const others = inputs.filter(({ indexed }) => indexed !== true)
      const data = encodeAbiParameters(
        others,
        others.map(({ name: own = '' }) => args[own]) as never,
      )
      const [found] = decodeContractEvents([{ address: '0xC0', data, topics }], '0xc0')
      expect(found).toEqual(decodeEventLog({ abi, data, topics }))
    })
    fc.assert(property, { numRuns: 20 })
  })

  const errors = items('error') as { name: string; inputs: AbiParameter[] }[]
  test.each(errors)('a revert with $name is named as viem names it', async ({ name, inputs }) => {
    const [args] = fc.sample(arbitraryValues(inputs), 1)
    const named: { abi: Abi; errorName: string } = { abi, errorName: name }
    const data = encodeErrorResult({ ...named, args: args ?? [] })
    expect(await nameRevert(data)).toBe(decodeErrorResult({ abi, data }).errorName)
  })

  test('a revert that the contract does not declare is one all the same', async () => {
    expect(await nameRevert('0x12345678')).toBe('reverted')
  })
})

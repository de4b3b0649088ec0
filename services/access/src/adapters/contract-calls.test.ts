import { accessWindowAbi } from '@tallystick/contracts'
import * as fc from 'fast-check'
import {
  encodeFunctionData,
  encodeFunctionResult,
  getAbiItem,
  toFunctionSelector,
  toHex,
} from 'viem'
import { describe, expect, test } from 'vitest'
import type { Hex } from '../domain/access-window.ts'
import { readWindow, toAccessWindow } from './contract-calls.ts'
import { encodeUsage } from './viem-usage-ledger.ts'

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
  test('A6: a window is decoded as viem encodes it', () => {
    fc.assert(
      fc.property(windows, (window) => {
        const data = encodeFunctionResult({ abi, functionName: 'windowOf', result: window })
        const { expiresAt, scheduledAt, periodsFunded, guardNonce: _, ...same } = window
        expect(toAccessWindow(data)).toEqual({
          ...same,
          expiresAtSeconds: Number(expiresAt),
          scheduledAtSeconds: Number(scheduledAt),
          periodsFunded: Number(periodsFunded),
        })
      }),
    )
  })

  test('a count beyond the exact range of JSON numbers is the largest exact one', () => {
    const data = `0x${'f'.repeat(64 * 15)}` as const
    expect(toAccessWindow(data).periodsFunded).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('the call of windowOf is as viem encodes it', async () => {
    const agent = '0x00000000000000000000000000000000000a11ce'
    const sent: unknown[] = []
    const read = async (_method: string, params: readonly unknown[]) => {
      sent.push(...params)
      return `0x${'0'.repeat(64 * 15)}`
    }
    await readWindow({ read }, { contract: '0xc0', agent, atSeconds: 1_800_000_000 })
    const args = [agent, 1_800_000_000n] as const
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

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { slotSecondsFrom } from './deploy.ts'
import type { OperatorCall } from './operator-verb.ts'

const callAt = (rpcUrl: string, text?: string): OperatorCall =>
  ({
    config: { LEDGER_RPC_URL: rpcUrl },
    text: () => text,
  }) as unknown as OperatorCall
const PUBLIC = 'https://testnet.hashio.io/api'

test('A19: slots are a quarter of the period on a public ledger, and a second on a local one', () => {
  expect(slotSecondsFrom(callAt(PUBLIC), 3_600)).toBe(900)
  expect(slotSecondsFrom(callAt('http://127.0.0.1:7546'), 20)).toBe(1)
  expect(slotSecondsFrom(callAt(PUBLIC, '60'), 3_600)).toBe(60)
})

test('A19: whatever the period, slots divide it and are a quarter of it at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 5_356_000 }), (periodSeconds) => {
      const slotSeconds = slotSecondsFrom(callAt(PUBLIC), periodSeconds)
      expect(periodSeconds % slotSeconds).toBe(0)
      expect(slotSeconds * 4).toBeLessThanOrEqual(periodSeconds)
    }),
  )
})

import type { LedgerTransfer } from '@tallystick/x402/hedera'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMirrorPaymentLog } from './mirror-payment-log.ts'

/** When the log says that a transfer with that valid start and consensus was paid, Unix seconds. */
async function paidAt(validStartSeconds: number, consensusSeconds: number): Promise<number> {
  const transfer: LedgerTransfer = {
    transactionId: `0.0.1005@${validStartSeconds}.000000001`,
    feePayer: '0.0.1005',
    consensusTimestamp: `${consensusSeconds}.000000000`,
    consensusSeconds,
    memo: '',
    direction: 'credit',
    reference: { text: '', hash: '0x' },
    amountTinybar: 1n,
    counterparties: [],
  } as never
  const mirror = {
    async *transfers() {
      yield transfer
    },
  }
  const log = createMirrorPaymentLog({
    mirror: mirror as never,
    accounts: { account: async () => undefined } as never,
    payTo: '0.0.1002',
  })
  for await (const { paidAtSeconds } of log.creditsAfter('0')) return paidAtSeconds
  throw new Error('there is no credit')
}

test('A4: a credit is as old as its validity, though never over 180 s older than its consensus', async () => {
  expect(await paidAt(1_000, 1_100)).toBe(1_000)
  // A scheduled transfer keeps the start of what scheduled it, weeks ago.
  expect(await paidAt(1_000, 2_000_000)).toBe(1_999_820)
  const seconds = fc.integer({ min: 1, max: 4_000_000_000 })
  await fc.assert(
    fc.asyncProperty(seconds, seconds, async (validStart, consensus) => {
      expect(await paidAt(validStart, consensus)).toBe(Math.max(validStart, consensus - 180))
    }),
  )
})

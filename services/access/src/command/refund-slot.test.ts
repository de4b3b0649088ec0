import { canonicalTransactionId } from '@tallystick/x402/hedera'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  REFUND_SLOT_SECONDS,
  REFUND_VALID_SECONDS,
  refundSlotAt,
  refundTransactionId,
} from './refund.ts'

const someMs = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 })
const reference = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const)

describe('A15: a refund is never paid twice', () => {
  test('a refund of one slot is dead before the next slot begins', () => {
    expect(REFUND_VALID_SECONDS).toBeLessThan(REFUND_SLOT_SECONDS)
  })

  test('at any two moments a credit has one refund transaction, or two of which the first is dead', () => {
    fc.assert(
      fc.property(
        someMs,
        fc.integer({ min: 0, max: 600_000 }),
        reference,
        (nowMs, laterMs, ref) => {
          const first = refundSlotAt(nowMs).slot
          const second = refundSlotAt(nowMs + laterMs).slot
          const makeId = (slot: typeof first) =>
            canonicalTransactionId(refundTransactionId({ feePayer: '0.0.2', slot, reference: ref }))
          if (makeId(first) === makeId(second)) return
          const firstDiesAt = first.startSeconds + REFUND_VALID_SECONDS
          expect(second.mirrorSecondsNeeded).toBeGreaterThanOrEqual(firstDiesAt)
          expect(second.startSeconds).toBeGreaterThan(firstDiesAt)
        },
      ),
    )
  })

  test('whoever waits as told submits while the transaction is valid, with 40 s of room', () => {
    fc.assert(
      fc.property(someMs, (nowMs) => {
        const { slot, waitMs } = refundSlotAt(nowMs)
        const atSeconds = (nowMs + waitMs) / 1_000
        expect(atSeconds).toBeGreaterThanOrEqual(slot.startSeconds + 5)
        expect(atSeconds).toBeLessThanOrEqual(slot.startSeconds + REFUND_VALID_SECONDS - 40 + 1)
        expect(waitMs).toBeLessThanOrEqual(55_000)
      }),
    )
  })

  test('two credits refunded in one slot have different transactions', () => {
    const slot = refundSlotAt(1_763_600_000_000).slot
    const id = (ref: `0x${string}`) =>
      refundTransactionId({ feePayer: '0.0.2', slot, reference: ref })
    expect(id(`0x${'0'.repeat(63)}1`)).not.toEqual(id(`0x${'0'.repeat(63)}2`))
  })
})

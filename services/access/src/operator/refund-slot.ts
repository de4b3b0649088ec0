// When and under which transaction id a refund may be submitted so that it can never be paid twice, by whatever number
// of operators, restarts and lost answers. Pure.
//
// Time is cut into slots of 180 s. In one slot a credit has exactly one possible refund transaction: its id is made from
// the credit's reference and the slot's start, so that the network itself refuses a second one as a duplicate. A
// transaction of an earlier slot is dead before the next slot begins; and a refund is only submitted once the mirror
// node has shown the ledger past that death and no refund was on it. The id names the fee payer: operators who refund the
// same credit in the same slot must use one facilitator.
import type { TransactionId } from '@tallystick/x402/hedera'

/** Length of a slot, seconds. */
export const SLOT_SECONDS = 180
/** Validity of a refund, from its slot's start: it ends before the next slot begins (the network's limit is 180). */
export const REFUND_VALID_SECONDS = 170
/** A node whose clock is behind ours refuses a start in its future. */
const START_SECONDS = 5
/** Room for submission before validity ends. */
const SUBMIT_SECONDS = 40

export type RefundSlot = {
  readonly startSeconds: number
  /** Consensus time that the mirror node must have shown before: nothing of an earlier slot can come after it. */
  readonly mirrorSecondsNeeded: number
}

/** The slot to use at a time, and how long to wait for it, milliseconds. */
export function refundSlotAt(nowMs: number): {
  readonly slot: RefundSlot
  readonly waitMs: number
} {
  const nowSeconds = nowMs / 1_000
  const current = Math.floor(nowSeconds / SLOT_SECONDS) * SLOT_SECONDS
  const isLate = nowSeconds > current + REFUND_VALID_SECONDS - SUBMIT_SECONDS
  const startSeconds = isLate ? current + SLOT_SECONDS : current
  const waitMs = Math.max(0, Math.ceil((startSeconds + START_SECONDS) * 1_000 - nowMs))
  const mirrorSecondsNeeded = startSeconds - SLOT_SECONDS + REFUND_VALID_SECONDS
  return { slot: { startSeconds, mirrorSecondsNeeded }, waitMs }
}

/** The one transaction id of a credit's refund in a slot. `reference` is the credit's payment reference, 32 bytes in hex. */
export function refundTransactionId(refund: {
  readonly feePayer: string
  readonly slot: RefundSlot
  readonly reference: `0x${string}`
}): TransactionId {
  return {
    accountId: refund.feePayer,
    validStartSeconds: BigInt(refund.slot.startSeconds),
    validStartNanos: Number(BigInt(refund.reference) % 1_000_000_000n),
  }
}

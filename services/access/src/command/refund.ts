// `payments refund ID`: pays a credit back with a native transfer whose memo names it (A15).
//
// The service must not depend on the ledger's SDK, and an EVM transfer carries no memo. So the refund is like an x402
// payment: a native transfer, written and signed with packages/x402 by payTo's key, and submitted by the facilitator,
// which pays the fee. That needs no further dependency and is the same on every network. The slots below keep it from
// being paid twice.
import { type Clock, pause } from '@tallystick/service-kit'
import { createHttpFacilitator, type Facilitator, FacilitatorUnavailable } from '@tallystick/x402'
import {
  canonicalTransactionId,
  FEE_MAX_TINYBAR,
  formatHbar,
  HBAR_ASSET,
  type HederaSigner,
  hederaRequirement,
  hederaSigner,
  refundMemo,
  signTransfer,
  type TransactionId,
} from '@tallystick/x402/hedera'
import { keyHex } from '../config.ts'
import type { Hex } from '../domain/access-window.ts'
import type { PaymentLog, PayToCredit } from '../domain/payment-log.ts'
import { type CreditOutcome, findCredit, judge, openPayments } from './credits.ts'
import { needed, type OperatorCall, OperatorRefusal } from './operator-verb.ts'

/** A mirror node shows a transaction within 10 s, a slow one within this time. */
const MIRROR_MS_MAX = 20_000
const MIRROR_POLL_MS = 500

/** Polls until `isThere` or the limit; returns whether it is there. */
async function waitFor(clock: Clock, isThere: () => Promise<boolean>): Promise<boolean> {
  const endsAtMs = clock.unixMs() + MIRROR_MS_MAX
  for (;;) {
    if (await isThere()) return true
    if (clock.unixMs() >= endsAtMs) return false
    await pause(clock, MIRROR_POLL_MS)
  }
}

/** Who gets the refund. Throws OperatorRefusal if the credit may not be paid back. */
function refundee(call: OperatorCall, credit: PayToCredit, outcome: CreditOutcome): string {
  if (outcome.kind === 'opened')
    throw new OperatorRefusal(`It was opened for ${outcome.agent}, who can cancel for a refund.`)
  if (outcome.kind === 'refunded') throw new OperatorRefusal('It was refunded before.')
  if (outcome.kind === 'pending' && !call.has('although-pending'))
    throw new OperatorRefusal(
      'It is a purchase that the service opens by itself. To refund it, stop every service of this contract and say --although-pending.',
    )
  if (credit.payer === undefined)
    throw new OperatorRefusal('Several accounts paid it: nobody knows to whom it belongs.')
  return credit.payer
}

async function chooseFeePayer(call: OperatorCall, facilitator: Facilitator): Promise<string> {
  const feePayers = await facilitator.feePayers()
  // sorted, so that every attempt of a slot has the same one and with it the same transaction id
  const [feePayer] = (feePayers.get(call.config.NETWORK) ?? []).toSorted()
  if (feePayer === undefined)
    throw new OperatorRefusal(`The facilitator pays no fees on ${call.config.NETWORK}.`)
  return feePayer
}

type Refund = {
  readonly signer: HederaSigner
  readonly payer: string
  readonly credit: PayToCredit
  readonly transactionId: TransactionId
}

const signedTransfer = ({ credit, payer, signer, transactionId }: Refund): Promise<string> =>
  signTransfer(signer, {
    transactionId,
    payer: signer.accountId,
    payTo: payer,
    asset: HBAR_ASSET,
    amount: credit.amountTinybar,
    feeMaxTinybar: FEE_MAX_TINYBAR,
    validDurationSeconds: REFUND_VALID_SECONDS,
    memo: refundMemo(credit.transactionId),
  })

/** Submits. If the facilitator does not answer, or refuses, the ledger decides. */
async function submit(
  call: OperatorCall,
  facilitator: Facilitator,
  refund: Refund,
): Promise<string | undefined> {
  const requirement = hederaRequirement({
    network: call.config.NETWORK,
    amountTinybar: refund.credit.amountTinybar,
    payTo: refund.payer,
    feePayer: refund.transactionId.accountId,
  })
  const payload = { transaction: await signedTransfer(refund) }
  try {
    const settlement = await facilitator.settle(
      { x402Version: 2, payload, accepted: requirement },
      requirement,
    )
    return settlement.success ? undefined : (settlement.errorReason ?? 'no reason')
  } catch (error) {
    if (error instanceof FacilitatorUnavailable) return error.message
    throw error
  }
}

/** Waits for the slot and for the mirror node to have passed every earlier one. */
async function takeSlot(call: OperatorCall, log: PaymentLog) {
  const { slot, waitMs } = refundSlotAt(call.clock.unixMs())
  if (waitMs > 0) {
    call.print(
      `Waiting ${Math.ceil(waitMs / 1_000)} s, so that a refund made a moment ago would be seen.`,
    )
    await pause(call.clock, waitMs)
  }
  const isPast = await waitFor(
    call.clock,
    async () => (await log.ledgerTime()).consensusSeconds >= slot.mirrorSecondsNeeded,
  )
  if (!isPast)
    throw new OperatorRefusal('The mirror node is behind: nothing was sent. Try again later.')
  return slot
}

export async function refundPayment(call: OperatorCall): Promise<void> {
  const view = openPayments(call.config, call.clock)
  const facilitator = createHttpFacilitator({ url: call.config.FACILITATOR_URL, clock: call.clock })
  const signer = hederaSigner({
    accountId: needed(call.config, 'PAY_TO'),
    privateKey: keyHex(needed(call.config, 'PAY_TO_KEY')),
  })
  const credit = await findCredit(view, call)
  refundee(call, credit, await judge(view, credit))
  const feePayer = await chooseFeePayer(call, facilitator)
  const slot = await takeSlot(call, view.log)
  const payer = refundee(call, credit, await judge(view, credit)) // again, now that every earlier attempt shows
  const reference = credit.paymentReference
  const transactionId = refundTransactionId({ feePayer, slot, reference })
  const refusal = await submit(call, facilitator, { signer, payer, credit, transactionId })
  const id = canonicalTransactionId(transactionId)
  const hasLanded = await waitFor(call.clock, async () => {
    const records = await view.mirror.transaction(id)
    if (records.some(({ result }) => result === 'SUCCESS')) return true
    return refusal !== undefined && records.length > 0
  })
  const outcome = await judge(view, credit)
  if (hasLanded && outcome.kind === 'refunded') {
    call.print(`${formatHbar(credit.amountTinybar)} went back to ${payer}: ${id}`)
    return
  }
  throw new OperatorRefusal(
    `The refund is not on the ledger (${refusal ?? 'not shown yet'}). Try again: it is never paid twice.`,
  )
}

// Time is cut into slots of 180 s. In one slot a credit has exactly one possible refund transaction: its id is made from
// the credit's reference and the slot's start, so that the network itself refuses a second one as a duplicate. A
// transaction of an earlier slot expires before the next slot begins, and a refund is submitted only once the mirror
// node has shown the ledger past that time and no refund was on it. The id names the fee payer: operators who refund the
// same credit in the same slot must use one facilitator.

/** Length of a slot, seconds. */
export const REFUND_SLOT_SECONDS = 180
/** Validity of a refund, from its slot's start: it ends before the next slot begins (the network's limit is 180). */
export const REFUND_VALID_SECONDS = 170
/** A node whose clock is behind ours refuses a start in its future. */
const START_SECONDS = 5
/** Room for submission before validity ends. */
const SUBMIT_SECONDS = 40

/** The slot to use at a time, and how long to wait for it, milliseconds. */
export function refundSlotAt(nowMs: number) {
  const nowSeconds = nowMs / 1_000
  const current = Math.floor(nowSeconds / REFUND_SLOT_SECONDS) * REFUND_SLOT_SECONDS
  const isLate = nowSeconds > current + REFUND_VALID_SECONDS - SUBMIT_SECONDS
  const startSeconds = isLate ? current + REFUND_SLOT_SECONDS : current
  const waitMs = Math.max(0, Math.ceil((startSeconds + START_SECONDS) * 1_000 - nowMs))
  // Once the mirror node has shown this consensus time, nothing of an earlier slot can follow.
  const mirrorSecondsNeeded = startSeconds - REFUND_SLOT_SECONDS + REFUND_VALID_SECONDS
  return { slot: { startSeconds, mirrorSecondsNeeded }, waitMs }
}

/** The one transaction id of a credit's refund in a slot. `reference` is the credit's payment reference, 32 bytes in hex. */
export function refundTransactionId(refund: {
  readonly feePayer: string
  readonly slot: { readonly startSeconds: number }
  readonly reference: Hex
}): TransactionId {
  return {
    accountId: refund.feePayer,
    validStartSeconds: BigInt(refund.slot.startSeconds),
    validStartNanos: Number(BigInt(refund.reference) % 1_000_000_000n),
  }
}

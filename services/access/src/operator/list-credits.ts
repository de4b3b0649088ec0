// What payTo was credited, and what became of it: opened, pending, refused or refunded (A15). Pure: the mirror's log and
// the contract's answers come in, and the rules are those by which the service's sweep opens payments.
import type { Offer } from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import type { PayToTransfer } from '../domain/payment-log.ts'
import { readPaymentMemo } from '../domain/payment-memo.ts'
import { offerOfPayment } from '../domain/purchase-terms.ts'

/** A credit to payTo. */
export type Credit = {
  readonly transactionId: string
  readonly consensusTimestamp: string
  readonly amountTinybar: bigint
  /** The account that paid; none where several did. */
  readonly payer: string | undefined
  readonly memo: string
  readonly outcome: CreditOutcome
}

export type CreditOutcome =
  /** The contract knows it. `isRefundedToo` would mean that it was paid out twice. */
  | { readonly kind: 'opened'; readonly agent: Hex; readonly isRefundedToo: boolean }
  /** A purchase that the service opens by itself, or `payments open`. */
  | {
      readonly kind: 'pending'
      readonly offerId: number
      readonly paidAtSeconds: number
      /** Named by the memo; without one the payer's own EVM address. */
      readonly agent: Hex | undefined
    }
  /** It buys nothing and stays with payTo until it is refunded. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'refunded' }

export type CreditFacts = {
  /** Every transfer of the time looked at, oldest first, and every debit since. */
  readonly transfers: readonly PayToTransfer[]
  readonly offers: readonly Offer[]
  readonly periodsPerPurchase: number
  /** Agents by transaction id, of the payments that the contract knows. */
  readonly opened: ReadonlyMap<string, Hex>
}

function purchaseOrReason(transfer: PayToTransfer, facts: CreditFacts): CreditOutcome {
  const memo = readPaymentMemo(transfer.memo)
  if (transfer.payer === undefined) return { kind: 'refused', reason: 'several accounts paid' }
  if (memo.kind === 'malformed') return { kind: 'refused', reason: 'its memo names no agent' }
  if (memo.kind === 'refund') return { kind: 'refused', reason: 'its memo says that it is a refund' }
  const { amountTinybar, paidAtSeconds } = transfer
  const { offers, periodsPerPurchase } = facts
  const offer = offerOfPayment({ offers, amountTinybar, paidAtSeconds, periodsPerPurchase })
  if (offer === undefined) {
    return { kind: 'refused', reason: 'no whole purchase at a price of that time' }
  }
  return {
    kind: 'pending',
    offerId: offer.offerId,
    paidAtSeconds,
    agent: memo.kind === 'agent' ? memo.agent : undefined,
  }
}

/** Transaction ids that a debit of payTo refunds, as its memo `refund:<transaction id>` says. */
export function refundedIds(transfers: readonly PayToTransfer[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { amountTinybar, memo } of transfers) {
    const read = readPaymentMemo(memo)
    if (amountTinybar < 0n && read.kind === 'refund') ids.add(read.transactionId)
  }
  return ids
}

/** Every credit with its outcome, oldest first. */
export function listCredits(facts: CreditFacts): readonly Credit[] {
  const refunded = refundedIds(facts.transfers)
  return facts.transfers
    .filter((transfer) => transfer.amountTinybar > 0n)
    .map((transfer) => {
      const { transactionId, consensusTimestamp, amountTinybar, payer, memo } = transfer
      const agent = facts.opened.get(transactionId)
      const isRefunded = refunded.has(transactionId)
      const credit = { transactionId, consensusTimestamp, amountTinybar, payer, memo }
      if (agent !== undefined) {
        return { ...credit, outcome: { kind: 'opened', agent, isRefundedToo: isRefunded } }
      }
      if (isRefunded) return { ...credit, outcome: { kind: 'refunded' } }
      return { ...credit, outcome: purchaseOrReason(transfer, facts) }
    })
}

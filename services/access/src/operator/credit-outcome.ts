import type { AccessContract } from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import { type CreditPurchase, judgeCredit, type NoPurchase } from '../domain/credit-purchase.ts'
import type { PaymentLog, PayToCredit } from '../domain/payment-log.ts'

/** What became of a credit to payTo (A15). */
export type CreditOutcome =
  /** The contract knows it. `isRefundedToo`: payTo paid it back as well, which this command never does. */
  | { readonly kind: 'opened'; readonly agent: Hex; readonly isRefundedToo: boolean }
  /** A purchase that the service opens by itself, or `payments open`. */
  | { readonly kind: 'pending'; readonly purchase: CreditPurchase }
  /** It buys nothing and stays with payTo until it is refunded. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** payTo paid it back: it is never opened, and never paid back again. */
  | { readonly kind: 'refunded' }

export type CreditFacts = {
  readonly contract: AccessContract
  readonly log: PaymentLog
  readonly periodsPerPurchase: number
  /** Transaction ids that a debit of payTo pays back. */
  readonly refunded: ReadonlySet<string>
}

const WORDS: Readonly<Record<NoPurchase, string>> = {
  'several-payers': 'several accounts paid it',
  'memo-names-nobody': 'its memo names no agent',
  'no-whole-purchase': 'it is no whole purchase at a price of that time',
  'paid-by-contract': 'the contract paid it out, so that it is yours',
}

/** Decides by the same rules as the service's sweep. Throws ChainUnavailable, ContractAbsent or MirrorUnavailable. */
export async function creditOutcome(
  facts: CreditFacts,
  credit: PayToCredit,
): Promise<CreditOutcome> {
  const isRefunded = facts.refunded.has(credit.transactionId)
  const consumed = await facts.contract.paymentOf(credit.paymentReference)
  if (consumed.isUsed) {
    return { kind: 'opened', agent: consumed.agent, isRefundedToo: isRefunded }
  }
  if (isRefunded) return { kind: 'refunded' }
  const judged = await judgeCredit(facts, credit)
  switch (judged.kind) {
    case 'purchase':
      return { kind: 'pending', purchase: judged.purchase }
    case 'opened':
      return { ...judged, isRefundedToo: false }
    case 'none':
      return { kind: 'refused', reason: WORDS[judged.reason] }
    default:
      return judged satisfies never
  }
}

/** Transaction ids that payTo paid back since a consensus timestamp. Throws MirrorUnavailable. */
export async function refundedSince(
  log: PaymentLog,
  consensusTimestamp: string,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for await (const debit of log.debitsAfter(consensusTimestamp)) {
    if (debit.refundOf !== undefined) ids.add(debit.refundOf)
  }
  return ids
}

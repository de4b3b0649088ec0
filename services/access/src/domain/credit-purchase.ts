import type { AccessContract } from './access-contract.ts'
import type { Hex } from './access-window.ts'
import type { PurchaseOrder } from './contract-sender.ts'
import type { PaymentLog, PayToCredit } from './payment-log.ts'
import { readPaymentMemo } from './payment-memo.ts'
import { offerOfPayment, offersOfTime } from './purchase-terms.ts'

/** A credit of payTo that is a purchase which the contract does not know yet. */
export type CreditPurchase = {
  readonly transactionId: string
  readonly order: PurchaseOrder
  /** Whether the payer signed for whom it buys; otherwise it buys for the payer's own address. */
  readonly isNamed: boolean
  readonly consensusSeconds: number
}

/** Why a credit buys nothing. */
export type NoPurchase =
  | 'several-payers'
  /** It begins like one of ours. */
  | 'memo-names-nobody'
  | 'no-whole-purchase'
  /** Earnings, reserve or a refund: the contract paid it out, and nobody signed for whom it would buy. */
  | 'paid-by-contract'

export type CreditJudgement =
  | { readonly kind: 'purchase'; readonly purchase: CreditPurchase }
  /** The contract knows its reference. */
  | { readonly kind: 'opened'; readonly agent: Hex }
  | { readonly kind: 'none'; readonly reason: NoPurchase }

const none = (reason: NoPurchase) => ({ kind: 'none', reason }) as const

/**
 * What a credit pays for (A4). It is a purchase when one account paid a whole purchase at a price that the contract
 * offered then, and the contract does not know its reference. A signed memo may name any address, the contract's and the
 * zero address too: the gate sells to them as well, and what it settled is opened. Throws ChainUnavailable,
 * ContractAbsent or MirrorUnavailable.
 */
export async function judgeCredit(
  deps: {
    readonly contract: AccessContract
    readonly log: PaymentLog
    readonly periodsPerPurchase: number
  },
  credit: PayToCredit,
): Promise<CreditJudgement> {
  const { payer, amountTinybar, paidAtSeconds, paymentReference } = credit
  const memo = readPaymentMemo(credit.memo)
  if (payer === undefined) return none('several-payers')
  if (memo.kind === 'reserved') return none('memo-names-nobody')
  const offer = offerOfPayment({
    offers: offersOfTime(await deps.contract.offers(), paidAtSeconds),
    amountTinybar,
    paidAtSeconds,
    periodsPerPurchase: deps.periodsPerPurchase,
  })
  if (offer === undefined) return none('no-whole-purchase')
  const consumed = await deps.contract.paymentOf(paymentReference)
  if (consumed.isUsed) return { kind: 'opened', agent: consumed.agent }
  const isNamed = memo.kind === 'agent'
  const agent = isNamed ? memo.agent : await deps.log.evmAddressOf(payer)
  if (!isNamed && agent === deps.contract.address) return none('paid-by-contract')
  const purchase: CreditPurchase = {
    transactionId: credit.transactionId,
    isNamed,
    consensusSeconds: credit.consensusSeconds,
    order: {
      agent,
      offerId: offer.offerId,
      paidAtSeconds,
      calls: 0,
      paymentReference,
      valueTinybar: amountTinybar,
    },
  }
  return { kind: 'purchase', purchase }
}

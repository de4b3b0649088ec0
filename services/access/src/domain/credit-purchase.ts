import type { AccessContract } from './access-contract.ts'
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

/**
 * The purchase that a credit pays for (A4): one account paid a whole purchase at a price that the contract offered then,
 * and the contract does not know its reference. Undefined for any other credit. Throws ChainUnavailable, ContractAbsent
 * or MirrorUnavailable.
 */
export async function purchaseOfCredit(
  deps: {
    readonly contract: AccessContract
    readonly log: PaymentLog
    readonly periodsPerPurchase: number
  },
  credit: PayToCredit,
): Promise<CreditPurchase | undefined> {
  const { payer, amountTinybar, paidAtSeconds, paymentReference } = credit
  const memo = readPaymentMemo(credit.memo)
  if (payer === undefined || memo.kind === 'reserved') return undefined
  const offer = offerOfPayment({
    offers: offersOfTime(await deps.contract.offers(), paidAtSeconds),
    amountTinybar,
    paidAtSeconds,
    periodsPerPurchase: deps.periodsPerPurchase,
  })
  if (offer === undefined) return undefined
  const consumed = await deps.contract.paymentOf(paymentReference)
  if (consumed.isUsed) return undefined
  const agent = memo.kind === 'agent' ? memo.agent : await deps.log.evmAddressOf(payer)
  // What the contract itself paid out to payTo is the seller's.
  if (agent === deps.contract.address) return undefined
  return {
    transactionId: credit.transactionId,
    isNamed: memo.kind === 'agent',
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
}

import type { Offer } from './access-contract.ts'

/** How long after a price change the previous price is still taken: clients that were challenged need time to pay (A3), seconds. */
export const REPLACED_OFFER_SECONDS = 600

/** `maxTimeoutSeconds` of a challenge: Hedera's longest validity of a transaction, seconds. */
export const PAYMENT_TIMEOUT_SECONDS = 180

/** The price of a whole purchase, tinybar (A1). */
export function purchaseTinybar(offer: Offer, periodsPerPurchase: number): bigint {
  return offer.priceTinybar * BigInt(periodsPerPurchase)
}

/** Offers at which a payment is taken now, oldest first: those replaced at most 600 s ago, and the current one. */
export function payableOffers(offers: readonly Offer[], nowSeconds: number): readonly Offer[] {
  return offers.filter((_offer, index) => {
    const replacedAt = offers[index + 1]?.startsAtSeconds
    return replacedAt === undefined || replacedAt + REPLACED_OFFER_SECONDS >= nowSeconds
  })
}

/**
 * Offers at which a payment that became valid at `paidAtSeconds` may have been challenged, oldest first: those in force
 * then, or replaced at most 600 s before. Clients stamp payments a few seconds back and a payment lives 180 s, so that
 * an offer may also begin that much after.
 */
export function offersOfTime(offers: readonly Offer[], paidAtSeconds: number): readonly Offer[] {
  return offers.filter((offer, index) => {
    const replacedAt = offers[index + 1]?.startsAtSeconds ?? Number.POSITIVE_INFINITY
    return (
      offer.startsAtSeconds <= paidAtSeconds + PAYMENT_TIMEOUT_SECONDS &&
      replacedAt + REPLACED_OFFER_SECONDS >= paidAtSeconds
    )
  })
}

export type PaidAmount = {
  /** Those that may have been paid for, oldest first. */
  readonly offers: readonly Offer[]
  readonly amountTinybar: bigint
  /** Second in which the payment became valid, Unix seconds. */
  readonly paidAtSeconds: number
  readonly periodsPerPurchase: number
}

/**
 * The offer whose purchase price was paid, none where the amount is no whole purchase. Of several with the same price
 * the last that had begun when the payment became valid wins, since that is what its payer was shown.
 */
export function offerOfPayment(paid: PaidAmount): Offer | undefined {
  const matching = paid.offers.filter(
    (offer) => purchaseTinybar(offer, paid.periodsPerPurchase) === paid.amountTinybar,
  )
  const shown = matching.findLast((offer) => offer.startsAtSeconds <= paid.paidAtSeconds)
  return shown ?? matching[0]
}

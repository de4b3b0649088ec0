import type { Offer } from './access-contract.ts'

/** How long after a price change the previous price is still taken: clients that were challenged need time to pay (A3), seconds. */
export const REPLACED_OFFER_SECONDS = 600

/** `maxTimeoutSeconds` of a challenge: Hedera's longest validity of a transaction, seconds. */
export const PAYMENT_TIMEOUT_SECONDS = 180

/** The price of a whole purchase, tinybar (A1). */
export function purchaseTinybar(offer: Offer, periodsPerPurchase: number): bigint {
  return offer.priceTinybar * BigInt(periodsPerPurchase)
}

/** Offers at which a payment is taken now: the current one, then those replaced at most 600 s ago. */
export function payableOffers(offers: readonly Offer[], nowSeconds: number): readonly Offer[] {
  return offers
    .filter((_offer, index) => {
      const replacedAt = offers[index + 1]?.startsAtSeconds
      return replacedAt === undefined || replacedAt + REPLACED_OFFER_SECONDS >= nowSeconds
    })
    .toReversed()
}

export type PaidAmount = {
  readonly offers: readonly Offer[]
  readonly amountTinybar: bigint
  /** Second in which the payment became valid, Unix seconds. */
  readonly paidAtSeconds: number
  readonly periodsPerPurchase: number
}

/**
 * The offer whose purchase price was paid, none where the amount is no whole purchase at a price of that time. Of
 * several with the same price the one in force when the payment became valid wins, then the newest. Clients stamp
 * payments a few seconds back, and a payment lives 180 s: an offer may therefore begin that much after `paidAtSeconds`.
 */
export function offerOfPayment(paid: PaidAmount): Offer | undefined {
  const { offers, paidAtSeconds } = paid
  const replacedAtSeconds = (offer: Offer): number =>
    offers.find((other) => other.offerId === offer.offerId + 1)?.startsAtSeconds ??
    Number.POSITIVE_INFINITY
  const matching = offers.filter(
    (offer) =>
      purchaseTinybar(offer, paid.periodsPerPurchase) === paid.amountTinybar &&
      offer.startsAtSeconds <= paidAtSeconds + PAYMENT_TIMEOUT_SECONDS &&
      replacedAtSeconds(offer) + REPLACED_OFFER_SECONDS >= paidAtSeconds,
  )
  const inForce = matching.find(
    (offer) => offer.startsAtSeconds <= paidAtSeconds && paidAtSeconds < replacedAtSeconds(offer),
  )
  return inForce ?? matching.at(-1)
}

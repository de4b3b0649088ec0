import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Offer } from './access-contract.ts'
import { offerOfPayment, offersOfTime, payableOffers, purchaseTinybar } from './sales-terms.ts'

const offer = (offerId: number, startsAtSeconds: number, priceTinybar: bigint): Offer => ({
  offerId,
  startsAtSeconds,
  retiredAtSeconds: 0,
  priceTinybar,
  periodSeconds: 20,
  callsAllowed: 20,
  slotSeconds: 1,
})
const history = [offer(0, 1_000, 3n), offer(1, 5_000, 5n), offer(2, 5_300, 3n)]
const ids = (offers: readonly Offer[]) => offers.map(({ offerId }) => offerId)

describe('A1: the price of a purchase', () => {
  test('is that of all its periods', () => expect(purchaseTinybar(offer(0, 0, 3n), 4)).toBe(12n))
})

describe('A3: a payment takes the price that was challenged', () => {
  test('the current one, or one replaced at most 600 s ago', () => {
    expect(ids(payableOffers(history, 5_300))).toEqual([0, 1, 2])
    expect(ids(payableOffers(history, 5_600))).toEqual([0, 1, 2])
    expect(ids(payableOffers(history, 5_601))).toEqual([1, 2])
    expect(ids(payableOffers(history, 5_901))).toEqual([2])
  })

  test('A26: a credit at the price of a retired offer is a purchase if it became valid up to 600 s later', () => {
    const retired = history.map((each) => ({ ...each, retiredAtSeconds: 5_400 }))
    expect(ids(offersOfTime(retired, 5_600))).toEqual([0, 1, 2])
    expect(ids(offersOfTime(retired, 6_000))).toEqual([2])
    expect(ids(offersOfTime(retired, 6_001))).toEqual([])
  })

  test('of equal prices the last that had begun when the payment became valid', () => {
    const paid = { offers: history, amountTinybar: 12n, periodsPerPurchase: 4 }
    expect(offerOfPayment({ ...paid, paidAtSeconds: 4_999 })?.offerId).toBe(0)
    expect(offerOfPayment({ ...paid, paidAtSeconds: 5_300 })?.offerId).toBe(2)
    expect(offerOfPayment({ ...paid, amountTinybar: 20n, paidAtSeconds: 4_995 })?.offerId).toBe(1)
    expect(offerOfPayment({ ...paid, amountTinybar: 13n, paidAtSeconds: 5_300 })).toBeUndefined()
  })

  test('the current offer is always payable, and whatever is payable is recognised by its amount', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 900 }), fc.bigInt({ min: 1n, max: 9n })), {
          minLength: 1,
          maxLength: 6,
        }),
        fc.integer({ min: 0, max: 2_000 }),
        fc.integer({ min: 1, max: 8 }),
        (steps, laterSeconds, periodsPerPurchase) => {
          let at = 0
          const offers = steps.map(([gap, price], index) => offer(index, (at += gap), price))
          const nowSeconds = at + laterSeconds
          const payable = payableOffers(offers, nowSeconds)
          expect(payable.at(-1)).toBe(offers.at(-1))
          for (const paid of payable) {
            const amountTinybar = purchaseTinybar(paid, periodsPerPurchase)
            const found = offerOfPayment({
              offers: payable,
              amountTinybar,
              paidAtSeconds: nowSeconds,
              periodsPerPurchase,
            })
            expect(found?.priceTinybar).toBe(paid.priceTinybar)
          }
          expect(ids(offersOfTime(offers, nowSeconds))).toEqual(ids(payable))
        },
      ),
    )
  })
})

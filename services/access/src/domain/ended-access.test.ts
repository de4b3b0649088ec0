import { describe, expect, test } from 'vitest'
import { firstOffer, openWindow, PRICE_TINYBAR } from '../testing/fake-contract.ts'
import type { AccessWindow } from './access-window.ts'
import { endedAccess } from './ended-access.ts'

/** 2025-11-20T00:53:20Z. */
const NOW = 1_763_600_000
const SINCE = NOW - 100

const ended = (change: Partial<AccessWindow>, sale: Partial<typeof firstOffer> | null = {}) => {
  const closed = { isOpen: false, periodsFunded: 0, balanceTinybar: 0n }
  return endedAccess(openWindow(SINCE, { ...closed, ...change }), {
    callsRemaining: 0,
    offer: sale === null ? undefined : { ...firstOffer, ...sale },
    periodsPerPurchase: 4,
    nowSeconds: NOW,
  })
}

/** In an open window whose quota is used up. */
const used = (change: Partial<AccessWindow>) => ended({ ...openWindow(NOW + 15), ...change })

const purchase = { amountTinybar: '1200000000', amountHbar: '12', periods: 4, until: NOW + 80 }

describe('A27: whose access ended is told why, since when, and what a purchase costs', () => {
  test('nobody is told whose calls are served, or who never had a window', () => {
    expect(ended({ exists: false })).toBeNull()
    const open = openWindow(NOW + 15)
    const sale = { offer: firstOffer, periodsPerPurchase: 4, nowSeconds: NOW }
    expect(endedAccess(open, { ...sale, callsRemaining: 1 })).toBeNull()
  })

  test('spent: the balance pays for no further period', () => {
    expect(ended({ balanceTinybar: PRICE_TINYBAR - 1n })).toEqual({
      why: 'spent',
      since: SINCE,
      sentence:
        'Spent: since 2025-11-20T00:51:40Z the balance pays for no period. 12 HBAR buy 4 periods of 20 s, until 2025-11-20T00:54:40Z.',
      purchase,
    })
  })

  test('cancelled: since its last paid window closed', () => {
    expect(ended({ isCancelled: true })).toMatchObject({
      why: 'cancelled',
      since: SINCE,
      sentence: expect.stringMatching(
        /^Cancelled by the agent: the last paid window closed at 2025/,
      ),
      purchase,
    })
  })

  test('paused: money waits that the next call makes a window of', () => {
    const waiting = ended({ balanceTinybar: 2n * PRICE_TINYBAR })
    expect(waiting).toMatchObject({ why: 'paused', since: SINCE, purchase })
    expect(waiting?.sentence).toMatch(/6 HBAR wait; the next call opens a window from them\./)
    // Cheaper terms take what did not reach for a period before.
    const change = { balanceTinybar: PRICE_TINYBAR - 1n }
    expect(ended(change, { priceTinybar: 100_000_000n })?.why).toBe('paused')
  })

  test('paused: money waits while worse terms are on sale, or none', () => {
    const dearer = ended({ balanceTinybar: PRICE_TINYBAR }, { priceTinybar: 2n * PRICE_TINYBAR })
    expect(dearer).toMatchObject({ why: 'paused', purchase: { amountHbar: '24' } })
    expect(dearer?.sentence).toMatch(/3 HBAR wait, for terms as good as those bought; `cancel`/)
    const retired = ended({ balanceTinybar: PRICE_TINYBAR }, { retiredAtSeconds: NOW - 500 })
    expect(retired).toMatchObject({ why: 'paused', purchase: null })
    expect(retired?.sentence).toMatch(/Nothing is on sale now\.$/)
    expect(ended({}, null)).toMatchObject({ why: 'spent', purchase: null })
  })

  test('paused: the quota of an open window is used up; the ledger keeps no second for that', () => {
    expect(used({})).toEqual({
      why: 'paused',
      since: null,
      sentence:
        'Paused: the quota of this window is used up; it is full again at 2025-11-20T00:53:35Z.',
      purchase: null,
    })
    expect(used({ periodsFunded: 0 })?.sentence).toMatch(
      /used up, and no further period is paid for when it closes at 2025-11-20T00:53:35Z\.$/,
    )
  })
})

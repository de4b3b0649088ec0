/** Why an agent's calls are not served any more, from the window alone (A27): `/status`, the 402 and the page tell it. */
import { isoText } from '@tallystick/service-kit/clock'
import { formatHbar } from '@tallystick/x402/hedera'
import type { Ended } from '../wire/access-answers.ts'
import type { Offer } from './access-contract.ts'
import { type AccessWindow, findNeed } from './access-window.ts'
import { purchaseTinybar } from './sales-terms.ts'

type EndedNow = {
  /** Calls of an open window that may still be made. */
  readonly callsRemaining: number
  /** The current one; undefined while nothing is sold. */
  readonly offer: Offer | undefined
  readonly periodsPerPurchase: number
  readonly nowSeconds: number
}

/** Null while calls are served, and for who never had a window. */
export function endedAccess(window: AccessWindow, now: EndedNow): Ended | null {
  if (!window.exists || (window.isOpen && now.callsRemaining > 0)) return null
  const at = isoText(window.expiresAtSeconds)
  if (window.isOpen) {
    const then =
      window.periodsFunded > 0
        ? `; it is full again at ${at}`
        : `, and no further period is paid for when it closes at ${at}`
    const sentence = `Paused: the quota of this window is used up${then}.`
    return { why: 'paused', since: null, sentence, purchase: null }
  }
  const { why, because } = closedBecause(window, now, at)
  const { purchase, cost } = purchaseNow(now)
  return { why, since: window.expiresAtSeconds, sentence: `${because} ${cost}`, purchase }
}

function closedBecause(
  window: AccessWindow,
  { nowSeconds, offer }: EndedNow,
  at: string,
): { readonly why: Ended['why']; readonly because: string } {
  if (window.isCancelled)
    return {
      why: 'cancelled',
      because: `Cancelled by the agent: the last paid window closed at ${at}.`,
    }
  const waiting = `Paused: since ${at} ${formatHbar(window.balanceTinybar)} wait`
  if (findNeed(window, offer, nowSeconds) === 'fund')
    return { why: 'paused', because: `${waiting}; the next call opens a window from them.` }
  if (window.balanceTinybar >= window.priceTinybar)
    return {
      why: 'paused',
      because: `${waiting}, for terms as good as those bought; \`cancel\` gives them back.`,
    }
  return { why: 'spent', because: `Spent: since ${at} the balance pays for no period.` }
}

function purchaseNow({ nowSeconds, offer, periodsPerPurchase: periods }: EndedNow): {
  readonly purchase: Ended['purchase']
  readonly cost: string
} {
  if (offer === undefined || offer.retiredAtSeconds !== 0)
    return { purchase: null, cost: 'Nothing is on sale now.' }
  const tinybar = purchaseTinybar(offer, periods)
  const until = nowSeconds + periods * offer.periodSeconds
  const [amountHbar = ''] = formatHbar(tinybar).split(' ')
  const terms = `${periods} period${periods === 1 ? '' : 's'} of ${offer.periodSeconds} s`
  return {
    purchase: { amountTinybar: `${tinybar}`, amountHbar, periods, until },
    cost: `${amountHbar} HBAR buy ${terms}, until ${isoText(until)}.`,
  }
}

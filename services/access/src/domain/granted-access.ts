/** What an open window is in an answer: the subscription, its usage, and what a call that was granted is told. */
import type { UsageCall } from '../metering/usage-call.ts'
import type { AccessGranted, Subscription, Usage } from '../wire/access-answers.ts'
import { type AccessWindow, type Hex, pendingSchedule, secondsRemaining } from './access-window.ts'
import type { ReadWindow } from './subscriptions.ts'

/** The subscription, as both routes tell of it. */
export function subscriptionBody(window: AccessWindow, nowSeconds: number): Subscription {
  return {
    expiresAt: window.expiresAtSeconds,
    secondsRemaining: secondsRemaining(window, nowSeconds),
    periodSeconds: window.periodSeconds,
    balanceTinybar: window.balanceTinybar.toString(),
    // A12: a cancelled window stays open to its end, and is not active.
    active: window.isOpen && !window.isCancelled,
    nextRenewalSchedule: pendingSchedule(window, nowSeconds),
  }
}

export function grantedBody({
  window,
  nowSeconds,
  ...told
}: Omit<AccessGranted, 'access' | 'subscription'> & {
  readonly window: AccessWindow
  readonly nowSeconds: number
}): AccessGranted {
  const { paidThisRequest, why, metering, resource } = told
  const subscription = subscriptionBody(window, nowSeconds)
  return { access: 'granted', paidThisRequest, subscription, why, metering, resource }
}

/** A call of the agent in that window, as the recorder takes it. */
export const callIn = (agent: Hex, window: ReadWindow): UsageCall => ({
  agent,
  windowExpiresAtSeconds: window.expiresAtSeconds,
  windowStartsAtSeconds: window.expiresAtSeconds - window.periodSeconds,
  callsAllowed: window.callsAllowed,
  callsUsedInRead: window.callsUsed,
  readAtMs: window.readAtMs,
})

/** Usage of the open window; a closed one has no calls left. */
export function usageBody(window: AccessWindow): Usage {
  return {
    callsUsed: window.callsUsed,
    callsAllowed: window.callsAllowed,
    callsRemaining: window.isOpen ? Math.max(0, window.callsAllowed - window.callsUsed) : 0,
    resetsAt: window.isOpen ? window.expiresAtSeconds : 0,
  }
}

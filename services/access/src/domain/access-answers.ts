/** Builds the bodies of both routes from a window. */

import type { UsageCall } from '../metering/usage-call.ts'
import type { AccessGranted, Status, Subscription, Usage } from '../wire/access-answers.ts'
import { ContractAbsent } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import { type AccessWindow, type Hex, pendingSchedule, secondsRemaining } from './access-window.ts'
import type { ReadWindow } from './subscriptions.ts'

function subscriptionBody(window: AccessWindow, nowSeconds: number): Subscription {
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

/**
 * The answer of `/status`. It reads the window and, at the same time, the reserve, whose read may fail (A12). It writes
 * nothing. Throws ChainUnavailable or ContractAbsent.
 */
export async function readStatus(
  deps: Pick<AccessParts, 'contract' | 'subscriptions' | 'usage'>,
  agent: Hex,
): Promise<Status> {
  const { contract, subscriptions, usage } = deps
  if (contract.address === undefined) throw new ContractAbsent('no contract address is configured')
  await contract.ensureDeployed()
  const [{ window: read, atSeconds: nowSeconds }, reserve] = await Promise.all([
    subscriptions.readForPoll(agent),
    contract.renewalsReserveCanArm().catch(() => undefined),
  ])
  const window = { ...read, callsUsed: usage.callsUsed(callIn(agent, read)) }
  const { active, ...subscription } = subscriptionBody(window, nowSeconds)
  return {
    agent,
    contract: contract.address,
    hasAccess: window.isOpen,
    ...subscription,
    pricePerPeriodTinybar: window.priceTinybar.toString(),
    periodsFunded: window.periodsFunded,
    active,
    renewalsReserveCanArm: reserve ?? null,
    usage: usageBody(window),
    unavailable: reserve === undefined ? ['renewalsReserveCanArm'] : [],
    now: nowSeconds,
  }
}

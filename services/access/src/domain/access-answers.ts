/**
 * The bodies that the two routes answer with, made from a window. Wire names are those of the interface document;
 * amounts are tinybar in strings, times Unix seconds.
 */
import { type AccessWindow, type Hex, pendingSchedule, secondsRemaining } from './access-window.ts'

export type SubscriptionBody = {
  readonly expiresAt: number
  readonly secondsRemaining: number
  readonly periodSeconds: number
  readonly balanceTinybar: string
  readonly active: boolean
  readonly nextRenewalSchedule: string
}

export type MeteringBody = {
  readonly callsRemainingThisPeriod: number
  readonly recordedOnChain: string
  readonly why: string
}

export type AccessGrantedBody = {
  readonly access: 'granted'
  readonly paidThisRequest: boolean
  readonly subscription: SubscriptionBody
  readonly why: string
  readonly metering?: MeteringBody
  readonly resource: unknown
}

export type UsageBody = {
  readonly callsUsed: number
  readonly callsAllowed: number
  readonly callsRemaining: number
  /** When this quota ends, Unix seconds; 0 without an open window. */
  readonly resetsAt: number
}

export type StatusBody = {
  readonly agent: string
  readonly contract: string
  readonly hasAccess: boolean
  readonly expiresAt: number
  readonly secondsRemaining: number
  readonly periodSeconds: number
  readonly pricePerPeriodTinybar: string
  readonly balanceTinybar: string
  readonly periodsFunded: number
  readonly active: boolean
  readonly nextRenewalSchedule: string
  readonly renewalsReserveCanArm: number | null
  readonly usage: UsageBody
  /** Names of the fields that are null because a read did not answer. */
  readonly unavailable: string[]
  readonly now: number
}

/** `active` = window open and not cancelled (A12). */
const isActive = (window: AccessWindow): boolean => window.isOpen && !window.isCancelled

export function subscriptionBody(window: AccessWindow, nowSeconds: number): SubscriptionBody {
  return {
    expiresAt: window.expiresAtSeconds,
    secondsRemaining: secondsRemaining(window, nowSeconds),
    periodSeconds: window.periodSeconds,
    balanceTinybar: window.balanceTinybar.toString(),
    active: isActive(window),
    nextRenewalSchedule: pendingSchedule(window, nowSeconds),
  }
}

/** Usage of the open window; of a closed one nothing remains. */
export function usageBody(window: AccessWindow): UsageBody {
  return {
    callsUsed: window.callsUsed,
    callsAllowed: window.callsAllowed,
    callsRemaining: window.isOpen ? Math.max(0, window.callsAllowed - window.callsUsed) : 0,
    resetsAt: window.isOpen ? window.expiresAtSeconds : 0,
  }
}

export type StatusParts = {
  readonly agent: Hex
  readonly contract: Hex
  readonly window: AccessWindow
  /** Undefined where that read did not answer. */
  readonly renewalsReserveCanArm: number | undefined
  readonly nowSeconds: number
}

export function statusBody(parts: StatusParts): StatusBody {
  const { window, nowSeconds } = parts
  const { active, ...subscription } = subscriptionBody(window, nowSeconds)
  return {
    agent: parts.agent,
    contract: parts.contract,
    hasAccess: window.isOpen,
    ...subscription,
    pricePerPeriodTinybar: window.priceTinybar.toString(),
    periodsFunded: window.periodsFunded,
    active,
    renewalsReserveCanArm: parts.renewalsReserveCanArm ?? null,
    usage: usageBody(window),
    unavailable: parts.renewalsReserveCanArm === undefined ? ['renewalsReserveCanArm'] : [],
    now: nowSeconds,
  }
}

/**
 * The window of an agent's subscription, by the contract's own rule of time and money, and what answers and the recorder are told
 * of it. subscriptions.ts reads windows.
 */
import { accessWindowRules } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import type { UsageCall } from '../metering/usage-call.ts'
import type { AccessGranted, Subscription, Usage } from '../wire/access-answers.ts'

/** An EVM address or 32-byte word in lower-case hex. */
export type Hex = `0x${string}`

/** The contract answers this for no address. */
export const ZERO_ADDRESS: Hex = '0x0000000000000000000000000000000000000000'

/** A subscription at one second, with the paid periods projected to it (A6). */
export type AccessWindow = {
  /** Whether the agent ever had one. */
  readonly exists: boolean
  readonly isOpen: boolean
  /** Cancelled: an open window stays open to its end, then does not renew. */
  readonly isCancelled: boolean
  /** Calls must prove the agent's key; only the agent can set it (A17). */
  readonly isGuarded: boolean
  /** Unix seconds; 0 without a subscription. */
  readonly expiresAtSeconds: number
  /** Fixed at purchase; without a subscription, the current offer's. */
  readonly periodSeconds: number
  /** Price of one period, tinybar; fixed like `periodSeconds`. */
  readonly priceTinybar: bigint
  readonly balanceTinybar: bigint
  /** Further renewals that the balance pays for. */
  readonly periodsFunded: number
  /** Calls counted in this window. */
  readonly callsUsed: number
  readonly callsAllowed: number
  /** Zero if no renewal is armed. */
  readonly schedule: Hex
  /** Unix seconds; 0 if no renewal is armed. */
  readonly scheduledAtSeconds: number
  /** One call renews all windows of a slot: period and second modulo the period, as the contract packs them. */
  readonly slotId: bigint
}

/** Seconds until the window closes, 0 once it has. */
export function secondsRemaining(window: AccessWindow, nowSeconds: number): number {
  return window.isOpen ? Math.max(0, window.expiresAtSeconds - nowSeconds) : 0
}

/** Whether an armed renewal is so long overdue that the network will never make it (A7, A12). */
function isScheduleOverdue(window: AccessWindow, nowSeconds: number): boolean {
  return (
    window.schedule !== ZERO_ADDRESS &&
    window.scheduledAtSeconds + accessWindowRules.overdueSeconds < nowSeconds
  )
}

/** Seconds by which an armed renewal is overdue; 0 if none is armed or it is still to come. */
export function secondsPastSchedule(window: AccessWindow, nowSeconds: number): number {
  return window.schedule === ZERO_ADDRESS ? 0 : Math.max(0, nowSeconds - window.scheduledAtSeconds)
}

/** The pending scheduled call as clients see it: zero when there is none, or when it is overdue (A12). */
export function pendingSchedule(window: AccessWindow, nowSeconds: number): Hex {
  return isScheduleOverdue(window, nowSeconds) ? ZERO_ADDRESS : window.schedule
}

/**
 * Moves a window that was open when it was read to `nowSeconds`, by the contract's own rule: each period that the
 * balance pays for follows the last without a gap, with a fresh quota, until the money runs out or the agent cancelled.
 */
export function projectWindow<Window extends AccessWindow>(
  window: Window,
  nowSeconds: number,
): Window {
  if (!window.exists || nowSeconds < window.expiresAtSeconds) return window
  const missed = Math.floor((nowSeconds - window.expiresAtSeconds) / window.periodSeconds) + 1
  const renewals = window.isCancelled ? 0 : Math.min(missed, window.periodsFunded)
  return {
    ...window,
    isOpen: renewals === missed,
    expiresAtSeconds: window.expiresAtSeconds + renewals * window.periodSeconds,
    balanceTinybar: window.balanceTinybar - BigInt(renewals) * window.priceTinybar,
    periodsFunded: window.periodsFunded - renewals,
    callsUsed: renewals === 0 ? window.callsUsed : 0,
  }
}

/** How far `block.timestamp` may trail this clock, seconds: reads lag receipts by up to 10, and clocks differ. */
const LEDGER_BEHIND_SECONDS = 60

/** Periods after this window that money certainly buys at its terms now (A26); the contract's own purchase may add some. */
export function periodsInReach(window: AccessWindow, nowSeconds: number): number {
  const untilSeconds = nowSeconds - LEDGER_BEHIND_SECONDS + accessWindowRules.reachSeconds
  return Math.max(0, Math.floor((untilSeconds - window.expiresAtSeconds) / window.periodSeconds))
}

/** Money that is in no period: what is below a price, or lies beyond the reach (A26), tinybar. */
export const waitingTinybar = (window: AccessWindow): bigint =>
  window.balanceTinybar - BigInt(window.periodsFunded) * window.priceTinybar

/** What waits is made into periods when less than this is paid for, seconds: then it lasts for the reach, 31 days (A26). */
const FUND_AGAIN_SECONDS = 86_400

/**
 * Whether a poke makes periods of what waits (A26): of an open window while the current offer has its terms, of a closed one
 * while these are no worse for the agent. By anyone else's poke the contract does no more.
 */
function isToFund(
  window: AccessWindow,
  offer: CurrentOffer | undefined,
  nowSeconds: number,
): boolean {
  if (offer === undefined || offer.retiredAtSeconds !== 0 || window.isCancelled) return false
  if (waitingTinybar(window) < offer.priceTinybar) return false
  const isNoWorse =
    offer.priceTinybar <= window.priceTinybar &&
    offer.periodSeconds >= window.periodSeconds &&
    offer.callsAllowed >= window.callsAllowed
  if (!window.isOpen) return window.exists && isNoWorse
  const isSame =
    offer.priceTinybar === window.priceTinybar &&
    offer.periodSeconds === window.periodSeconds &&
    offer.callsAllowed === window.callsAllowed
  const aheadSeconds = window.expiresAtSeconds + window.periodsFunded * window.periodSeconds
  const isShort = window.periodsFunded === 0 || aheadSeconds < nowSeconds + FUND_AGAIN_SECONDS
  return isSame && isShort
}

type CurrentOffer = Pick<AccessWindow, 'priceTinybar' | 'periodSeconds' | 'callsAllowed'> & {
  readonly retiredAtSeconds: number
}

/**
 * The contract is called for one of these: `reap` gives up a schedule that is overdue, `poke` arms a renewal that is missing
 * (A7), `fund` is a poke that makes periods of what waits (A26).
 */
export type WindowNeed = 'reap' | 'poke' | 'fund'

/** Finds what must be done so that the network renews this window, if anything; `offer` is the current one. */
export function findNeed(
  window: AccessWindow,
  offer: CurrentOffer | undefined,
  nowSeconds: number,
): WindowNeed | undefined {
  if (isToFund(window, offer, nowSeconds)) return 'fund'
  if (isScheduleOverdue(window, nowSeconds)) return 'reap'
  const isToRenew = window.isOpen && !window.isCancelled && window.periodsFunded > 0
  return isToRenew && window.schedule === ZERO_ADDRESS ? 'poke' : undefined
}

/**
 * The second for which the ledger is asked: the server's clock, rounded down. Only here does server time become ledger
 * time. Reads pass it explicitly, because an `eth_call` sees the last block's time, which trails by seconds or stands
 * still. With it the contract projects the paid periods, so that a read of an old state still finds a funded window
 * open (A8). A server clock that is a few seconds off shifts a window's close by as much; the contract takes usage for
 * a window until 60 s after its end (A11).
 */
export function ledgerSeconds(clock: Clock): number {
  return Math.floor(clock.unixMs() / 1000)
}

/** A window as it stands now; `readAtMs` is when its read was requested, Unix milliseconds. */
export type ReadWindow = AccessWindow & { readonly readAtMs: number }

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
  ...grant
}: Omit<AccessGranted, 'access' | 'subscription'> & {
  readonly window: AccessWindow
  readonly nowSeconds: number
}): AccessGranted {
  const { paidThisRequest, why, metering, resource } = grant
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

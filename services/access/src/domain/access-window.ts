import type { Clock } from '@tallystick/service-kit'

/** An EVM address or 32-byte word in lower-case hex. */
export type Hex = `0x${string}`

/** What the contract answers where it has no address to give. */
export const ZERO_ADDRESS: Hex = '0x0000000000000000000000000000000000000000'

/** Past this, the network has either made a scheduled call or never will (A7, A12), seconds. */
export const SCHEDULE_OVERDUE_SECONDS = 30

/** A subscription as it stands at one second, with the periods that are paid for already counted in (A6). */
export type AccessWindow = {
  /** Whether the agent ever had one. */
  readonly exists: boolean
  readonly isOpen: boolean
  /** Cancelled: an open window stays open to its end and renews no more. */
  readonly isCancelled: boolean
  /** Unix seconds; 0 without a subscription. */
  readonly expiresAtSeconds: number
  /** Pinned at purchase; that of a purchase now without a subscription. */
  readonly periodSeconds: number
  /** Price of one period, tinybar; as for `periodSeconds`. */
  readonly priceTinybar: bigint
  readonly balanceTinybar: bigint
  /** Further renewals that the balance pays for. */
  readonly periodsFunded: number
  /** Calls counted in this window. */
  readonly callsUsed: number
  readonly callsAllowed: number
  /** Zero where no renewal is armed. */
  readonly schedule: Hex
  /** Unix seconds; 0 where no renewal is armed. */
  readonly scheduledAtSeconds: number
}

/** Seconds until the window closes, 0 once it has. */
export function secondsRemaining(window: AccessWindow, nowSeconds: number): number {
  return window.isOpen ? Math.max(0, window.expiresAtSeconds - nowSeconds) : 0
}

/** Whether a renewal is armed whose second is so long past that the network will not make it any more. */
export function isScheduleOverdue(window: AccessWindow, nowSeconds: number): boolean {
  return (
    window.schedule !== ZERO_ADDRESS &&
    window.scheduledAtSeconds + SCHEDULE_OVERDUE_SECONDS < nowSeconds
  )
}

/** How long the second of an armed renewal is past, 0 where none is armed or it is still to come. */
export function secondsPastSchedule(window: AccessWindow, nowSeconds: number): number {
  return window.schedule === ZERO_ADDRESS ? 0 : Math.max(0, nowSeconds - window.scheduledAtSeconds)
}

/** The pending scheduled call as clients see it: zero when there is none, or when it is overdue (A12). */
export function pendingSchedule(window: AccessWindow, nowSeconds: number): Hex {
  return isScheduleOverdue(window, nowSeconds) ? ZERO_ADDRESS : window.schedule
}

/**
 * Moves a window that was open when it was read to `nowSeconds`, by the contract's own rule: each period that the
 * balance pays for follows the last without a gap, with a fresh quota, until the money or the will ends.
 */
export function projectWindow(window: AccessWindow, nowSeconds: number): AccessWindow {
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

/** Second until which a window is paid for, Unix seconds: periods that pass do not change it. */
const paidUntilSeconds = (window: AccessWindow): number =>
  window.expiresAtSeconds + window.periodsFunded * window.periodSeconds

/**
 * Whether a read knows what a receipt told of a window: it is paid for as far, or was cancelled since, which takes the
 * money out.
 */
export function isShownBy(read: AccessWindow, receipted: AccessWindow): boolean {
  if (read.isCancelled) return read.expiresAtSeconds >= receipted.expiresAtSeconds
  return paidUntilSeconds(read) >= paidUntilSeconds(receipted)
}

/**
 * The second at which the ledger is asked, and the one place where server time becomes ledger time: the server's
 * clock, rounded down. Reads pass it explicitly, because an `eth_call` sees the last block's time, which trails by
 * seconds or stands still; with it the contract projects the periods that are paid for, so that a read of an old state
 * still finds a funded window open (A8). A server clock a few seconds off shifts when a window closes by as much; the
 * contract takes usage for a window until 60 s after its end (A11).
 */
export function ledgerSeconds(clock: Clock): number {
  return Math.floor(clock.unixMs() / 1000)
}

/**
 * The window of an agent's subscription: the contract's own rule of time and money, and the background call that re-arms
 * an overdue renewal. Windows are read in subscriptions.ts.
 */
import { accessWindowRules } from '@tallystick/contracts'
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import type { AccessParts, Rearming } from './ports.ts'

/** An EVM address or 32-byte word in lower-case hex. */
export type Hex = `0x${string}`

/** What the contract answers for no address. */
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

/** At most one attempt per slot in this time: reads show its result within 10 s, and another attempt costs gas. */
const REARM_AGAIN_MS = 60_000

/** Longest pause; each attempt that armed nothing doubles it. A busy network costs 24 attempts a day. */
const REARM_AGAIN_MAX_MS = 3_600_000

/** After the contract's code −2: the slot earns too little. Only a purchase changes that, and it arms by itself. */
const BELOW_FLOOR_AGAIN_MS = 86_400_000

/** The contract's code for a slot whose next renewal earns less than the floor (A19). */
const BELOW_FLOOR = -2

/** Slots remembered as tried; beyond this the oldest may be tried again early, which is harmless. */
const TRIED_MAX = 1_000

/** What a slot needs so that the network renews this window, if anything. */
function rearmingOf(window: AccessWindow, nowSeconds: number): Rearming | undefined {
  if (isScheduleOverdue(window, nowSeconds)) return 'reap'
  const isToRenew = window.isOpen && !window.isCancelled && window.periodsFunded > 0
  return isToRenew && window.schedule === ZERO_ADDRESS ? 'poke' : undefined
}

export type Reaper = ReturnType<typeof createReaper>

/**
 * Re-arms a slot's renewal in the background when a read shows that the network never made the pending one, or that a
 * funded window has none (A7). One attempt serves every agent of the slot.
 */
export function createReaper({ contract, sender, subscriptions, clock, report }: AccessParts) {
  const tried = new BoundedMap<bigint, { readonly untilMs: number; readonly pauseMs: number }>(
    TRIED_MAX,
  )
  const running = new Set<Promise<void>>()
  let isClosed = false

  const rest = (slotId: bigint, pauseMs: number): void => {
    tried.set(slotId, { untilMs: clock.unixMs() + pauseMs, pauseMs })
  }
  const attempt = async (agent: Hex, slotId: bigint, how: Rearming): Promise<void> => {
    const slot = { agent, slotId: slotId.toString() }
    try {
      // A reap frees the old schedule's lock; a poke has only the free reserve.
      if (how === 'poke' && (await contract.renewalsReserveCanArm()) === 0) return
      const outcome = await sender.rearm(agent, how)
      subscriptions.forget(agent)
      if (outcome.kind === 'left') return
      const { transactionHash } = outcome
      if (outcome.kind === 'armed')
        return report({ kind: 'rearmed', ...slot, how, transactionHash })
      report({ ...outcome, ...slot, how })
      const doubled = Math.min(2 * (tried.get(slotId)?.pauseMs ?? 0), REARM_AGAIN_MAX_MS)
      rest(slotId, outcome.code === BELOW_FLOOR ? BELOW_FLOOR_AGAIN_MS : doubled)
    } catch (error) {
      report({ kind: 'rearm-failed', ...slot, error })
    }
  }

  return {
    consider(agent: Hex, window: AccessWindow): void {
      const how = rearmingOf(window, ledgerSeconds(clock))
      if (isClosed || how === undefined) return
      const last = tried.get(window.slotId)
      if (last !== undefined && clock.unixMs() < last.untilMs) return
      rest(window.slotId, last?.pauseMs ?? REARM_AGAIN_MS)
      const trying = attempt(agent, window.slotId, how).finally(() => running.delete(trying))
      running.add(trying)
    },
    /** Returns once no attempt is running. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all(running)
    },
  }
}

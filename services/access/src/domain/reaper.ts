import { BoundedMap } from '@tallystick/service-kit'
import type { Offer, Rearming } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import {
  type AccessWindow,
  type Hex,
  isScheduleOverdue,
  ledgerSeconds,
  waitingTinybar,
  ZERO_ADDRESS,
} from './access-window.ts'

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

/** Finds what a slot needs so that the network renews this window, if anything. */
function findNeededRearming(window: AccessWindow, nowSeconds: number): Rearming | undefined {
  if (isScheduleOverdue(window, nowSeconds)) return 'reap'
  const isToRenew = window.isOpen && !window.isCancelled && window.periodsFunded > 0
  return isToRenew && window.schedule === ZERO_ADDRESS ? 'poke' : undefined
}

/** What waits is made into periods when less than this is paid for, seconds: then it lasts for the reach, 31 days (A26). */
const FUND_AGAIN_SECONDS = 86_400

/**
 * Whether a poke makes periods of what waits (A26): of an open window while the current offer has its terms, of a closed one
 * while these are no worse for the agent. By anyone else's poke the contract does no more.
 */
function isToFund(window: AccessWindow, offer: Offer | undefined, nowSeconds: number): boolean {
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

/** The contract is called for one of these: `fund` is a poke that makes periods of what waits. */
type Need = Rearming | 'fund'

export type Reaper = ReturnType<typeof createReaper>

/**
 * Re-arms a slot's renewal in the background when a read shows that the network never made the pending one, or that a
 * funded window has none (A7). One attempt serves every agent of the slot. It also makes periods of what an agent has
 * waiting (A26).
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
  /** Whether the call would be for nothing. A reap frees the old schedule's lock; a poke has only the free reserve. */
  const isFutile = async (need: Need): Promise<boolean> =>
    need === 'fund'
      ? await contract.areSalesPaused()
      : need === 'poke' && (await contract.renewalsReserveCanArm()) === 0
  const attempt = async (agent: Hex, slotId: bigint, need: Need): Promise<void> => {
    const slot = { agent, slotId: slotId.toString() }
    const how = need === 'reap' ? need : 'poke'
    try {
      if (await isFutile(need)) return
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
      const nowSeconds = ledgerSeconds(clock)
      const need = isToFund(window, contract.knownOffers().at(-1), nowSeconds)
        ? 'fund'
        : findNeededRearming(window, nowSeconds)
      if (isClosed || need === undefined) return
      const last = tried.get(window.slotId)
      if (last !== undefined && clock.unixMs() < last.untilMs) return
      rest(window.slotId, last?.pauseMs ?? REARM_AGAIN_MS)
      const trying = attempt(agent, window.slotId, need).finally(() => running.delete(trying))
      running.add(trying)
    },
    /** Returns once no attempt is running. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all(running)
    },
  }
}

import { BoundedMap } from '@tallystick/service-kit'
import type { AccessParts } from './access-parts.ts'
import type { Hex, WindowNeed } from './access-window.ts'

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

export type Reaper = ReturnType<typeof createReaper>

/**
 * Calls the contract in the background for what a read shows that a window needs: its slot's renewal armed again (A7), or
 * periods made of what waits (A26). One attempt serves every agent of the slot.
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
  const isFutile = async (need: WindowNeed): Promise<boolean> =>
    need === 'fund'
      ? await contract.areSalesPaused()
      : need === 'poke' && (await contract.renewalsReserveCanArm()) === 0
  const attempt = async (agent: Hex, slotId: bigint, need: WindowNeed): Promise<void> => {
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
    attend(agent: Hex, slotId: bigint, need: WindowNeed): void {
      if (isClosed) return
      const last = tried.get(slotId)
      if (last !== undefined && clock.unixMs() < last.untilMs) return
      rest(slotId, last?.pauseMs ?? REARM_AGAIN_MS)
      const trying = attempt(agent, slotId, need).finally(() => running.delete(trying))
      running.add(trying)
    },
    /** Returns once no attempt is running. */
    async close(): Promise<void> {
      isClosed = true
      await Promise.all(running)
    },
  }
}

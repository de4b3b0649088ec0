import { BoundedMap, type Clock } from '@tallystick/service-kit'
import { type AccessWindow, type Hex, isScheduleOverdue, ledgerSeconds } from './access-window.ts'
import type { ReportAccessEvent } from './events.ts'
import type { ContractSender } from './ports.ts'

/** One attempt per agent in this time: a reap is visible to reads after at most 10 s, and another costs gas. */
const REAP_AGAIN_MS = 60_000

/** Agents remembered as tried; beyond it the oldest may be tried again early, which the contract refuses harmlessly. */
const TRIED_MAX = 1_000

/** Arms anew, in the background, the renewal of a served agent whose schedule the network never made (A7). */
export type Reaper = {
  consider(agent: Hex, window: AccessWindow): void
  /** Returns when no attempt runs any more. */
  close(): Promise<void>
}

export function createReaper(deps: {
  readonly sender: ContractSender
  readonly clock: Clock
  readonly report: ReportAccessEvent
}): Reaper {
  const { sender, clock, report } = deps
  const triedAtMs = new BoundedMap<Hex, number>(TRIED_MAX)
  const running = new Set<Promise<void>>()
  let isClosed = false

  const reap = async (agent: Hex): Promise<void> => {
    try {
      const outcome = await sender.reap(agent)
      if (outcome.kind === 'reaped')
        report({ kind: 'reaped', agent, transactionHash: outcome.transactionHash })
    } catch (error) {
      report({ kind: 'reap-failed', agent, error })
    }
  }

  return {
    consider(agent, window) {
      if (isClosed || !isScheduleOverdue(window, ledgerSeconds(clock))) return
      const nowMs = clock.unixMs()
      if (nowMs - (triedAtMs.get(agent) ?? Number.NEGATIVE_INFINITY) < REAP_AGAIN_MS) return
      triedAtMs.set(agent, nowMs)
      const attempt = reap(agent).finally(() => running.delete(attempt))
      running.add(attempt)
    },
    async close() {
      isClosed = true
      await Promise.all(running)
    },
  }
}

/**
 * Finds the window that judges a call of `/access`: one that a lease of this process covers, or one that is read, together
 * with whatever the call needs next.
 */
import { callIn } from './access-answers.ts'
import { type Hex, ledgerSeconds, type Reaper, secondsPastSchedule } from './access-window.ts'
import type { AccessParts } from './ports.ts'
import type { SalesStops } from './sales-stops.ts'
import type { ReadWindow } from './subscriptions.ts'

/** A read up to this old serves the calls of a lease, milliseconds: a guard is noticed at most this late, plus the lag of
 * reads, which is as long. */
const COVERED_READ_MS = 10_000

export type WindowForCallDeps = AccessParts & {
  readonly reaper: Reaper
  readonly stops: Pick<SalesStops, 'find'>
}

export function createWindowForCall(deps: WindowForCallDeps) {
  const { clock, contract, reaper, report, resource, sender, stops, subscriptions, usage } = deps

  /** Begins the reads that a sale needs, all of them shared with other sales. */
  const warmSale = (payment: string | undefined): void => {
    contract.offers().catch(() => undefined)
    stops.find().catch(() => undefined)
    if (payment !== undefined) void sender.warm()
  }

  return {
    /**
     * The agent's open window if a lease of this process covers its next call (A18): such a call asks the ledger for
     * nothing. An open window stays open to its end; only the guard may be missing in an older read.
     */
    coveredWindow(agent: Hex): ReadWindow | undefined {
      const window = subscriptions.known(agent, COVERED_READ_MS)
      if (window?.isOpen !== true) return undefined
      return usage.leasedCalls(callIn(agent, window)) > 0 ? window : undefined
    },
    /** Reads the agent's window. Throws ChainUnavailable or ContractAbsent. */
    async readWindow(agent: Hex, payment: string | undefined): Promise<ReadWindow> {
      await contract.ensureDeployed()
      // What the call needs next is asked together with the read.
      resource.warm?.()
      if (subscriptions.known(agent)?.isOpen !== true) warmSale(payment)
      const window = await subscriptions.readForCall(agent, payment !== undefined)
      reaper.consider(agent, window)
      const lateSeconds = secondsPastSchedule(window, ledgerSeconds(clock))
      if (lateSeconds > 0) report({ kind: 'renewal-late', lateSeconds })
      return window
    },
  }
}

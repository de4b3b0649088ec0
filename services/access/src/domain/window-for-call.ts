/**
 * By which window a call of `/access` is judged: one that a lease of this process covers, or one that is read, together with
 * whatever the call will ask for next.
 */
import { callIn } from './access-answers.ts'
import { type Hex, ledgerSeconds, type Reaper, secondsPastSchedule } from './access-window.ts'
import type { AccessParts } from './ports.ts'
import type { SalesStops } from './sales-stops.ts'
import type { ReadWindow } from './subscriptions.ts'

/** A read so old serves the calls of a lease, milliseconds: a guard is noticed so late at most, beside the lag of reads,
 * which is as long. */
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
     * The agent's open window where a lease of this process covers its next call (A18): such a call asks the ledger for
     * nothing. A window that was open is open to its end; what an older read may not know is the guard.
     */
    coveredWindow(agent: Hex): ReadWindow | undefined {
      const window = subscriptions.known(agent, COVERED_READ_MS)
      if (window?.isOpen !== true) return undefined
      return usage.leasedCalls(callIn(agent, window)) > 0 ? window : undefined
    },
    /** The agent's window by a read. Throws ChainUnavailable or ContractAbsent. */
    async readWindow(agent: Hex, payment: string | undefined): Promise<ReadWindow> {
      await contract.ensureDeployed()
      // What follows the read is asked together with it.
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

/**
 * Finds the window that judges a call of `/access`: one that a lease of this process covers, or one that is read, together
 * with whatever the call needs next.
 */

import { ChainUnavailable } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import {
  callIn,
  type Hex,
  ledgerSeconds,
  type ReadWindow,
  secondsPastSchedule,
} from './access-window.ts'
import type { Reaper } from './reaper.ts'
import type { RelayPlace } from './relay-budget.ts'
import type { SalesStops } from './sales-stops.ts'

/** A read up to this old serves the calls of a lease, milliseconds: a guard is noticed at most this late, plus the lag of
 * reads, which is as long. */
const COVERED_READ_MS = 10_000

export type WindowForCallDeps = AccessParts & {
  readonly reaper: Reaper
  readonly stops: Pick<SalesStops, 'find'>
}

/** A call for which the agent's window may have to be read. */
type ReadingCall = {
  readonly agent: Hex
  /** The client address, or what stands for its network. */
  readonly address: string
  /** Who signed the payment that it brings; undefined if it brings none that holds and may buy for the agent. */
  readonly findPayer: () => Promise<string | undefined>
}

/** Nothing to leave: open windows are read whatever the budget has. */
const NO_PLACE: RelayPlace = { leave: () => undefined }

export function createWindowForCall(deps: WindowForCallDeps) {
  const { budget, clock, contract, reaper, report, resource, sender } = deps
  const { stops, subscriptions, usage } = deps

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
    /**
     * Asks for room to read the agent's window, before anything else asks the ledger (A25). A payment counts as one only
     * where an unpaid call has no room, so that a header alone makes nobody a payer, and within its payer's share. Throws ChainUnavailable without room.
     */
    async askForRoom(
      call: ReadingCall,
    ): Promise<RelayPlace | { readonly retryAfterSeconds: number }> {
      if (subscriptions.known(call.agent)?.isOpen === true) return NO_PLACE
      const retryAfterSeconds = budget.secondsOverShare(call.address)
      const place = retryAfterSeconds === undefined ? budget.takeRoom('unpaid') : undefined
      if (place !== undefined) return place
      const payer = await call.findPayer()
      const isPaying = payer !== undefined && budget.goesFirst(payer)
      if (!isPaying && retryAfterSeconds !== undefined) return { retryAfterSeconds }
      const later = await budget.waitForRoom(isPaying ? 'payment' : 'unpaid')
      if (later === undefined) throw new ChainUnavailable('the budget of the relay is used up')
      return later
    },
    /** Reads the agent's window. Throws ChainUnavailable or ContractAbsent. */
    async readWindow(agent: Hex, payment: string | undefined): Promise<ReadWindow> {
      await contract.ensureDeployed()
      // What the call needs next is asked together with the read.
      resource.warm?.()
      if (subscriptions.known(agent)?.isOpen !== true) warmSale(payment)
      const window = await subscriptions.readForCall(agent)
      reaper.consider(agent, window)
      const lateSeconds = secondsPastSchedule(window, ledgerSeconds(clock))
      if (lateSeconds > 0) report({ kind: 'renewal-late', lateSeconds })
      return window
    },
  }
}

/**
 * Where several processes look at one seller's figures, one of them tells the seller: the one whose recorder's address is the
 * lowest that lives (A14). Processes share no memory; who lives is what the ledger shows of each recorder.
 */
import { type Clock, HOUR_MS, pause } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { ChainUnavailable, ContractAbsent } from './access-contract.ts'
import type { AlertNotice, AlertWebhook } from './access-events.ts'
import { type Hex, ledgerSeconds } from './access-window.ts'
import type { SellerHistory } from './seller-account.ts'
import { LOOK_MS } from './seller-alerts.ts'

/**
 * A recorder lives if it paid for a transaction at most this long before the latest of any recorder, milliseconds. A process with
 * a call in two minutes makes one within it. A shorter time would tell twice in quiet hours, a longer one later after a death.
 */
const SEEN_MS = 6 * HOUR_MS

/** After a recorder was seen this long after a notice, its process has told it, milliseconds: two looks at the figures. */
const TOLD_MS = 120_000

/** A notice that nobody can judge, since the ledger does not answer, is told after this, milliseconds: rather twice than never. */
const UNJUDGED_MS = 600_000

type Waiting = { readonly notice: AlertNotice; readonly sinceMs: number }

type AlertTellerDeps = {
  readonly clock: Clock
  /** This process's. */
  readonly recorder: Hex
  /** Who may count calls now. Throws ChainUnavailable, ContractAbsent or LedgerUnavailable. */
  readonly readRecorders: () => Promise<readonly Hex[]>
  readonly history: Pick<SellerHistory, 'gasPaidAfter'>
  readonly webhook: AlertWebhook
}

/** Passes on what this process is to tell, and keeps the rest until another has told it or is dead. */
export function createAlertTeller(deps: AlertTellerDeps): AlertWebhook {
  const { clock, recorder, readRecorders, history, webhook } = deps
  /** One notice of each alert at most. */
  const waiting = new Map<AlertNotice['alert'], Waiting>()
  /** The last transaction of each recorder, `seconds.nanos`. */
  const seenAt = new Map<Hex, string>()
  const closed = new AbortController()
  let isLooking = false

  const seenMs = (account: Hex): number => Number(seenAt.get(account) ?? 0) * 1000

  const readSeen = async (account: Hex): Promise<void> => {
    const from = seenAt.get(account) ?? `${ledgerSeconds(clock) - SEEN_MS / 1000}.000000000`
    for await (const { consensusTimestamp } of history.gasPaidAfter(account, from))
      seenAt.set(account, consensusTimestamp)
  }

  /** Those that live and come before this one. */
  const readLower = async (): Promise<readonly Hex[]> => {
    const recorders = await readRecorders()
    await Promise.all(recorders.map(readSeen))
    const latestMs = Math.max(...recorders.map(seenMs))
    // While nobody calls, the ledger shows nobody: then whoever was seen last, or every one.
    return recorders.filter((other) => other < recorder && seenMs(other) >= latestMs - SEEN_MS)
  }

  const tell = (isDue: (entry: Waiting) => boolean): void => {
    for (const [alert, entry] of waiting) {
      if (!isDue(entry)) continue
      waiting.delete(alert)
      webhook.send(entry.notice)
    }
  }

  const look = async (): Promise<void> => {
    try {
      const lower = await readLower()
      if (lower.length === 0) return tell(() => true)
      const lastMs = Math.max(...lower.map(seenMs))
      for (const [alert, { sinceMs }] of waiting)
        if (lastMs > sinceMs + TOLD_MS) waiting.delete(alert)
    } catch (error) {
      const isUnread =
        error instanceof LedgerUnavailable ||
        error instanceof ChainUnavailable ||
        error instanceof ContractAbsent
      if (!isUnread) throw error
      tell(({ sinceMs }) => clock.unixMs() - sinceMs >= UNJUDGED_MS)
    }
  }

  const lookUntilTold = async (): Promise<void> => {
    isLooking = true
    while (waiting.size > 0 && !closed.signal.aborted) {
      await look()
      if (waiting.size > 0) await pause(clock, LOOK_MS, closed.signal)
    }
    isLooking = false
  }

  return {
    send(notice) {
      // Each process has a recorder's money of its own.
      if (notice.alert === 'recorder_low') return webhook.send(notice)
      waiting.set(notice.alert, { notice, sinceMs: clock.unixMs() })
      if (!isLooking) void lookUntilTold()
    },
    close() {
      closed.abort()
      webhook.close()
    },
  }
}

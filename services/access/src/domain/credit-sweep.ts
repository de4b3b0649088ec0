/**
 * The sweep: reads what payTo was credited from the mirror node and opens every purchase that the contract does not
 * know yet (A4). It is why the service needs no database: it finds whatever a dead process had settled. Memory holds
 * unresolved credits only; everything else is behind the cursor.
 */
import { DAY_SECONDS, pause } from '@tallystick/service-kit'
import { PAYMENT_OVER_SECONDS } from '@tallystick/x402/hedera'
import type { AccessParts } from './access-parts.ts'
import { type Hex, ledgerSeconds } from './access-window.ts'
import type { PaymentLog } from './payment-log.ts'
import { openSettled } from './purchase.ts'
import { type CreditPurchase, createUnresolvedCredits } from './unresolved-credits.ts'

/** How far back a new process looks, seconds: 30 days, longer than an outage goes unnoticed. */
const LOOK_BACK_SECONDS = 30 * DAY_SECONDS

/** Between two sweeps, milliseconds. A sweep this long ends at the first purchase that it cannot open, to read again. */
const SWEEP_MS = 10_000

/** Between the first sweeps, milliseconds: no challenge is issued until a read has passed the start. */
const FIRST_SWEEPS_MS = 1_000

export type CreditSweep = ReturnType<typeof createCreditSweep>

type CreditSweepDeps = AccessParts & {
  /** How far the mirror node has read the ledger; the clock is judged by it too. */
  readonly ledgerTime: PaymentLog['ledgerTime']
  /** Whether a job of this process holds that payment and will open it itself. */
  readonly isHeld: (transactionId: string) => Promise<boolean>
}

export function createCreditSweep(deps: CreditSweepDeps) {
  const { clock, contract, report } = deps
  const startedAtSeconds = ledgerSeconds(clock)
  const credits = createUnresolvedCredits(deps, startedAtSeconds - LOOK_BACK_SECONDS)
  const others = createOtherSales(deps, startedAtSeconds - LOOK_BACK_SECONDS)
  let readThroughSeconds: number | undefined
  let running: Promise<void> | undefined
  const closed = new AbortController()

  const hasReadPastStart = (): boolean =>
    readThroughSeconds !== undefined && readThroughSeconds > startedAtSeconds

  const openDue = async (): Promise<void> => {
    const tryUntilMs = clock.unixMs() + SWEEP_MS
    for (const purchase of credits.list()) {
      const ageSeconds = ledgerSeconds(clock) - purchase.consensusSeconds
      // A job may hold one without our memo: it waits until no client can complete it any more.
      const isDue = purchase.isNamed || ageSeconds >= PAYMENT_OVER_SECONDS
      if (closed.signal.aborted || (await deps.isHeld(purchase.transactionId))) continue
      if (!isDue) {
        // Its job may have opened it by now, here or on another replica: then its agent need not wait.
        const consumed = await contract.findPayment(purchase.order.paymentReference)
        if (consumed.isUsed) credits.resolve(purchase.transactionId)
        continue
      }
      // One that cannot be opened now goes to the end, so that it never blocks the others.
      credits.postpone(purchase)
      if (await tryPurchase(deps, purchase)) credits.resolve(purchase.transactionId)
      else if (clock.unixMs() >= tryUntilMs) return
    }
  }

  const sweep = async (): Promise<void> => {
    try {
      await contract.ensureDeployed()
      // Asked first: the next read includes all that the mirror node had read by then.
      const { consensusSeconds } = await deps.ledgerTime()
      await others.readOn()
      if (await credits.readOn()) readThroughSeconds = consensusSeconds
      // If another contract sells for the same account, a credit may belong to either.
      if (!others.found()) await openDue()
    } catch (error) {
      report({ kind: 'sweep-failed', error })
    }
  }

  const sweepOnce = (): Promise<void> => {
    running ??= sweep().finally(() => {
      running = undefined
    })
    return running
  }

  const sweepUntilClosed = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      await sweepOnce()
      await pause(clock, hasReadPastStart() ? SWEEP_MS : FIRST_SWEEPS_MS, closed.signal)
    }
  }

  return {
    /** Sweeps now, then every 10 s. */
    start: () => void sweepUntilClosed(),
    /** One sweep: reads on, then opens what is due. Failures are reported and retried at the next. */
    sweep: sweepOnce,
    /** If the mirror node does not answer, the next sweep catches up. */
    async lookAgain(): Promise<void> {
      await credits.readOn().catch((error: unknown) => report({ kind: 'sweep-failed', error }))
    },
    isPending: credits.has,
    hasReadPastStart,
    /** How old the last complete read is, seconds; undefined before the first. */
    ageSeconds: () => readThroughSeconds && ledgerSeconds(clock) - readThroughSeconds,
    unresolvedCount: () => credits.count(),
    /** An unannounced contract that also sells for payTo. */
    otherSales: others.found,
    async close(): Promise<void> {
      closed.abort()
      credits.close()
      await running
    },
  }
}

/**
 * Returns whether it is resolved. What the contract refuses is paid for: it stays pending, and every sweep reports it. A
 * failure does not hold up other purchases; throws only if the ledger does not answer a read either.
 */
async function tryPurchase(deps: CreditSweepDeps, { order }: CreditPurchase): Promise<boolean> {
  try {
    return (await openSettled(deps, order, { by: 'sweep' })).kind !== 'refused'
  } catch (error) {
    const { paymentReference } = order
    await deps.contract.findPayment(paymentReference)
    deps.report({ kind: 'sweep-failed', error, paymentReference })
    return false
  }
}

/**
 * Unannounced contracts that payTo pays (A23). This contract does not know the credits that they sold, and would open them
 * a second time. Reads on from `fromSeconds`, Unix seconds.
 */
function createOtherSales(
  { contract, log }: Pick<AccessParts, 'contract' | 'log'>,
  fromSeconds: number,
) {
  const known = new Set<string>()
  let readTo = `${fromSeconds}.000000000`
  let found: Hex | undefined

  const look = async (accountId: string): Promise<void> => {
    if (known.has(accountId)) return
    const address = await log.findContractAddress(accountId)
    if (address !== undefined && !contract.isOwn(address)) found ??= address
    known.add(accountId)
  }

  return {
    /** Throws LedgerUnavailable. */
    async readOn(): Promise<void> {
      for await (const { consensusTimestamp, receivers } of log.forwardsAfter(readTo)) {
        for (const accountId of receivers) await look(accountId)
        readTo = consensusTimestamp
      }
    },
    /** The first such contract. What it sold stays sold, so only a restart that announces it clears this. */
    found: (): Hex | undefined => found,
  }
}

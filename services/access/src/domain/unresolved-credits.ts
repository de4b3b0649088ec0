import type { AccessContract } from './access-contract.ts'
import type { Hex } from './access-window.ts'
import { type CreditPurchase, judgeCredit } from './credit-purchase.ts'
import type { PaymentLog, PayToCredit } from './payment-log.ts'

/** Unresolved credits held at once, some MB. While there are so many, the cursor stands still. */
const UNRESOLVED_MAX = 5_000

/** Credits looked up on the contract side by side: a sixth of what the public relay takes in one batch. */
const LOOKUPS_AT_ONCE = 16

/** payTo's credits that are purchases which the contract does not know yet, and how far the log was read for them. */
export type UnresolvedCredits = {
  /**
   * Reads on, one read at a time: callers that wait while one runs share the next. False where it stopped before the log's
   * end. Throws what the log or the contract throws.
   */
  readOn(): Promise<boolean>
  /** Oldest first, those that could not be opened last. */
  list(): readonly CreditPurchase[]
  /** Moves one to the end. */
  postpone(purchase: CreditPurchase): void
  resolve(transactionId: string): void
  /** Whether one buys for this agent, other than the one with that transaction id. */
  has(agent: Hex, exceptTransactionId?: string): boolean
  count(): number
  close(): void
}

export type UnresolvedCreditsDeps = {
  readonly contract: AccessContract
  readonly log: PaymentLog
  readonly periodsPerPurchase: number
}

/** Starts reading after `fromSeconds`, Unix seconds. */
export function createUnresolvedCredits(
  deps: UnresolvedCreditsDeps,
  fromSeconds: number,
): UnresolvedCredits {
  const { log } = deps
  const unresolved = new Map<string, CreditPurchase>()
  let creditsReadTo = `${fromSeconds}.000000000`
  const refunds = createRefundReader(log, creditsReadTo)
  let isClosed = false
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<boolean> | undefined

  /** Looks a few credits up and remembers the purchases among them; the cursor moves only when all were looked up. */
  const admit = async (credits: readonly PayToCredit[]): Promise<void> => {
    for (const judged of await Promise.all(credits.map((credit) => judgeCredit(deps, credit)))) {
      if (judged.kind !== 'purchase') continue
      const { purchase } = judged
      if (!refunds.isRefunded(purchase.transactionId))
        unresolved.set(purchase.transactionId, purchase)
    }
    creditsReadTo = credits.at(-1)?.consensusTimestamp ?? creditsReadTo
  }

  const readCredits = async (): Promise<boolean> => {
    if (unresolved.size >= UNRESOLVED_MAX) return false
    let batch: PayToCredit[] = []
    for await (const credit of log.creditsAfter(creditsReadTo)) {
      batch.push(credit)
      if (batch.length < LOOKUPS_AT_ONCE) continue
      await admit(batch)
      batch = []
      if (isClosed || unresolved.size >= UNRESOLVED_MAX) return false
    }
    await admit(batch)
    return true
  }

  const readOnce = async (): Promise<boolean> => {
    next = undefined
    const isAtEnd = await readCredits()
    // Whatever was refunded by the last read came before the end of the log.
    if (isAtEnd) refunds.forget()
    await refunds.readOn((transactionId) => unresolved.delete(transactionId))
    return isAtEnd
  }

  return {
    readOn() {
      if (next === undefined) {
        next = running.then(readOnce)
        running = next.catch(() => undefined)
      }
      return next
    },
    list: () => [...unresolved.values()],
    postpone(purchase) {
      unresolved.delete(purchase.transactionId)
      unresolved.set(purchase.transactionId, purchase)
    },
    resolve: (transactionId) => void unresolved.delete(transactionId),
    has: (agent, exceptTransactionId) =>
      [...unresolved.values()].some(
        (purchase) =>
          purchase.order.agent === agent && purchase.transactionId !== exceptTransactionId,
      ),
    count: () => unresolved.size,
    close() {
      isClosed = true
    },
  }
}

/** Reads which payments payTo paid back, and remembers those whose credit was not read before. */
function createRefundReader(log: PaymentLog, fromTimestamp: string) {
  const unmatched = new Set<string>()
  let readTo = fromTimestamp
  return {
    /** `takeOut` says whether the refunded credit was there. */
    async readOn(takeOut: (transactionId: string) => boolean): Promise<void> {
      for await (const { consensusTimestamp, refundOf } of log.debitsAfter(readTo)) {
        if (refundOf !== undefined && !takeOut(refundOf)) unmatched.add(refundOf)
        readTo = consensusTimestamp
      }
    },
    isRefunded: (transactionId: string) => unmatched.has(transactionId),
    forget: () => unmatched.clear(),
  }
}

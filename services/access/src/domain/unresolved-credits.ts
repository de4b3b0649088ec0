import type { Offer, PurchaseOrder } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import type { Hex } from './access-window.ts'
import { isUnheld } from './agent-holder.ts'
import type { PayToCredit } from './payment-log.ts'
import { offerOfPayment, offersOfTime, readPaymentMemo } from './sales-terms.ts'

type CreditFacts = Pick<AccessParts, 'contract' | 'log' | 'payTo' | 'periodsPerPurchase'>

/** The same, with every offer so far, read once for all credits of one read. */
export type CreditJudge = CreditFacts & { readonly offers: readonly Offer[] }

/** A credit to payTo that is a purchase and that the contract does not know yet. */
export type CreditPurchase = {
  readonly transactionId: string
  readonly order: PurchaseOrder
  /** Whether the signed memo names an agent; otherwise it buys for the payer's own address. */
  readonly isNamed: boolean
  readonly consensusSeconds: number
}

/** Why a credit buys nothing. */
export type CreditRefusal =
  | 'several-payers'
  /** Its memo begins like one of ours and names no agent. */
  | 'reserved-memo'
  /** Its memo names an address that nobody acts under (A24). */
  | 'agent-unheld'
  /** Not at any price of that time. */
  | 'no-whole-purchase'
  /** Earnings, reserve or a refund: nobody signed which agent it would buy for. */
  | 'paid-by-contract'

export type CreditJudgement =
  /** A purchase that the service opens by itself, or `payments open`. */
  | { readonly kind: 'pending'; readonly purchase: CreditPurchase }
  /** The contract knows its reference. */
  | { readonly kind: 'opened'; readonly agent: Hex }
  /** It buys nothing and stays with payTo until it is refunded. */
  | { readonly kind: 'refused'; readonly reason: CreditRefusal }

const isNoWholePurchase = (judged: CreditJudgement): boolean =>
  judged.kind === 'refused' && judged.reason === 'no-whole-purchase'

const refused = (reason: CreditRefusal): CreditJudgement => ({ kind: 'refused', reason })

/**
 * Finds what a credit pays for (A4). It is a purchase when one account paid a whole purchase at a price that the contract
 * offered then, and the contract does not know its reference. A memo that names an address which nobody acts under opens nothing:
 * the gate settles none for those, so the money came past it and is given back. Throws ChainUnavailable, ContractAbsent or
 * LedgerUnavailable.
 */
export async function judgeCredit(
  facts: CreditJudge,
  credit: PayToCredit,
): Promise<CreditJudgement> {
  const { payer, amountTinybar, paidAtSeconds, paymentReference } = credit
  const memo = readPaymentMemo(credit.memo)
  if (payer === undefined) return refused('several-payers')
  if (memo.kind === 'reserved') return refused('reserved-memo')
  const offer = offerOfPayment({
    offers: offersOfTime(facts.offers, paidAtSeconds),
    amountTinybar,
    paidAtSeconds,
    periodsPerPurchase: facts.periodsPerPurchase,
  })
  if (offer === undefined) return refused('no-whole-purchase')
  const consumed = await facts.contract.findPayment(paymentReference)
  if (consumed.isUsed) return { kind: 'opened', agent: consumed.agent }
  const isNamed = memo.kind === 'agent'
  const agent = isNamed ? memo.agent : await facts.log.readEvmAddress(payer)
  if (!isNamed && facts.contract.isOwn(agent)) return refused('paid-by-contract')
  if (isNamed && (await isUnheld(facts, agent))) return refused('agent-unheld')
  const purchase: CreditPurchase = {
    transactionId: credit.transactionId,
    isNamed,
    consensusSeconds: credit.consensusSeconds,
    order: {
      agent,
      offerId: offer.offerId,
      paidAtSeconds,
      calls: 0,
      paymentReference,
      valueTinybar: amountTinybar,
    },
  }
  return { kind: 'pending', purchase }
}

/** Unresolved credits held at once, some MB. At this many, the cursor stands still. */
const UNRESOLVED_MAX = 5_000

/** Credits looked up on the contract at once: a sixth of what the public relay takes in one batch. */
const LOOKUPS_AT_ONCE = 16

/**
 * payTo's credits that are purchases and that the contract does not know yet, and how far the log was read for them, from
 * `fromSeconds` on, Unix seconds.
 */
export function createUnresolvedCredits(facts: CreditFacts, fromSeconds: number) {
  const { log } = facts
  const unresolved = new Map<string, CreditPurchase>()
  let creditsReadTo = `${fromSeconds}.000000000`
  const refunds = createRefundReader(log, creditsReadTo)
  const judge = createCreditJudge(facts)
  let isClosed = false
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<boolean> | undefined

  /** Looks up a few credits and remembers the purchases among them; the cursor moves only when all were looked up. */
  const admit = async (credits: readonly PayToCredit[]): Promise<void> => {
    for (const judged of await judge.all(credits)) {
      if (judged.kind !== 'pending') continue
      const { purchase } = judged
      if (!refunds.isRefunded(purchase.transactionId))
        unresolved.set(purchase.transactionId, purchase)
    }
    creditsReadTo = credits.at(-1)?.consensusTimestamp ?? creditsReadTo
  }

  const readCredits = async (): Promise<boolean> => {
    if (unresolved.size >= UNRESOLVED_MAX) return false
    let batch: PayToCredit[] = []
    let isFirst = true
    for await (const credit of log.creditsAfter(creditsReadTo)) {
      if (isFirst) await judge.readOffers()
      isFirst = false
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
    // Every credit refunded so far lies before the end of the log.
    if (isAtEnd) refunds.forget()
    await refunds.readOn((transactionId) => unresolved.delete(transactionId))
    return isAtEnd
  }

  return {
    /**
     * Reads on, one read at a time: callers that wait while one runs share the next. False if it stopped before the log's
     * end. Throws what the log or the contract throws.
     */
    readOn(): Promise<boolean> {
      if (next === undefined) {
        next = running.then(readOnce)
        running = next.catch(() => undefined)
      }
      return next
    },
    /** Oldest first; those that could not be opened come last. */
    list: (): readonly CreditPurchase[] => [...unresolved.values()],
    postpone(purchase: CreditPurchase): void {
      unresolved.delete(purchase.transactionId)
      unresolved.set(purchase.transactionId, purchase)
    },
    resolve: (transactionId: string) => void unresolved.delete(transactionId),
    /** Whether one buys for this agent, other than the one with that transaction id. */
    has: (agent: Hex, exceptTransactionId?: string): boolean =>
      [...unresolved.values()].some(
        (purchase) =>
          purchase.order.agent === agent && purchase.transactionId !== exceptTransactionId,
      ),
    count: () => unresolved.size,
    close(): void {
      isClosed = true
    },
  }
}

/** Judges the credits of one read by offers that are read once for all. */
function createCreditJudge(facts: CreditFacts) {
  let offers: readonly Offer[] = []
  const readOffers = async (): Promise<void> => {
    offers = await facts.contract.offers()
  }
  const judgeAll = (credits: readonly PayToCredit[]) =>
    Promise.all(credits.map((credit) => judgeCredit({ ...facts, offers }, credit)))
  return {
    readOffers,
    async all(credits: readonly PayToCredit[]): Promise<readonly CreditJudgement[]> {
      const judged = await judgeAll(credits)
      if (!judged.some(isNoWholePurchase)) return judged
      // Paid at an offer that was set while the log was read?
      const known = offers.length
      await readOffers()
      return offers.length > known ? await judgeAll(credits) : judged
    },
  }
}

/** Reads which payments payTo refunded, and remembers those whose credit was not read yet. */
function createRefundReader(log: AccessParts['log'], fromTimestamp: string) {
  const unmatched = new Set<string>()
  let readTo = fromTimestamp
  return {
    /** `takeOut` says whether the refunded credit was there. */
    async readOn(takeOut: (transactionId: string) => boolean): Promise<void> {
      for await (const { consensusTimestamp, refundedPayment } of log.debitsAfter(readTo)) {
        if (refundedPayment !== undefined && !takeOut(refundedPayment))
          unmatched.add(refundedPayment)
        readTo = consensusTimestamp
      }
    },
    isRefunded: (transactionId: string) => unmatched.has(transactionId),
    forget: () => unmatched.clear(),
  }
}

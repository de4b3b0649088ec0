/**
 * The payment gate runs this for one paid request: everything that can fail comes before money moves, and what follows
 * it may be repeated until it succeeds (A3, A5).
 */
import { retry } from '@tallystick/service-kit'
import type { PaidJob, PaymentGate, VerifiedPayment } from '@tallystick/x402'
import { paymentReference } from '@tallystick/x402/hedera'
import type { AccessGranted } from '../wire/access-answers.ts'
import type { OpenOutcome, PurchaseOrder } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import {
  type AccessWindow,
  grantedBody,
  type Hex,
  ledgerSeconds,
  type ReadWindow,
  usageBody,
} from './access-window.ts'
import type { SalesStop, SalesStops } from './sales-stops.ts'
import { memoAllows, offerOfPayment, payableOffers, readPaymentMemo } from './sales-terms.ts'
import { isShownBy } from './subscriptions.ts'

/** How long a paid request waits for its own window to show in reads after the receipt (A5), milliseconds. */
const VISIBLE_MS = 15_000

/** Between two such reads, milliseconds. */
const VISIBLE_POLL_MS = 500

/** The contract's error for new money at the terms of a retired offer (A26). */
const OFFER_RETIRED = 'AccessWindow_OfferRetired'

export type PreparedPurchase = { readonly order: PurchaseOrder; readonly resource: unknown }

export type PurchaseAnswer =
  /** `grantedAtMs`: when, Unix milliseconds. */
  | { readonly kind: 'granted'; readonly body: AccessGranted; readonly grantedAtMs: number }
  /** The contract took this payment for another agent before. */
  | { readonly kind: 'used-for-another' }

export type PurchaseDeclined =
  /** Another request opened the window meanwhile: it serves the call, unpaid. */
  | { readonly kind: 'window-open'; readonly window: ReadWindow }
  | { readonly kind: 'memo-names-another-agent' }
  | { readonly kind: 'already-used' }
  /** `reason`: why the contract would refuse it. */
  | {
      readonly kind: 'refused'
      readonly error: PurchaseRefusal
      readonly reason?: string | undefined
    }

/** Why nothing is sold to anybody: sales are paused, nothing is on offer, or the seller has to fix something. */
type SalesRefusal = 'sales_paused' | 'offer_retired' | 'sales_stopped'

/** The answer while sales are stopped. */
export const salesRefusal = ({ reason }: SalesStop): SalesRefusal =>
  reason === 'sales_paused' || reason === 'offer_retired' ? reason : 'sales_stopped'

export type PurchaseRefusal =
  /** Another payment for this agent is not resolved yet. */
  'payment_pending' | SalesRefusal | 'seller_float_low' | 'forward_refused'

/** The sweep says this of credits that nobody has opened yet. */
type PendingCredits = {
  /** Reads the log once more before a payment is settled: another replica may have settled one for the agent. */
  lookAgain(): Promise<void>
  /** Whether there is one for this agent, other than the one with that transaction id. */
  isPending(agent: Hex, exceptTransactionId?: string): boolean
  /** Until the mirror node has been read past this process's start, an earlier process's payment may be unseen. */
  hasReadPastStart(): boolean
}

export type PurchaseDeps = AccessParts & {
  readonly sweep: PendingCredits
  readonly gate: PaymentGate
  readonly stops: Pick<SalesStops, 'find'>
}

type PurchaseJob = PaidJob<PreparedPurchase, PurchaseAnswer, PurchaseDeclined>

/** The job of one request for `agent`. `fingerprint` says what the payment buys: method, route and agent (X7). */
export function purchaseJob(
  deps: PurchaseDeps,
  { agent, requestId }: { readonly agent: Hex; readonly requestId?: string | undefined },
): PurchaseJob {
  let isSettled = false
  return {
    fingerprint: `GET /access ${agent}`,
    subject: agent,
    requestId,
    prepare: (payment) => prepare(deps, agent, { payment, isSettled }),
    async mayHonour(payment) {
      isSettled = await mayHonour(deps, agent, payment)
      return isSettled
    },
    isStillWanted: async () => !(await deps.subscriptions.read(agent)).isOpen,
    fulfil: (prepared) => fulfil(deps, prepared, requestId),
  }
}

const decline = (declined: PurchaseDeclined) => ({ kind: 'declined', declined }) as const
const refuse = (error: PurchaseRefusal, reason?: string) =>
  decline({ kind: 'refused', error, reason })

/** `isSettled`: the payment was found on the ledger, so nothing stops it any more (A3). */
async function prepare(
  deps: PurchaseDeps,
  agent: Hex,
  { payment, isSettled }: { readonly payment: VerifiedPayment; readonly isSettled: boolean },
): ReturnType<PurchaseJob['prepare']> {
  if (!memoAllows(payment.memo, agent)) return decline({ kind: 'memo-names-another-agent' })
  await deps.sweep.lookAgain()
  const isOtherPending =
    deps.sweep.isPending(agent, payment.nonce) || (!isSettled && deps.gate.isPending(agent))
  if (isOtherPending) return refuse('payment_pending')
  const [window, stop, offers] = await Promise.all([
    deps.subscriptions.read(agent),
    deps.stops.find(),
    deps.contract.offers(),
  ])
  if (window.isOpen) return decline({ kind: 'window-open', window })
  if (stop !== undefined && !isSettled && !(await isOwnAndLanded(deps, agent, payment)))
    return refuse(salesRefusal(stop))
  const offer = offerOfPayment({
    offers: payableOffers(offers, ledgerSeconds(deps.clock)),
    amountTinybar: payment.amount,
    paidAtSeconds: payment.validFromSeconds,
    periodsPerPurchase: deps.periodsPerPurchase,
  })
  if (offer === undefined) return refuse('forward_refused', 'no_such_offer')
  const order: PurchaseOrder = {
    agent,
    offerId: offer.offerId,
    paidAtSeconds: payment.validFromSeconds,
    calls: 1,
    paymentReference: paymentReference(payment.nonce).hash,
    valueTinybar: payment.amount,
  }
  const [rehearsal, resource] = await Promise.all([
    deps.sender.rehearse(order),
    deps.resource.read(),
  ])
  switch (rehearsal.kind) {
    case 'ready':
      return { kind: 'ready', prepared: { order, resource } }
    case 'already-used':
      deps.subscriptions.forget(agent)
      return decline(rehearsal)
    case 'float-low':
      return refuse('seller_float_low')
    case 'refused':
      return refuse(
        rehearsal.reason === OFFER_RETIRED ? 'offer_retired' : 'forward_refused',
        rehearsal.reason,
      )
    default:
      return rehearsal satisfies never
  }
}

/** Whether a payment was settled before sales stopped, by a process that died or a facilitator that fell silent. */
async function isOwnAndLanded(
  deps: PurchaseDeps,
  agent: Hex,
  payment: VerifiedPayment,
): Promise<boolean> {
  // If the ledger does not answer, the sweep opens it later.
  const finding = await deps.scheme.find(payment).catch(() => undefined)
  return finding?.kind === 'landed' && (await mayHonour(deps, agent, payment))
}

/** A payment found on the ledger buys for the agent in its signed memo, or else for the payer (X10). */
async function mayHonour(
  deps: PurchaseDeps,
  agent: Hex,
  payment: VerifiedPayment,
): Promise<boolean> {
  const memo = readPaymentMemo(payment.memo)
  const owner = memo.kind === 'agent' ? memo.agent : payment.payerEvmAddress
  if (owner !== agent || memo.kind === 'reserved') return false
  const { isUsed } = await deps.contract.findPayment(paymentReference(payment.nonce).hash)
  // By another replica, maybe just now: only a new read shows the window.
  if (isUsed) deps.subscriptions.forget(agent)
  return !isUsed
}

async function fulfil(
  deps: PurchaseDeps,
  prepared: PreparedPurchase,
  requestId: string | undefined,
): Promise<PurchaseAnswer> {
  const { order, resource } = prepared
  const granted = (window: AccessWindow, grant: Pick<AccessGranted, 'why' | 'metering'>) => {
    const nowSeconds = ledgerSeconds(deps.clock)
    const body = grantedBody({ paidThisRequest: true, window, nowSeconds, resource, ...grant })
    return { kind: 'granted', body, grantedAtMs: deps.clock.unixMs() } as const
  }
  const outcome = await openSettled(deps, order, { by: 'gate', requestId })
  switch (outcome.kind) {
    case 'opened': {
      const seen = await untilVisible(deps, order.agent, outcome.window)
      const window = seen ?? outcome.window
      return granted(window, {
        why: outcome.isTopUp
          ? 'Your payment settled and topped up the subscription that was already open; this call is its first use of that money.'
          : 'Your payment settled and opened a window that renews itself while the balance lasts; this call is its first.',
        metering: {
          callsRemainingThisPeriod: usageBody(window).callsRemaining,
          recordedOnChain: outcome.transactionHash,
          why: 'The transaction that opened the window counted this call too.',
        },
      })
    }
    case 'already-used': {
      if (outcome.agent !== order.agent) return { kind: 'used-for-another' }
      const seen = await untilVisible(deps, order.agent)
      return granted(seen ?? (await deps.subscriptions.read(order.agent)), {
        why: 'Your payment had settled before and its window is open already; nothing was charged again.',
      })
    }
    case 'refused':
      // The gate keeps and repeats it: the value stays with payTo until the operator has looked.
      throw new Error(`the contract refused a settled payment: ${outcome.reason}`)
    default:
      return outcome satisfies never
  }
}

/** Forwards a settled payment into the contract, reports the outcome, and holds the window that it opened. */
export async function openSettled(
  deps: AccessParts,
  order: PurchaseOrder,
  cause: { readonly by: 'gate' | 'sweep'; readonly requestId?: string | undefined },
): Promise<OpenOutcome> {
  const { agent } = order
  const payment = { ...cause, agent, paymentReference: order.paymentReference }
  const outcome = await deps.sender.openPaid(order)
  if (outcome.kind === 'opened') {
    const { transactionHash, isTopUp, window } = outcome
    deps.subscriptions.hold(agent, window)
    deps.report({ kind: 'opened', ...payment, transactionHash, isTopUp })
  }
  if (outcome.kind === 'refused') {
    const { reason } = outcome
    deps.report({ kind: 'open-refused', ...payment, reason })
  }
  return outcome
}

/** Reads for at most 15 s until an open window shows what the receipt showed; undefined if none does by then. */
async function untilVisible(
  deps: PurchaseDeps,
  agent: Hex,
  receipted?: AccessWindow,
): Promise<AccessWindow | undefined> {
  const { clock, subscriptions } = deps
  const pauses = { firstMs: VISIBLE_POLL_MS, maxMs: VISIBLE_POLL_MS }
  // A read that fails here only costs another try: the window is open either way.
  const end = await retry({ ...pauses, clock, limitMs: VISIBLE_MS }, async () => {
    const window = await subscriptions.readChain(agent)
    const isShown = receipted === undefined || isShownBy(window, receipted)
    return window.isOpen && isShown ? window : undefined
  })
  return end.kind === 'done' ? end.value : undefined
}

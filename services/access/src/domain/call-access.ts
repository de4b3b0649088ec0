/**
 * The decision behind `/access`, in the order of the specification: chain and contract, open window, otherwise payment.
 * Dependencies that fail throw their named errors, which errors.ts maps; everything expected is an outcome.
 */
import { type CallRate, clientNetwork } from '@tallystick/service-kit'
import {
  type Admission,
  type Challenge,
  type ChallengeError,
  type PaymentHeaders,
  type PaymentTerms,
  type Settlement,
} from '@tallystick/x402'
import type { AccessGranted } from '../wire/access-answers.ts'
import {
  callIn,
  findNeed,
  grantedBody,
  type Hex,
  ledgerSeconds,
  type ReadWindow,
  secondsPastSchedule,
  secondsRemaining,
} from './access-window.ts'
import type { AgentGuard, GuardedCall } from './agent-guard.ts'
import type { AgentHolder } from './agent-holder.ts'
import { createAgentLock } from './agent-lock.ts'
import { endedAccess } from './ended-access.ts'
import {
  type PreparedPurchase,
  type PurchaseAnswer,
  type PurchaseDeclined,
  type PurchaseDeps,
  type PurchaseRefusal,
  purchaseJob,
  salesRefusal,
} from './purchase.ts'
import type { Reaper } from './reaper.ts'
import { memoAllows, type SalesTerms } from './sales-terms.ts'

export type AccessOutcome =
  | {
      readonly kind: 'granted'
      readonly body: AccessGranted
      readonly settlement?: Settlement | undefined
      /** A guarded agent's later calls may send this in place of a proof. */
      readonly token?: string | undefined
    }
  /** The window of a guarded agent is open, and the caller has not proved its key (A17). */
  | { readonly kind: 'proof-required'; readonly challenge: Challenge }
  | {
      readonly kind: 'challenged'
      readonly error: ChallengeError
      readonly terms: PaymentTerms
      readonly settlement?: Settlement | undefined
    }
  /** Neither served nor asked to pay; errors.ts says what each error means. */
  | {
      readonly kind: 'refused'
      readonly error:
        | 'quota_exhausted'
        | 'too_many_requests'
        | 'usage_unavailable'
        | 'payments_unread'
        | 'no_fee_payer'
        | 'facilitator_unavailable'
        | 'facilitator_turns_away'
        | 'ledger_unavailable'
        | PurchaseRefusal
      readonly retryAfterSeconds?: number
    }

export type CallAccessDeps = PurchaseDeps & {
  readonly terms: SalesTerms
  readonly guard: AgentGuard
  readonly holder: AgentHolder
  readonly reaper: Reaper
  readonly agentRate: CallRate
  readonly addressRate: CallRate
}

type AccessCall = GuardedCall & {
  readonly headers: PaymentHeaders
  /** IP address of the caller, behind the proxies that are trusted. */
  readonly clientAddress: string
  /** Of the request, for the log. */
  readonly requestId?: string | undefined
}

/** How soon a call is worth repeating while a payment is being completed, seconds. */
const PENDING_RETRY_SECONDS = 5

const pending = (retryAfterSeconds = PENDING_RETRY_SECONDS): AccessOutcome => ({
  kind: 'refused',
  error: 'payment_pending',
  retryAfterSeconds,
})

/** Answers calls. Throws ChainUnavailable, ContractAbsent, ResourceUnavailable, and x402's LedgerUnavailable. */
export type CallAccess = (call: AccessCall) => Promise<AccessOutcome>

export function createCallAccess(deps: CallAccessDeps): CallAccess {
  const lockAgent = createAgentLock(deps.clock)
  return async (call) => {
    const { agent, headers } = call
    const address = clientNetwork(call.clientAddress)
    const waitSeconds = deps.addressRate.secondsToWait(address)
    if (waitSeconds !== undefined) return tooMany(deps, 'address', waitSeconds)
    const covered = findCovered(deps, agent)
    if (covered !== undefined) return serveFromWindow(deps, call, covered)
    // An empty header says nothing beside one that is not (X22).
    const payment = headers.paymentSignature || (headers.xPayment ?? headers.paymentSignature)
    const room = await deps.subscriptions.askForRoom({
      agent,
      address,
      findPayer: () => findPayer(deps, call),
    })
    if ('retryAfterSeconds' in room) return tooMany(deps, 'address', room.retryAfterSeconds)
    const window = await readWindow(deps, agent, payment).finally(room.leave)
    if (window.isOpen) return serveFromWindow(deps, call, window)
    if (payment === undefined) return challenge(deps, agent, { error: 'payment_required', window })
    const terms = await deps.terms.accepted()
    if (terms.requirements.length === 0) return { kind: 'refused', error: 'no_fee_payer' }
    // Before the lock, so that an invalid payment cannot delay the agent's own.
    const admission = await deps.gate.admit(headers, terms)
    if (admission.kind === 'challenged') {
      const { error } = admission
      deps.report({ kind: 'payment-refused', reason: error })
      return challenge(deps, agent, { error, window })
    }
    // A payment that landed without the gate would buy for nobody, too: its credit is refunded (A24).
    if (admission.kind === 'admitted' && (await deps.holder.find(agent)) !== undefined) {
      deps.report({ kind: 'payment-refused', reason: 'agent_unheld' })
      return challenge(deps, agent, { error: 'agent_unheld', window })
    }
    const isOwn = admission.kind === 'admitted' && admission.payment.payerEvmAddress === agent
    return lockAgent({ agent, isOwn, payment }, async (hasWaited) => {
      if (!hasWaited) return sell(deps, call, { terms, admission })
      const current = await readWindow(deps, agent, payment)
      if (current.isOpen) return serveFromWindow(deps, call, current)
      return sell(deps, call, { terms, admission: await deps.gate.admit(headers, terms) })
    })
  }
}

/**
 * Who signed the payment that the call brings, if it verifies, may still be settled and may buy for the agent. Asks the
 * ledger's relay for nothing.
 */
async function findPayer(
  { gate, terms }: Pick<CallAccessDeps, 'gate' | 'terms'>,
  { agent, headers }: AccessCall,
): Promise<string | undefined> {
  if (headers.paymentSignature === undefined && headers.xPayment === undefined) return undefined
  const admission = await gate.admit(headers, terms.acceptedBefore())
  if (admission.kind !== 'admitted' || admission.order === undefined) return undefined
  const { memo, payer } = admission.payment
  return memoAllows(memo, agent) ? payer : undefined
}

/** A read up to this old serves the calls of a lease, milliseconds: a guard is noticed at most this late, plus the lag of
 * reads, which is as long. */
const COVERED_READ_MS = 10_000

/**
 * The agent's open window if a lease of this process covers its next call (A18): such a call asks the ledger for nothing.
 * An open window stays open to its end; only the guard may be missing in an older read.
 */
function findCovered(
  { subscriptions, usage }: Pick<CallAccessDeps, 'subscriptions' | 'usage'>,
  agent: Hex,
): ReadWindow | undefined {
  const window = subscriptions.known(agent, COVERED_READ_MS)
  if (window?.isOpen !== true) return undefined
  return usage.leasedCalls(callIn(agent, window)) > 0 ? window : undefined
}

/** Reads the agent's window, together with whatever the call needs next. Throws ChainUnavailable or ContractAbsent. */
async function readWindow(
  deps: CallAccessDeps,
  agent: Hex,
  payment: string | undefined,
): Promise<ReadWindow> {
  const { clock, contract, subscriptions } = deps
  await contract.ensureDeployed()
  deps.resource.warm?.()
  if (subscriptions.known(agent)?.isOpen !== true) {
    // A sale needs these, and shares them with other sales.
    contract.offers().catch(() => undefined)
    deps.stops.find().catch(() => undefined)
    if (payment !== undefined) void deps.sender.warm()
  }
  const window = await subscriptions.readForCall(agent)
  const nowSeconds = ledgerSeconds(clock)
  const need = findNeed(window, contract.knownOffers().at(-1), nowSeconds)
  if (need !== undefined) deps.reaper.attend(agent, window.slotId, need)
  const lateSeconds = secondsPastSchedule(window, nowSeconds)
  if (lateSeconds > 0) deps.report({ kind: 'renewal-late', lateSeconds })
  return window
}

function tooMany(
  { report }: CallAccessDeps,
  by: 'agent' | 'address',
  retryAfterSeconds: number,
): AccessOutcome {
  report({ kind: 'rate-limited', by })
  return { kind: 'refused', error: 'too_many_requests', retryAfterSeconds }
}

/** A call in an open window: a guarded agent's needs a proof, any other's must keep to the rate; then the quota decides. */
async function serveFromWindow(
  deps: CallAccessDeps,
  call: AccessCall,
  window: ReadWindow,
): Promise<AccessOutcome> {
  if (!window.isGuarded) {
    const waitSeconds = deps.agentRate.secondsToWait(call.agent)
    if (waitSeconds !== undefined) return tooMany(deps, 'agent', waitSeconds)
    return serveAdmitted(deps, call.agent, window)
  }
  const admission = await deps.guard.admit(call)
  if (admission.kind === 'proof-required') return admission
  const outcome = await serveAdmitted(deps, call.agent, window)
  return outcome.kind === 'granted' ? { ...outcome, token: admission.token } : outcome
}

async function serveAdmitted(
  deps: CallAccessDeps,
  agent: Hex,
  window: ReadWindow,
): Promise<AccessOutcome> {
  const nowSeconds = ledgerSeconds(deps.clock)
  const call = callIn(agent, window)
  const quotaSpent = {
    kind: 'refused',
    error: 'quota_exhausted',
    retryAfterSeconds: Math.max(1, secondsRemaining(window, nowSeconds)),
  } as const
  if (deps.usage.callsRemaining(call) <= 0) return quotaSpent
  const resource = await deps.resource.read()
  const recorded = await deps.usage.record(call)
  switch (recorded.kind) {
    case 'quota-spent':
      return quotaSpent
    case 'unavailable':
      return { kind: 'refused', error: 'usage_unavailable' }
    case 'recorded':
      deps.report({ kind: 'granted', isPaid: false })
      return {
        kind: 'granted',
        body: grantedBody({
          paidThisRequest: false,
          window,
          nowSeconds,
          why: 'Your window is open: nothing was charged for this call.',
          metering: {
            callsRemainingThisPeriod: recorded.callsRemaining,
            recordedOnChain: recorded.transactionHash,
            why: 'That transaction counts this call on the contract; a renewal refills the quota.',
          },
          resource,
        }),
      }
    default:
      return recorded satisfies never
  }
}

type Refusal = { readonly error: ChallengeError; readonly settlement?: Settlement | undefined }

/** A 402, unless a payment of this agent may be under way, or on the ledger and unseen: nobody pays twice (X9, A4). */
async function challenge(
  deps: CallAccessDeps,
  agent: Hex,
  { error, settlement, window }: Refusal & { readonly window: ReadWindow },
): Promise<AccessOutcome> {
  if (deps.gate.isPending(agent) || deps.sweep.isPending(agent)) return pending()
  const stop = await deps.stops.find()
  if (stop !== undefined) return { kind: 'refused', error: salesRefusal(stop) }
  if (!deps.sweep.hasReadPastStart()) return { kind: 'refused', error: 'payments_unread' }
  const terms = await deps.terms.challenged()
  if (terms.requirements.length === 0) return { kind: 'refused', error: 'no_fee_payer' }
  const retryAfterSeconds = deps.gate.challengeProblem(terms)?.retryAfterSeconds
  if (retryAfterSeconds !== undefined)
    return { kind: 'refused', error: 'facilitator_turns_away', retryAfterSeconds }
  const notice = await deps.holder.explain(agent)
  const offer = deps.contract.knownOffers().at(-1)
  const nowSeconds = ledgerSeconds(deps.clock)
  const ended = endedAccess(window, { ...deps, callsRemaining: 0, offer, nowSeconds })
  // Who never had a window gets the challenge that is built once for all.
  const isPlain = notice === undefined && ended === null
  const explained = isPlain ? terms : { ...terms, beside: { notice, ended: ended ?? undefined } }
  return { kind: 'challenged', error, terms: explained, settlement }
}

/** A read this old shows as much as a new one, milliseconds: reads lag behind other replicas by seconds. */
const SAME_READ_MS = 1_000

/**
 * Refuses a payment unless a window is now open: another replica may have taken this very payment (X9). One that was refused
 * at once, before it was submitted, costs no second read.
 */
async function refuse(
  deps: CallAccessDeps,
  call: AccessCall,
  refusal: Refusal,
): Promise<AccessOutcome> {
  const { subscriptions } = deps
  const recent =
    refusal.settlement === undefined ? subscriptions.known(call.agent, SAME_READ_MS) : undefined
  const window = recent ?? (await subscriptions.read(call.agent))
  return window.isOpen
    ? serveFromWindow(deps, call, window)
    : challenge(deps, call.agent, { ...refusal, window })
}

async function sell(
  deps: CallAccessDeps,
  call: AccessCall,
  { admission, terms }: { readonly admission: Admission; readonly terms: PaymentTerms },
): Promise<AccessOutcome> {
  const calledAtMs = deps.clock.unixMs()
  const outcome = await deps.gate.payAdmitted<PreparedPurchase, PurchaseAnswer, PurchaseDeclined>(
    admission,
    terms,
    purchaseJob(deps, call),
  )
  deps.report({ kind: 'payment', outcome: outcome.kind })
  switch (outcome.kind) {
    case 'paid': {
      const { answer, settlement } = outcome
      if (answer.kind === 'used-for-another')
        return refuse(deps, call, { error: 'payment_already_used', settlement })
      // It was answered before this call came, and its window is over since: nothing is bought twice.
      if (answer.grantedAtMs < calledAtMs)
        return refuse(deps, call, { error: 'payment_already_used' })
      deps.report({ kind: 'granted', isPaid: true })
      return { kind: 'granted', body: answer.body, settlement }
    }
    case 'challenged':
      deps.report({ kind: 'payment-refused', reason: outcome.error })
      return refuse(deps, call, outcome)
    case 'declined':
      return declinedOutcome(deps, call, outcome.declined)
    case 'pending':
      return pending(outcome.retryAfterSeconds)
    case 'unavailable':
      return { kind: 'refused', error: `${outcome.dependency}_unavailable` }
    case 'key_conflict':
      throw new Error('a purchase has no key')
    default:
      return outcome satisfies never
  }
}

async function declinedOutcome(
  deps: CallAccessDeps,
  call: AccessCall,
  declined: PurchaseDeclined,
): Promise<AccessOutcome> {
  const { agent, requestId } = call
  switch (declined.kind) {
    case 'window-open':
      return serveFromWindow(deps, call, declined.window)
    case 'memo-names-another-agent':
      return refuse(deps, call, { error: 'payment_memo_mismatch' })
    case 'already-used':
      return refuse(deps, call, { error: 'payment_already_used' })
    case 'refused': {
      const { error, reason } = declined
      if (reason !== undefined) deps.report({ kind: 'forward-refused', requestId, agent, reason })
      return error === 'payment_pending' ? pending() : { kind: 'refused', error }
    }
    default:
      return declined satisfies never
  }
}

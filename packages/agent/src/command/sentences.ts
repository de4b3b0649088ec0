// Turns outcomes into sentences for a person, with figures in HBAR. Pure; nothing here prints.

import type { UnprovenReason } from '@tallystick/x402'
import { formatHbar, HBAR_ASSET } from '@tallystick/x402/hedera'
import type { PaymentRequirements } from '@x402/fetch'
import { formatUnits } from 'viem'
import type { AccessStatus } from '../access-answers.ts'
import type { CancelOutcome, GuardFailed, GuardOutcome, TopUpOutcome } from '../access-contract.ts'
import type { AccessOutcome, StatusOutcome } from '../access-outcome.ts'
import type { BuyOutcome } from '../buy.ts'
import { findUsdc, moneySentence, outstanding, paymentText, priceText } from '../money-sentence.ts'
import type { PurchaseEvidence } from '../purchase-evidence.ts'

const ZERO_ADDRESS = /^0x0{40}$/
/** Lines of the paid resource that are shown; `--json` gives all of it. */
const RESOURCE_LINES_MAX = 20

/** The relay answers from the mirror node, which lags 3 to 10 s. */
const LAG_SENTENCE = 'If you paid a moment ago, the ledger may not show it yet: try again in 10 s.'

/** The contract's errors that a person meets. */
const REFUSALS: Readonly<Record<string, string>> = {
  AccessWindow_OfferRetired:
    'the seller takes no new money at the terms of this window; buy another when it has closed',
}

/** `1 call`, `2 calls`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** A time of day for a person, in their own zone. */
export function timeOfDay(unixSeconds: number): string {
  return new Date(unixSeconds * 1_000).toLocaleTimeString('en-GB')
}

function resourceLines(resource: unknown): readonly string[] {
  if (resource === undefined) return []
  const lines = JSON.stringify(resource, null, 2).split('\n')
  const shown = lines.slice(0, RESOURCE_LINES_MAX).map((line) => `  ${line}`)
  const rest = lines.length - shown.length
  return ['', ...shown, ...(rest > 0 ? [`  … ${counted(rest, 'line')} more, see --json`] : [])]
}

/** The outcome of any verb but `watch`. */
export type Outcome =
  | AccessOutcome
  | StatusOutcome
  | CancelOutcome
  | TopUpOutcome
  | GuardOutcome
  | BuyOutcome

type Granted = Extract<AccessOutcome, { kind: 'granted' }>

function grantedLines(granted: Granted): readonly string[] {
  const { subscription, metering } = granted
  const lines = [
    moneySentence(granted),
    `It is open for ${Math.ceil(subscription.secondsRemaining)} s more, until ${timeOfDay(subscription.expiresAtSeconds)}; ${formatHbar(subscription.balanceTinybar)} are left for renewals.`,
  ]
  if (metering?.callsRemaining !== undefined) {
    lines.push(`${counted(metering.callsRemaining, 'call')} left in this window.`)
  }
  if (metering?.recordedOnChain !== undefined) {
    lines.push(`This call is recorded on the ledger by ${metering.recordedOnChain}`)
  }
  if (granted.evidence !== undefined) lines.push(...receiptLines(granted.evidence))
  if (granted.guard !== undefined) lines.push(...guardLines(granted.guard))
  return [...lines, ...resourceLines(granted.resource)]
}

const UNPROVEN: Readonly<Record<UnprovenReason, string>> = {
  unreadable: 'it cannot be read',
  another_host: 'another host’s key signed it',
  key_unreachable: 'the service’s key cannot be read now',
  key_unknown: 'its key is not one of the service’s',
  signature_invalid: 'its signature is wrong',
  contradicts: 'it is about another payment or price',
}

/** Says what the service's receipt proves; no line if it gives none, as most do. */
function receiptLines({ receipt }: PurchaseEvidence): readonly string[] {
  switch (receipt.kind) {
    case 'absent':
      return []
    case 'proven':
      return ['The service signed a receipt for it, and the signature is its own.']
    case 'unproven':
      break
  }
  return [`The service sent a receipt that proves nothing: ${UNPROVEN[receipt.reason]}.`]
}

const OPEN_TO_ALL = 'whoever knows the agent’s address can use it up.'

function guardLines(guard: GuardOutcome | GuardFailed): readonly string[] {
  switch (guard.kind) {
    case 'guard-set':
      return [
        guard.isGuarded
          ? 'The window is guarded: from now on calls must prove the agent’s key.'
          : `The guard is off: ${OPEN_TO_ALL}`,
        `Transaction ${guard.transaction}`,
      ]
    case 'guard-unchanged':
      return ['The window is guarded, as before.']
    case 'guard-failed':
      return [`The window is not guarded: ${OPEN_TO_ALL} ${guard.reason} Try: guard on`]
    case 'refused':
      break
  }
  return [`The contract refuses: ${REFUSALS[guard.errorName] ?? guard.errorName}.`]
}

function pendingLines(
  outcome: Extract<AccessOutcome, { kind: 'payment-pending' }>,
  agent: string,
): readonly string[] {
  return [
    outcome.payment === undefined
      ? `The service is still looking for an earlier payment for ${agent} on the ledger.`
      : `A payment of ${paymentText(outcome.payment)} was signed and its fate is not known yet (${outcome.error}): ${outcome.payment.transaction}`,
    `Do not pay again: if it landed, it opens the window by itself. Run the same command in ${outcome.retryAfterSeconds} s.`,
  ]
}

/** A verb's outcome, for a person. `agent` is the window's agent. */
export function outcomeLines(outcome: Outcome, agent: string): readonly string[] {
  switch (outcome.kind) {
    case 'granted':
      return grantedLines(outcome)
    case 'payment-needed':
      return [
        `No window is open for ${agent}. One costs ${formatHbar(outcome.priceTinybar)}, paid to ${outcome.payTo}.`,
        outcome.maxPaymentTinybar === 0n
          ? `Nothing was signed. To pay that: pay --max-hbar ${formatHbar(outcome.priceTinybar).replace(' HBAR', '')}`
          : `Nothing was signed: that is above your maximum of ${formatHbar(outcome.maxPaymentTinybar)}.`,
      ]
    case 'cannot-pay':
      return [
        'The service takes no payment that this agent can make. It offers:',
        ...outcome.offers.map((offer) => `  ${offer}`),
        moneySentence(outcome),
      ]
    case 'payment-refused':
      return [
        `The payment was refused (${outcome.reason}); the service says that it moved no money.`,
        moneySentence(outcome),
      ]
    case 'payment-pending':
      return pendingLines(outcome, agent)
    case 'quota-spent':
      return [`The quota of this window is spent. It refills in ${outcome.retryAfterSeconds} s.`]
    case 'too-many-requests':
      return [
        `Calls come too fast; no quota was spent. Try again in ${outcome.retryAfterSeconds} s.`,
      ]
    case 'proof-needed':
      return [
        `The window of ${agent} is open and guarded, and no proof of its key was taken (${outcome.error}).`,
        `A proof is signed with the agent’s own key, for ${outcome.domain}: ACCESS_URL must name that host.`,
      ]
    case 'unavailable':
      return [
        `The service cannot answer now (${outcome.httpStatus}, ${outcome.error}). Nothing was signed.`,
      ]
    case 'status':
      return statusLines(outcome.status)
    case 'cancelled':
      return [
        'Cancelled: the window stays open to its end and does not renew again.',
        outcome.transaction === undefined
          ? 'There was nothing to refund.'
          : `${formatHbar(outcome.refundTinybar)} came back: ${outcome.transaction}`,
      ]
    case 'nothing-to-cancel':
      return ['There is no subscription to cancel and nothing to refund.', LAG_SENTENCE]
    case 'topped-up':
      return [
        `Added ${formatHbar(outcome.amountTinybar)}: ${formatHbar(outcome.balanceTinybar)} are there for renewals now.`,
        `Transaction ${outcome.transaction}`,
      ]
    case 'no-open-window':
      return ['No window is open to be topped up. Open one with `pay`.', LAG_SENTENCE]
    case 'bought':
    case 'not-sold':
    case 'price-named':
    case 'cannot-be-paid':
    case 'purchase-pending':
      return purchaseLines(outcome)
    case 'guard-set':
    case 'guard-unchanged':
    case 'refused':
      break
  }
  return guardLines(outcome)
}

/** What `buy` alone says. */
type PurchaseOutcome = Exclude<BuyOutcome, { kind: 'cannot-pay' | 'payment-refused' }>

function purchaseLines(outcome: PurchaseOutcome): readonly string[] {
  switch (outcome.kind) {
    case 'bought':
      return boughtLines(outcome)
    case 'not-sold':
      return [
        `It answers ${outcome.httpStatus} and asks for no payment. Nothing was signed.`,
        ...answerLines(outcome.body),
      ]
    case 'price-named':
      return [
        'Nothing was signed. It costs one of these; allow it by the cap beside it:',
        ...outcome.offers.map(
          (offer) => `  ${priceText(offer)} to ${offer.payTo}: ${capFor(offer)}`,
        ),
      ]
    case 'cannot-be-paid':
      return [`Nothing was signed: ${reasonText(outcome)}`]
    case 'purchase-pending':
      return [
        `The shop gave nothing (${outcome.error}). It is not known whether a payment moved money: ${outstanding(outcome.payment)}`,
        'Look there before you buy again.',
      ]
    default:
      return outcome satisfies never
  }
}

/** The whole answer: it was paid for, and asking again would pay again. */
const answerLines = (body: unknown): readonly string[] => [
  '',
  typeof body === 'string' ? body : JSON.stringify(body, null, 2),
]

function boughtLines(bought: Extract<BuyOutcome, { kind: 'bought' }>): readonly string[] {
  const { body, evidence, payment, signedPayment } = bought
  const money =
    signedPayment === undefined
      ? 'It costs nothing: no payment was signed.'
      : payment === undefined
        ? `The shop answers, and does not say that it took the payment: ${outstanding(signedPayment)}`
        : `Paid ${paymentText(signedPayment)} from ${payment.payer}: ${payment.transaction}`
  const receipt = evidence === undefined ? [] : receiptLines(evidence)
  return [money, ...receipt, ...answerLines(body)]
}

/** The argument that allows an offer, and no more. */
function capFor({ amount, asset, network }: PaymentRequirements): string {
  if (asset === HBAR_ASSET) return `--max-hbar ${formatHbar(BigInt(amount)).replace(' HBAR', '')}`
  const usdc = findUsdc(network)
  return asset === usdc?.id
    ? `--max-usdc ${formatUnits(BigInt(amount), usdc.decimals)}`
    : `--max-token ${asset}=${amount}`
}

function reasonText(outcome: Extract<BuyOutcome, { kind: 'cannot-be-paid' }>): string {
  const { balance, offer, payer, reason } = outcome
  if (reason !== 'insufficient_funds') return `the ledger would refuse the payment (${reason}).`
  return balance === undefined
    ? `${payer} is not associated with ${offer.asset}, and holds none.`
    : `${payer} holds ${priceText({ ...offer, amount: balance })}, and the price is ${priceText(offer)}.`
}

/** A status in sentences. */
export function statusLines(status: AccessStatus): readonly string[] {
  const { usage } = status
  const price = `${formatHbar(status.pricePerPeriodTinybar)} for ${status.periodSeconds} s`
  if (!status.hasAccess) {
    const because = status.ended === null ? '' : ` ${status.ended.sentence}`
    return [`No window is open for ${status.agent}.${because}`, `A period costs ${price}.`]
  }
  const renewal = ZERO_ADDRESS.test(status.nextRenewalSchedule)
    ? 'no renewal is armed'
    : `renewal armed as ${status.nextRenewalSchedule}`
  return [
    `The window of ${status.agent} is open for ${Math.ceil(status.secondsRemaining)} s more, until ${timeOfDay(status.expiresAtSeconds)}.`,
    status.isActive
      ? `It renews ${counted(status.periodsFunded, 'more time')} from ${formatHbar(status.balanceTinybar)} (${price}); ${renewal}.`
      : 'It was cancelled and closes then.',
    usage === null
      ? 'The calls used cannot be read at the moment.'
      : `${usage.callsUsed} of ${counted(usage.callsAllowed, 'call')} used, ${usage.callsRemaining} left.`,
    ...(status.ended === null ? [] : [status.ended.sentence]),
  ]
}

/** What is sold, at which price a payment buys it, and for whom. */
import { accessWindowRules } from '@tallystick/contracts'
import type { OperationForSale } from '@tallystick/service-kit'
import { describeCall, type PaymentRequirement, type PaymentTerms } from '@tallystick/x402'
import {
  agentOfMemo,
  formatHbar,
  hederaRequirement,
  isReservedMemo,
  VALID_DURATION_SECONDS_MAX,
} from '@tallystick/x402/hedera'
import { agentExample } from '../wire/access-requests.ts'
import type { Offer } from './access-contract.ts'
import type { AccessParts } from './access-parts.ts'
import { type Hex, ledgerSeconds } from './access-window.ts'

export type SalesTerms = ReturnType<typeof createSalesTerms>

/** A challenge says this about the call: its query parameter and, in short, its answer. `/openapi.json` has it all. */
export const accessDiscovery = describeCall({
  input: {
    method: 'GET',
    queryParams: { agent: agentExample },
    schema: {
      type: 'object',
      properties: { agent: { type: 'string', pattern: '^0x[a-fA-F0-9]{40}$' } },
      required: ['agent'],
    },
  },
  output: { example: { access: 'granted', paidThisRequest: true, resource: {} } },
})

/** Says what is on sale at `url`. No requirement while no fee payer is known (X11). Each method throws ChainUnavailable. */
export function createSalesTerms(deps: AccessParts, url: string) {
  const resource = {
    url,
    description: 'Metered access that renews itself: one payment opens a window on the ledger.',
    mimeType: 'application/json',
  }
  // A terms object is kept while it holds: the gate renders one challenge for each.
  let lastChallenged: { readonly key: string; readonly terms: PaymentTerms } | undefined

  /** Of this network, the preferred one first. */
  const feePayers = () => deps.feePayers.feePayers(deps.network)

  const requirement = (offer: Offer, feePayer: string): PaymentRequirement =>
    hederaRequirement({
      network: deps.network,
      amountTinybar: purchaseTinybar(offer, deps.periodsPerPurchase),
      payTo: deps.payTo,
      feePayer,
    })

  const acceptedFor = (offers: readonly Offer[]): PaymentTerms => {
    const requirements = payableOffers(offers, ledgerSeconds(deps.clock)).flatMap((offer) =>
      feePayers().map((feePayer) => requirement(offer, feePayer)),
    )
    return { requirements, resource }
  }

  return {
    resource,
    /** A challenge asks for a whole purchase at the current offer. */
    async challenged(): Promise<PaymentTerms> {
      const current = (await deps.contract.offers()).at(-1)
      const [feePayer] = feePayers()
      const requirements =
        current === undefined || feePayer === undefined ? [] : [requirement(current, feePayer)]
      const key = JSON.stringify(requirements)
      if (lastChallenged?.key !== key)
        lastChallenged = { key, terms: { requirements, resource, discovery: accessDiscovery } }
      return lastChallenged.terms
    },
    /** A payment may match these: also the price before a change, for 10 minutes, and every fee payer known. */
    accepted: async (): Promise<PaymentTerms> => acceptedFor(await deps.contract.offers()),
    /** The same by the offers that were read before; asks the ledger for nothing. */
    acceptedBefore: (): PaymentTerms => acceptedFor(deps.contract.knownOffers()),
  }
}

/**
 * The sale as machines find it (X24); nothing while no fee payer is known. Discovery clients take a currency of three letters,
 * and dollars without one, so HBAR is HBR there; the asset says which it is.
 */
export function describeSale(
  { requirements, resource }: PaymentTerms,
  path: string,
): readonly OperationForSale[] {
  const [first] = requirements
  if (first === undefined) return []
  const { description, url } = resource
  const [amount = ''] = formatHbar(BigInt(first.amount)).split(' ')
  const price = { amount, currency: 'HBR' }
  return [{ method: 'GET', path, resource: url, description, price, accepts: requirements }]
}

/**
 * How long an offer that was replaced (A3) or retired (A26) still takes payments, seconds: challenged clients need time to
 * pay.
 */
const REPLACED_OFFER_SECONDS = accessWindowRules.replacedOfferSeconds

/** The price of a whole purchase, tinybar (A1). */
export function purchaseTinybar(offer: Offer, periodsPerPurchase: number): bigint {
  return offer.priceTinybar * BigInt(periodsPerPurchase)
}

/**
 * Offers at which a payment is taken now, oldest first: those replaced at most 600 s ago, and the current one. If that is
 * retired, sales stop, which says so.
 */
export function payableOffers(offers: readonly Offer[], nowSeconds: number): readonly Offer[] {
  return offers.filter((_offer, index) => {
    const replacedAt = offers[index + 1]?.startsAtSeconds
    return replacedAt === undefined || replacedAt + REPLACED_OFFER_SECONDS >= nowSeconds
  })
}

/**
 * Offers at which a payment that became valid at `paidAtSeconds` may have been challenged, oldest first: those in force
 * then, or replaced or retired at most 600 s before. Clients backdate payments by a few seconds, so an offer may also begin after
 * that second, by at most a payment's lifetime.
 */
export function offersOfTime(offers: readonly Offer[], paidAtSeconds: number): readonly Offer[] {
  return offers.filter((offer, index) => {
    const replacedAt = offers[index + 1]?.startsAtSeconds ?? Number.POSITIVE_INFINITY
    const retiredAt = offer.retiredAtSeconds || Number.POSITIVE_INFINITY
    return (
      offer.startsAtSeconds <= paidAtSeconds + VALID_DURATION_SECONDS_MAX &&
      Math.min(replacedAt, retiredAt) + REPLACED_OFFER_SECONDS >= paidAtSeconds
    )
  })
}

type PaidAmount = {
  /** Those that may have been paid for, oldest first. */
  readonly offers: readonly Offer[]
  readonly amountTinybar: bigint
  /** Second in which the payment became valid, Unix seconds. */
  readonly paidAtSeconds: number
  readonly periodsPerPurchase: number
}

/**
 * The offer whose purchase price was paid; none if the amount is not a whole purchase. Of several with the same price,
 * the last one that had begun when the payment became valid wins, since its payer was shown that one.
 */
export function offerOfPayment(paid: PaidAmount): Offer | undefined {
  const matching = paid.offers.filter(
    (offer) => purchaseTinybar(offer, paid.periodsPerPurchase) === paid.amountTinybar,
  )
  const shown = matching.findLast((offer) => offer.startsAtSeconds <= paid.paidAtSeconds)
  return shown ?? matching[0]
}

type PaymentMemo =
  /** Nothing for us: no memo, or free text. */
  | { readonly kind: 'none' }
  /** The payer signed which agent the payment buys for. */
  | { readonly kind: 'agent'; readonly agent: Hex }
  /** Begins like one of ours but names nobody: it buys for no one. */
  | { readonly kind: 'reserved' }

/** Reads the memo that a payer signed: `x402:<agent>` (X10). `refund:` is the seller's own prefix (A15). */
export function readPaymentMemo(memo: string): PaymentMemo {
  const agent = agentOfMemo(memo)
  if (agent !== undefined) return { kind: 'agent', agent }
  return { kind: isReservedMemo(memo) ? 'reserved' : 'none' }
}

/** Whether a payment with this memo may buy for `agent`: a memo that names another agent, or nobody, may not. */
export function memoAllows(memo: string, agent: Hex): boolean {
  const read = readPaymentMemo(memo)
  return read.kind === 'none' || (read.kind === 'agent' && read.agent === agent)
}

// One purchase at any shop that takes `exact` on Hedera, in HBAR or a token such as USDC (X25). Nothing is signed above the cap in
// that very asset, nor what the payer's account cannot pay.
import type { Clock } from '@tallystick/x402'
import { createTokenJudge, HBAR_ASSET, type MirrorNode } from '@tallystick/x402/hedera'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequirements, SchemeNetworkClient } from '@x402/fetch'
import { type AgentSigner, REQUEST_MS_MAX, RESEND_MS } from './access-agent.ts'
import { errorCode, settledPayment } from './access-outcome.ts'
import {
  offerNames,
  type PaidExchange,
  requestPaid,
  type SignedPayment,
  type SpendCap,
  transferOffers,
} from './paid-request.ts'
import { createEvidenceReader, type PurchaseEvidence } from './purchase-evidence.ts'

type BuyOptions = {
  readonly url: string
  /** POSTed as JSON; without it the request is a GET. */
  readonly json: string | undefined
  readonly signer: AgentSigner
  readonly caps: readonly SpendCap[]
  readonly network: `${string}:${string}`
  /** Says what the payer holds and whether the seller can be paid. */
  readonly mirror: Pick<MirrorNode, 'account' | 'holdings' | 'token'>
  readonly clock: Clock
  readonly onResend?: (attempt: number) => void
  readonly keep?: ((evidence: PurchaseEvidence) => void) | undefined
}

/** The outcome of a purchase. */
export type BuyOutcome =
  /** `payment` is what the shop settled; without it and `signedPayment` the answer was free. */
  | {
      readonly kind: 'bought'
      readonly body: unknown
      readonly payment: { readonly transaction: string; readonly payer: string } | undefined
      readonly signedPayment: SignedPayment | undefined
      readonly evidence: PurchaseEvidence | undefined
    }
  /** The shop asks for no payment and gives nothing: nothing was signed. */
  | { readonly kind: 'not-sold'; readonly httpStatus: number; readonly body: unknown }
  /** Nothing was signed: no cap allows one of these. */
  | { readonly kind: 'price-named'; readonly offers: readonly PaymentRequirements[] }
  /** Nothing was signed: the ledger would refuse the payment. `balance` is undefined for a token without an association. */
  | {
      readonly kind: 'cannot-be-paid'
      readonly reason: string
      readonly payer: string
      readonly balance: bigint | undefined
      readonly offer: PaymentRequirements
    }
  | { readonly kind: 'cannot-pay'; readonly offers: readonly string[] }
  | { readonly kind: 'payment-refused'; readonly reason: string; readonly payment: SignedPayment }
  /** The payment may have moved money, and the shop gave nothing for it. */
  | {
      readonly kind: 'purchase-pending'
      readonly error: string
      readonly payment: SignedPayment
    }

/** The shop was unreachable, or asks for its payment in no way that this agent knows. */
export class ShopUnavailable extends Error {
  override readonly name = 'ShopUnavailable'
}

/** The ledger would refuse what the challenge asks for. */
class CannotBePaid extends Error {
  readonly outcome: Extract<BuyOutcome, { kind: 'cannot-be-paid' }>

  constructor(outcome: Omit<Extract<BuyOutcome, { kind: 'cannot-be-paid' }>, 'kind'>) {
    super(outcome.reason)
    this.outcome = { kind: 'cannot-be-paid', ...outcome }
  }
}

/** Tinybar, or base units of a token; undefined without an association. */
async function readBalance(
  { mirror }: BuyOptions,
  payer: string,
  asset: string,
): Promise<bigint | undefined> {
  if (asset === HBAR_ASSET) return (await mirror.account(payer))?.balanceTinybar
  for await (const { balance, tokenId } of mirror.holdings(payer, asset))
    if (tokenId === asset) return balance
  return undefined
}

/** Signs only what the ledger would take now. */
function checkedScheme(options: BuyOptions): SchemeNetworkClient {
  const scheme = options.signer.paymentScheme('')
  const judge = createTokenJudge(options)
  return {
    scheme: scheme.scheme,
    async createPaymentPayload(version, offer, context) {
      const payer = await options.signer.accountId()
      const { asset, payTo } = offer
      const amount = BigInt(offer.amount)
      const balance = await readBalance(options, payer, asset)
      const reason =
        (balance ?? 0n) < amount
          ? 'insufficient_funds'
          : asset === HBAR_ASSET
            ? undefined
            : await judge.foreseeRefusal({ amount, asset, payer, payTo })
      if (reason !== undefined) throw new CannotBePaid({ reason, payer, balance, offer })
      return await scheme.createPaymentPayload(version, offer, context)
    },
  }
}

/** Sends the request, and pays once if the shop asks and a cap allows it. Throws ShopUnavailable, LedgerUnavailable or AccountUnknown. */
export async function buy(options: BuyOptions): Promise<BuyOutcome> {
  const { json, url } = options
  const exchange = await requestPaid({
    ...options,
    init:
      json === undefined
        ? {}
        : { method: 'POST', body: json, headers: { 'content-type': 'application/json' } },
    fetch: globalThis.fetch,
    scheme: checkedScheme(options),
    requestMs: REQUEST_MS_MAX,
    resendMs: RESEND_MS,
  })
  const { payment } = exchange
  if (exchange.kind === 'unsigned') return unsignedPurchase(exchange, options)
  if (exchange.kind === 'answered') {
    const evidence = await createEvidenceReader(options)(exchange, url)
    return await answeredPurchase(exchange.response, payment, evidence)
  }
  if (payment === undefined) {
    const message = `No shop that this agent understands answers at ${url}.`
    throw new ShopUnavailable(message, { cause: exchange.cause })
  }
  return { kind: 'purchase-pending', error: 'no_answer', payment }
}

/** Throws what kept a payment within a cap from being signed. */
function unsignedPurchase(
  { cause, challenge }: Extract<PaidExchange, { kind: 'unsigned' }>,
  { caps, network }: BuyOptions,
): BuyOutcome {
  if (cause instanceof CannotBePaid) return cause.outcome
  const offers = transferOffers(challenge, network)
  if (offers.length === 0) return { kind: 'cannot-pay', offers: offerNames(challenge) }
  const isAllowed = offers.some((offer) =>
    caps.some(({ amountMax, asset }) => asset === offer.asset && BigInt(offer.amount) <= amountMax),
  )
  if (isAllowed) throw cause
  return { kind: 'price-named', offers }
}

async function answeredPurchase(
  response: Response,
  signedPayment: SignedPayment | undefined,
  evidence: PurchaseEvidence | undefined,
): Promise<BuyOutcome> {
  const { ok, status: httpStatus } = response
  const text = await response.text()
  const body = parsedJson(text)
  if (ok) {
    const settled = settledPayment({ response, payment: signedPayment })
    const payment = settled === 'unreadable' ? undefined : settled
    return { kind: 'bought', body, payment, signedPayment, evidence }
  }
  if (signedPayment === undefined) return { kind: 'not-sold', httpStatus, body }
  return httpStatus === 402
    ? { kind: 'payment-refused', reason: refusalReason(response, body), payment: signedPayment }
    : { kind: 'purchase-pending', error: `http_${httpStatus}`, payment: signedPayment }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Official servers say it in the challenge's header alone. */
function refusalReason(response: Response, body: unknown): string {
  try {
    const { error } = decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '')
    return error ?? errorCode(body)
  } catch {
    return errorCode(body)
  }
}

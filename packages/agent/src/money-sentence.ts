// Says what an agent knows about its money after a call, in one sentence. It does not claim what only the service said.
import { formatHbar, HBAR_ASSET, HEDERA_USDC } from '@tallystick/x402/hedera'
import { formatUnits } from 'viem'
import type { AccessOutcome } from './access-outcome.ts'
import type { SignedPayment } from './paid-request.ts'

const NOTHING = 'No payment was signed and nothing was paid.'

/** Circle's USDC on a network, if it is known there. */
export const findUsdc = (network: string) =>
  Object.values(HEDERA_USDC).find((token) => token.network === network)

/** An amount with its asset. Only what a token is by itself is known here: others are in base units. */
export function priceText(price: {
  readonly amount: bigint | string
  readonly asset: string
  readonly network: string
}): string {
  const { asset, network } = price
  const amount = BigInt(price.amount)
  if (asset === HBAR_ASSET) return formatHbar(amount)
  const usdc = findUsdc(network)
  return asset === usdc?.id
    ? `${formatUnits(amount, usdc.decimals)} USDC`
    : `${amount} base units of ${asset}`
}

/** The amount of a signed payment. */
export const paymentText = ({ accepted, amount }: SignedPayment): string =>
  priceText({ ...accepted, amount })

/** The payment, and until when anyone who holds it can submit it. */
export function outstanding(payment: SignedPayment): string {
  const { transaction, validUntilSeconds } = payment
  const until = new Date(validUntilSeconds * 1_000).toLocaleTimeString('en-GB')
  return `${paymentText(payment)}, which can be submitted until ${until}; the ledger shows: ${transaction}`
}

/** One sentence about the money of a call of the paid resource; a call that threw signed nothing. */
export function moneySentence(outcome: AccessOutcome): string {
  switch (outcome.kind) {
    case 'granted': {
      const { paidThisRequest, payment, signedPayment } = outcome
      if (payment !== undefined)
        return `Paid ${formatHbar(payment.amountTinybar)} from ${payment.payer}: ${payment.transaction}`
      if (signedPayment !== undefined)
        return `The window is open. A payment of ${paymentText(signedPayment)} was signed, and the service does not say that it took it; the ledger shows: ${signedPayment.transaction}`
      return paidThisRequest
        ? 'The window was opened by a payment that was found on the ledger.'
        : 'The window is open: no payment was signed and nothing was paid.'
    }
    case 'payment-refused':
      return `The service refused a payment of ${outstanding(outcome.payment)}`
    case 'payment-pending':
      return outcome.payment === undefined
        ? 'No payment was signed; the service is still looking for an earlier one on the ledger.'
        : `It is not known whether a payment moved money: ${outstanding(outcome.payment)}`
    case 'proof-needed':
      return outcome.payment === undefined
        ? NOTHING
        : `The service took no proof and says nothing of a payment of ${outstanding(outcome.payment)}`
    case 'payment-needed':
    case 'cannot-pay':
    case 'quota-spent':
    case 'too-many-requests':
    case 'unavailable':
      return NOTHING
    default:
      return outcome satisfies never
  }
}

import type { PaymentRequirement } from '../../payment.ts'
import { isAccountId } from './account-id.ts'
import { HBAR_ASSET, VALID_DURATION_SECONDS_MAX } from './network.ts'

/**
 * What an `accepts` entry asks for in HBAR (X3). `payTo` and `feePayer` are `0.0.x`. Settled up front, and at most 180 s
 * old, which is as long as a Hedera transaction is valid. Throws RangeError for a bad account or amount.
 */
export function hederaRequirement(terms: {
  readonly network: string
  readonly amountTinybar: bigint
  readonly payTo: string
  readonly feePayer: string
}): PaymentRequirement {
  const { amountTinybar, feePayer, network, payTo } = terms
  if (!isAccountId(payTo) || !isAccountId(feePayer) || amountTinybar <= 0n) {
    throw new RangeError('a Hedera requirement needs two account ids and an amount above 0')
  }
  return {
    scheme: 'exact',
    network,
    amount: amountTinybar.toString(),
    asset: HBAR_ASSET,
    payTo,
    maxTimeoutSeconds: VALID_DURATION_SECONDS_MAX,
    extra: { feePayer, paymentFlow: 'upfront' },
  }
}

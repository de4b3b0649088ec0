import { isDeepStrictEqual } from 'node:util'
import type { PaymentRequirements } from '@x402/core/types'

const CORE_FIELDS = ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds'] as const

/**
 * Whether what the payer accepted is what the seller wants: the six core fields are equal and the seller's `extra` is
 * carried back. Other keys, such as `price`, are ignored (X3).
 */
export function matchesAccepted(
  accepted: PaymentRequirements,
  wanted: PaymentRequirements,
): boolean {
  return (
    CORE_FIELDS.every((field) => accepted[field] === wanted[field]) &&
    Object.entries(wanted.extra ?? {}).every(([key, value]) =>
      isDeepStrictEqual(accepted.extra?.[key], value),
    )
  )
}

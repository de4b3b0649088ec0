import { acceptsRequirement, type PaymentRequirement, type Verification } from '@tallystick/x402'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'

/**
 * What a seller wants, as the rules of `exact` on `network` take it; a refusal where it wants another scheme or network,
 * or something else than its payer accepted (X3).
 */
export function acceptedRequirement(
  { accepted }: Pick<PaymentPayload, 'accepted'>,
  wanted: PaymentRequirements,
  network: string,
): PaymentRequirement | Extract<Verification, { kind: 'refused' }> {
  if (wanted.scheme !== 'exact') return { kind: 'refused', reason: 'unsupported_scheme' }
  if (wanted.network !== network) return { kind: 'refused', reason: 'network_mismatch' }
  const requirement: PaymentRequirement = { ...wanted, scheme: 'exact' }
  return acceptsRequirement(accepted, requirement)
    ? requirement
    : { kind: 'refused', reason: 'accepted_payment_requirements_mismatch' }
}
